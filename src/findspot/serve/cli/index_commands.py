"""`findspot index`, `findspot reindex` and `findspot watch`: making an index and keeping it current."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.core.errors import FileLimitError, IndexBusyError, IndexNotFoundError
from findspot.core.model import IndexReport, IndexStatus
from findspot.core.progress import CancelToken
from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.interaction import can_ask, confirm, progress_when_needed, shown_progress, stoppable
from findspot.serve.cli.options import Command, Manner, common, path_or_project, yes_option
from findspot.serve.cli.project_choice import open_project
from findspot.serve.shapes import report_object

if TYPE_CHECKING:
    from findspot.project import Project
    from findspot.sync.supervisor import Standing

_REBUILD_QUESTION = "This will rebuild the entire index. Continue?"
_MOST_LANGUAGES = 6
_MOST_ERRORS = 5
_MANY_FILES = 1_000
"""Fewer are indexed before anyone has read a line about it."""


def _checked(key: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a flag must be a valid value of its key: what is typed is refused, not replaced by a default."""

    def check(_ctx: click.Context, _parameter: click.Parameter, value: Any) -> Any:
        from findspot.core.config import check_value

        if value is None or value == ():
            return None
        try:
            check_value(key, value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        return list(value) if isinstance(value, tuple) else value

    return check


_FLAGS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("include", "include", {"multiple": True, "metavar": "GLOB", "help": "Index only files that match."}),
    ("exclude", "exclude", {"multiple": True, "metavar": "GLOB", "help": "Leave out files that match."}),
    ("max-file-size", "maxFileSize", {"metavar": "SIZE", "help": "Leave out larger files (500KB, 2MB)."}),
    ("max-files", "maxFiles", {"metavar": "N", "help": "Ask before indexing more files than this."}),
    ("docs/--no-docs", "indexDocs", {"default": None, "help": "Index documentation, or do not."}),
    (
        "gitignore/--no-gitignore",
        "respectGitignore",
        {"default": None, "help": "Heed .gitignore, or do not."},
    ),
    ("provider", "embedding.provider", {"metavar": "NAME", "help": "The embedding provider."}),
    ("store", "store", {"metavar": "NAME|URL", "help": "Where a new index goes: default, lancedb, s3://…"}),
    ("workers", "workers", {"metavar": "ray://HOST:PORT|local", "help": "Cut and embed on a Ray cluster."}),
    ("chunking", "chunkingStrategy", {"metavar": "syntax|character", "help": "How files are cut."}),
)
"""Option → the configuration key that it overrides for this run, and its looks."""


def _flags(command: Command) -> Command:
    """Return the options that override the configuration, gathered into `flags` by their keys."""
    names = {option.split("/")[0].replace("-", "_"): key for option, key, _ in _FLAGS}

    @functools.wraps(command)
    def gathered(*args: Any, **given: Any) -> Any:
        flags = {key: given.pop(name) for name, key in names.items()}
        return command(*args, flags={k: v for k, v in flags.items() if v is not None}, **given)

    for option, key, looks in reversed(_FLAGS):
        gathered = click.option(f"--{option}", callback=_checked(key), **looks)(gathered)
    return gathered


@click.command()
@path_or_project
@_flags
@click.option("--force", is_flag=True, help="Index every file anew, changed or not.")
@yes_option
@common
def index(manner: Manner, project: str | None, flags: dict[str, object], force: bool, yes: bool) -> None:
    """Index the project at PATH, or bring its index up to date.

    Only files that changed are read again. Without PATH it is the project you are in. Options that
    override the configuration hold for this run; `findspot config set` keeps a value.
    """
    with open_project(project, flags, to_index=True) as opened:
        report = update_project(opened, manner, force=force, yes=yes)
        warned = _enclosed(opened, project)
        if manner.json:
            output.emit(report_object(report, forced=force) | warned)
        else:
            summarise(report, opened.status(check_disk=False))
        _read_again(opened, manner)


@click.command()
@path_or_project
@_flags
@yes_option
@common
def reindex(manner: Manner, project: str | None, flags: dict[str, object], yes: bool) -> None:
    """Rebuild the index of the project at PATH from scratch.

    Asks first. Until the rebuild is done, searches answer from what is there.
    """
    with open_project(project, flags, to_index=True) as opened:
        confirm(_REBUILD_QUESTION, yes, manner, about=str(opened.root))
        report = update_project(opened, manner, force=True, yes=yes)
        warned = _enclosed(opened, project) | {"message": "Index rebuilt successfully"}
        if manner.json:
            output.emit(report_object(report, forced=True) | warned)
        else:
            summarise(report, opened.status(check_disk=False))
        _read_again(opened, manner)


def _enclosed(project: Project, given: str | None) -> dict[str, str]:
    """Warn that the folder that was named has been indexed with the project around it, where it was."""
    from findspot.serve.project_files import enclosing_note, folder_in

    under = folder_in(project, Path(given).expanduser().resolve()) if given is not None else None
    if under is None:
        return {}
    note = enclosing_note(project, under)
    output.warn(note)
    return {"warning": note}


def offer_index(project: Project, manner: Manner) -> None:
    """Where a project has no index and somebody can be asked: make it now, and go on."""
    if project.store.exists or not can_ask():
        return
    missing = IndexNotFoundError(str(project.root), str(project.store.folder))
    confirm(missing.user_message, False, manner, about=str(project.root))
    update_project(project, manner, force=False, yes=False)


def prepare_index(project: Project, manner: Manner, *, update: bool) -> str | None:
    """Make the index ready to answer; returns what to tell where it is not as the files are.

    A missing index is offered to be made. One that exists is brought up to date, or with `update` off the
    changes that it lacks are counted.
    """
    offer_index(project, manner)
    if not update:
        waiting = project.status().pending_changes
        return f"{output.count(waiting, 'change')} on disk not indexed (--no-update)." if waiting else None
    with stoppable() as cancel, progress_when_needed() as progress:
        return project.catch_up(progress, cancel)


def update_project(project: Project, manner: Manner, *, force: bool, yes: bool) -> IndexReport:
    """Run the update; a project over `maxFiles` is asked about, and then run."""
    try:
        return _run(project, manner, force=force, allow_large=yes)
    except FileLimitError as large:
        confirm(large.user_message, yes, manner, code=large.code)
        return _run(project, manner, force=force, allow_large=True)


def _run(project: Project, manner: Manner, *, force: bool, allow_large: bool) -> IndexReport:
    if not manner.json and not project.store.exists:
        _announce(project)
    with stoppable() as cancel, shown_progress(quiet=manner.json) as progress:
        return project.update(force=force, allow_large=allow_large, progress=progress, cancel=cancel)


def _announce(project: Project) -> None:
    """Before a first run that takes longer than a moment: what it will read, leave out, and cost."""
    from findspot.indexing.delta import foresee

    ahead = foresee(project.roots, project.settings)
    if ahead.files < _MANY_FILES:
        return
    cost = f"about {shapes.duration(ahead.seconds)} or less, about {shapes.size(ahead.disk)} of disk"
    output.note(f"To index: {output.count(ahead.files, 'file')} ({shapes.size(ahead.size)}); {cost}.")
    if ahead.left_out:
        output.note(f"Left out: {output.ranking(ahead.left_out, _MOST_LANGUAGES)}.")
    output.note("Searches answer from the first seconds on; Ctrl-C keeps what is done.")


def _read_again(project: Project, manner: Manner) -> None:
    """Where a slower model is chosen, let it read now; searches answer meanwhile, and it can be stopped."""
    reading = project.slower_model()
    if reading is None:
        return
    model = reading.reader.embedder.id
    output.note(f"Searches work now. {model} reads on; Ctrl-C keeps what it has read.")
    try:
        with stoppable() as cancel, shown_progress(quiet=manner.json) as progress:
            count = reading.read(progress, cancel)
    except IndexBusyError as busy:
        output.note(f"{busy.developer_message}: it is reading already.")
    else:
        output.note(f"{model} has read all of it ({output.count(count, 'chunk')} now).")


def summarise(report: IndexReport, status: IndexStatus) -> None:
    """What a reader wants to know after a run: what changed, what is there, what is not, what next."""
    output.line(_headline(report), bold=True)
    holds = (
        output.count(status.total_files - status.total_docs, "code file"),
        output.count(status.total_docs, "document"),
        output.count(status.total_chunks, "chunk"),
    )
    output.fields(
        [
            ("holds", ", ".join(holds)),
            ("languages", output.ranking(status.languages, _MOST_LANGUAGES)),
            ("skipped", output.ranking(status.skipped)),
            ("index", f"{status.index_path} ({shapes.size(status.storage_bytes)})"),
            ("next", _next(status)),
        ]
    )
    for text in report.notes:
        output.note(f"note: {text}")
    for skip in report.errors[:_MOST_ERRORS]:
        output.warn(f"{skip.path}: {skip.detail or skip.reason}")
    if len(report.errors) > _MOST_ERRORS:
        output.warn(f"… and {len(report.errors) - _MOST_ERRORS} more; see `findspot status --skipped`")


def _headline(report: IndexReport) -> str:
    seconds = shapes.duration(report.seconds)
    if not report.created and not (report.files_indexed or report.files_removed):
        unchanged = output.count(report.files_unchanged, "file")
        return f"{report.project_path} is up to date: {unchanged} unchanged ({seconds})"
    parts = [f"{output.count(report.files_indexed, 'file')} indexed"]
    if report.files_unchanged:
        parts.append(f"{report.files_unchanged:,} unchanged")
    if report.files_removed:
        parts.append(f"{report.files_removed:,} removed")
    return f"{report.project_path}: {', '.join(parts)} in {seconds}"


def _next(status: IndexStatus) -> str:
    if not status.total_files:
        return "nothing was indexed; `findspot status --skipped` says why"
    if status.skipped:
        return "`findspot status --skipped` lists what was left out and why"
    return "`findspot status` shows how the index stands"


_LOOK_S = 0.5


@click.command()
@path_or_project
@common
def watch(manner: Manner, project: str | None) -> None:
    """Keep the index of the project at PATH up to date until you press Ctrl-C.

    A server watches the projects it is asked about by itself; this is for when none runs. Of several
    processes on one project one watches, and another takes over when it ends.
    """
    with open_project(project) as opened, stoppable() as cancel:
        offer_index(opened, manner)
        opened.files(limit=1)  # without an index there is nothing to keep
        _follow_standing(opened, manner, cancel)
        output.note("Stopped watching.")


def _follow_standing(project: Project, manner: Manner, cancel: CancelToken) -> None:
    supervisor = project.watch()
    told: tuple[object, ...] = ()
    while not cancel.wait(_LOOK_S):
        standing = supervisor.standing
        if _facts(standing) != told:
            told = _facts(standing)
            _show_standing(project, standing, manner)


def _facts(standing: Standing) -> tuple[object, ...]:
    updates = standing.strategy.flushes if standing.strategy else 0
    return standing.watching, standing.polling, standing.last_error, updates


def _show_standing(project: Project, standing: Standing, manner: Manner) -> None:
    stats = standing.strategy
    values = {
        "projectPath": str(project.root),
        "watching": standing.watching,
        "strategy": stats.name if stats else project.settings.sync.strategy,
        "updates": stats.flushes if stats else 0,
        "pendingChanges": stats.pending if stats else 0,
        "lastError": standing.last_error or None,
        "polling": standing.polling or None,
    }
    if manner.json:
        output.emit_line(values)
    else:
        output.line(_sentence(values, wanted=project.wanted))


def _sentence(values: dict[str, object], *, wanted: bool) -> str:
    if values["lastError"]:
        return f"trouble: {values['lastError']}"
    if not wanted:
        return f"{values['projectPath']}: not watching; indexing was stopped. Run `findspot index` to go on."
    if not values["watching"]:
        return f"{values['projectPath']}: another process watches; standing by"
    how = f" (every few seconds: {values['polling']})" if values["polling"] else ""
    updates = output.count(int(str(values["updates"])), "update")
    return f"{values['projectPath']}: watching, {values['strategy']}, {updates}{how}"
