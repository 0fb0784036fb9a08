"""`findspot index`, `findspot reindex` and `findspot watch`: making an index and keeping it current."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from findspot.core.config import typed_value
from findspot.core.errors import FileLimitError, IndexBusyError, IndexNotFoundError
from findspot.core.model import IndexReport, IndexStatus, Progress, SkipReason
from findspot.core.paths import absolute, expanded, home_folder
from findspot.core.progress import ProgressSink, ignore_progress
from findspot.core.settings import BY_NAME
from findspot.indexer import is_complete
from findspot.project import Project
from findspot.search.likely_files import likely_files
from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.failure import ConfirmationRequiredError, LargeProjectError
from findspot.serve.cli.interaction import can_ask, confirm, shown_progress, stoppable
from findspot.serve.cli.options import Command, Reply, command, together
from findspot.serve.cli.project_choice import folder_inside, folder_note, open_asked, open_project
from findspot.serve.cli.terminal import terminal
from findspot.serve.project_files import enclosing_note, folder_in, rebuild_question, refuse_empty
from findspot.serve.shapes import report_object
from findspot.sync.supervisor import WatcherStatus
from findspot.text.snippet import listed
from findspot.workspace import Asked, KnownWorkspaces, Workspace, is_workspace, projects_of

T = TypeVar("T")

_WATCHED = shapes.Shape({"watching": bool, "strategy": str, "updates": int, "lastError polling": str})
_LOOK_S = 0.5
_FIRST_LOOK_S = 0.05
_FEWEST = 25
"""Files, those that fit the question best, that must be indexed before it is answered."""
_MOST_LANGUAGES = 6
_MOST_ERRORS = 5
_MOST_SECRETS = 3
_AGREE = "Pass --yes to `findspot index`."
_INDEXING_FIRST = "{} has no index yet: it is indexed first."


_LINK = re.compile(r"\[(.+?)\]\(.+?\)")


def _flag(option: str, key: str, **looks: Any) -> Callable[[Command], Command]:
    """Return an option that overrides a configuration key for this run; it is added to `flags`."""

    def note(ctx: click.Context, _parameter: click.Parameter, value: Any) -> None:
        flags = ctx.params.setdefault("flags", {})
        if value is None or value == ():
            return
        flags[key] = list(value) if isinstance(value, tuple) else value
        try:
            typed_value(key, value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    meaning = _LINK.sub(r"\1", BY_NAME[key].meaning)
    return click.option(f"--{option}", expose_value=False, callback=note, help=meaning, **looks)


_flags = together(
    _flag("include", "include", multiple=True, metavar="GLOB"),
    _flag("exclude", "exclude", multiple=True, metavar="GLOB"),
    _flag("max-file-size", "maxFileSize", metavar="SIZE"),
    _flag("max-files", "maxFiles", metavar="N"),
    _flag("docs/--no-docs", "indexDocs", default=None),
    _flag("gitignore/--no-gitignore", "respectGitignore", default=None),
    _flag("provider", "embedding.provider", metavar="NAME"),
    _flag("workers", "workers", metavar="ray://HOST:PORT|local"),
    _flag("chunking", "chunkingStrategy", metavar="syntax|character"),
)


@command(path=True, yes=True)
@_flags
@click.option("--force", is_flag=True, help="Index every file again, changed or not.")
def index(reply: Reply, project: str | None, flags: dict[str, object], force: bool, yes: bool) -> None:
    """Index the project at PATH, or bring its index up to date.

    A folder of repositories is a workspace: all of them are indexed, each on its own. Only files that
    changed are read again. Without PATH it is the project you are in. Options that
    override the configuration hold for this run; `findspot config set` keeps a value.
    """
    with open_asked(project, flags, to_index=True) as opened:
        if is_workspace(opened):
            report = _index_members(opened, reply, force=force, yes=yes)
            reply.answer_program(report_object(report, forced=force) | {"members": list(opened.members)})
            summarise(report, opened.status(check_disk=False))
        else:
            _index(opened.only(), project, reply, force=force, yes=yes)


@command(path=True, yes=True)
@_flags
def reindex(reply: Reply, project: str | None, flags: dict[str, object], yes: bool) -> None:
    """Rebuild the index of the project at PATH from scratch.

    Asks first. Until the rebuild is done, searches answer from what is there.
    """
    with open_asked(project, flags, to_index=True) as asked:
        opened = asked.only()
        confirm(rebuild_question(opened), yes, reply, about=str(opened.root))
        _index(opened, project, reply, {"message": "Index rebuilt successfully"}, force=True, yes=yes)


def _index_members(workspace: Workspace, reply: Reply, *, force: bool, yes: bool) -> IndexReport:
    """Bring the index of each member up to date; ask once, before a workspace is first indexed."""
    known = KnownWorkspaces(home_folder())
    before = workspace.statuses(check_disk=False)
    if workspace.folder not in known and not reply.json:
        output.note(
            f"{workspace.folder} is a workspace of {output.count(len(before), 'project')}:", bold=True
        )
        for name, status in before.items():
            output.note(f"  {name}  {status.project_path}")
        if can_ask():
            confirm("Index all of them?", yes, reply)
    report = _run(workspace, reply, force=force, yes=yes)
    known.note(workspace)
    return report


def _index(
    project: Project,
    given: str | None,
    reply: Reply,
    extra: dict[str, str] | None = None,
    *,
    force: bool,
    yes: bool,
) -> None:
    report = update_project(project, reply, force=force, yes=yes)
    refuse_empty(project, report)
    under = folder_in(project, absolute(given).resolve()) if given is not None else None
    warning = enclosing_note(project, under) if under else None
    output.warn(warning)
    if reply.json:
        output.emit(shapes.warned(report_object(report, forced=force) | (extra or {}), warning))
    else:
        status = project.status(check_disk=False)
        summarise(report, status)
        if SkipReason.MASKED in status.skipped:
            named = listed((skip.path for skip in project.skipped(SkipReason.MASKED)), _MOST_SECRETS)
            more = "`findspot status --skipped masked` names the lines."
            output.note(f"Indexed with their secrets masked: {named}. {more}")


def prepare_index(asked: Asked, reply: Reply, *, update: bool) -> str | None:
    """Make the index ready to answer; returns a note if it lacks changes on disk.

    Make it or bring it up to date or, with `update` off, count the changes that it lacks. Of a workspace that
    was indexed, new members are indexed too.
    """
    if update and not asked.indexed:
        output.note(_INDEXING_FIRST.format(asked.root))
        if is_workspace(asked):
            _index_members(asked, reply, force=False, yes=False)
        else:
            update_project(asked.only(), reply, force=False, yes=False, still_wanted=True)
        return None
    if not update:
        waiting = asked.status().pending_changes
        return f"{output.count(waiting, 'change')} on disk not indexed (--no-update)." if waiting else None
    takes_up = is_workspace(asked) and asked.folder in KnownWorkspaces(home_folder())
    notes: list[str | None] = []
    with stoppable() as cancel, shown_progress(quiet=True, only_indexing=True) as progress:
        for project in projects_of(asked).values():
            if takes_up and not project.indexed:
                project.update(progress=progress, cancel=cancel)
            elif not project.is_followed:
                notes.append(project.index.catch_up(progress, cancel))
    return " ".join(dict.fromkeys(filter(None, notes))) or None


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An index that is ready to answer, and the folder of it that the question is about."""

    asked: Asked
    under: str | None
    behind: str | None
    """The note that changes on disk are not indexed yet."""

    @property
    def project(self) -> Project:
        return self.asked.only()

    def warning(self, *others: str | None) -> str | None:
        """Return everything a reader of an answer should know, in one text."""
        return " ".join(filter(None, (*others, self.behind, folder_note(self.asked, self.under)))) or None


@contextlib.contextmanager
def open_index(
    given: str | None, reply: Reply, *, update: bool, question: str | None = None
) -> Iterator[OpenIndex]:
    """Provide the index that a question is put to; without one, a search is answered while it is made."""
    with open_asked(given) as asked:
        if not is_workspace(asked) and asked.only().store.read_only:
            asked.check()  # nothing can be indexed here: a published index that is gone says so
        if question is None or not update or is_workspace(asked) or not _lacks_answers(asked.only()):
            behind = prepare_index(asked, reply, update=update)
            yield OpenIndex(asked, folder_inside(asked, given), behind)
        else:
            with _indexed_meanwhile(asked.only(), question, reply):
                yield OpenIndex(asked, folder_inside(asked, given), None)


def _lacks_answers(project: Project) -> bool:
    """Whether there is no index, or one that somebody has only just begun."""
    return not project.indexed or (project.store.being_written and not _can_answer(project))


def _can_answer(project: Project) -> bool:
    try:
        return is_complete(project.store) or int(project.store.meta().get("done", "0")) >= _FEWEST
    except IndexNotFoundError:
        return False


@contextlib.contextmanager
def _indexed_meanwhile(project: Project, question: str, reply: Reply) -> Iterator[None]:
    """Make an index, and answer once the files that may do that are in it; then wait for the rest.

    Where the resident process does it, that goes on by itself.
    """
    show: ProgressSink = ignore_progress

    def note(progress: Progress) -> None:
        show(progress)

    def wait_for(run: Future[IndexReport], enough: Callable[[], bool]) -> None:
        """Wait for an index that can answer, whoever makes it."""
        nonlocal show
        try:
            with shown_progress(quiet=reply.json) as show:
                while not (enough() or (run.done() and not project.store.being_written)):
                    if cancel.wait(_FIRST_LOOK_S):
                        break
        finally:
            show = ignore_progress
        if run.done() or cancel.cancelled:
            with contextlib.suppress(IndexBusyError):  # another process makes it
                run.result()
            cancel.check()

    def begin(allow_large: bool) -> Future[IndexReport]:
        threads = ThreadPoolExecutor(2, "first-index")
        likely = threads.submit(likely_files, project.root, question)

        def update() -> IndexReport:
            return project.update(
                allow_large=allow_large,
                first=lambda: () if likely.exception() else likely.result(),
                progress=note,
                cancel=cancel,
            )

        run = threads.submit(copy_context().run, update)
        threads.shutdown(wait=False)
        wait_for(run, lambda: _can_answer(project))
        return run

    output.note(_INDEXING_FIRST.format(project.root))
    with stoppable(still_wanted=True) as cancel:
        _agree_to_begin(project, reply, yes=False)
        run = _of_any_size(begin, reply, yes=False)
        try:
            yield
            if not run.done() and terminal().is_own:
                output.note("Finishing the index; Ctrl-C keeps what is done.", dim=True)
                wait_for(run, lambda: False)
        finally:
            if terminal().is_own:  # this process ends: the next question goes on with it
                cancel.interrupt()
                run.exception()


def update_project(
    project: Project, reply: Reply, *, force: bool, yes: bool, still_wanted: bool = False
) -> IndexReport:
    """Run the update; ask first about a home folder, and a project over `maxFiles`."""
    _agree_to_begin(project, reply, yes=yes)
    return _run(project, reply, force=force, yes=yes, still_wanted=still_wanted)


def _agree_to_begin(project: Project, reply: Reply, *, yes: bool) -> None:
    root, home = project.root, expanded("~").resolve()
    if not project.store.exists and home.is_relative_to(root):
        what = "is your home folder" if root == home else "holds your home folder"
        question = f"{root} {what}. Index all of it?"
        confirm(question, yes, reply, unasked=ConfirmationRequiredError(question, _AGREE))
        output.note(f"Looking through {root}; that may take a while.")


def _run(asked: Asked, reply: Reply, *, force: bool, yes: bool, still_wanted: bool = False) -> IndexReport:
    def update(allow_large: bool) -> IndexReport:
        with stoppable(still_wanted=still_wanted) as cancel, shown_progress(quiet=reply.json) as progress:
            report = asked.update(force=force, allow_large=allow_large, progress=progress, cancel=cancel)
            if terminal().is_own and not still_wanted:  # else the resident process, or a question, goes on
                for project in projects_of(asked).values():
                    project.history.wait(cancel, progress)
            return report

    return _of_any_size(update, reply, yes=yes)


def _of_any_size(work: Callable[[bool], T], reply: Reply, *, yes: bool) -> T:
    """Do the work; where a project is over `maxFiles`, ask first whether that is allowed."""
    try:
        return work(yes)
    except FileLimitError as large:
        confirm(large.user_message, yes, reply, unasked=LargeProjectError(large.user_message, _AGREE))
        return work(True)


def summarise(report: IndexReport, status: IndexStatus) -> None:
    """Print the result of a run: what changed, what the index holds, what it leaves out, what to do next."""
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
            ("index", f"{status.index_path or 'one for each member'} ({shapes.size(status.storage_bytes)})"),
            ("next", _next(status)),
        ]
    )
    for text in report.notes:
        output.note(f"note: {text}")
    for skip in report.errors[:_MOST_ERRORS]:
        output.warn(f"{skip.path}: {skip.told}")
    if len(report.errors) > _MOST_ERRORS:
        output.warn(f"… and {len(report.errors) - _MOST_ERRORS} more; see `findspot status --skipped`")


def _headline(report: IndexReport) -> str:
    seconds = shapes.duration(report.seconds)
    if not report.created and not (report.files_indexed or report.files_removed):
        unchanged = output.count(report.files_unchanged, "file")
        return f"{report.project_path} is up to date: {unchanged} unchanged ({seconds})"
    others = (("unchanged", report.files_unchanged), ("removed", report.files_removed))
    parts = [f"{output.count(report.files_indexed, 'file')} indexed"]
    parts += [f"{number:,} {what}" for what, number in others if number]
    return f"{report.project_path}: {', '.join(parts)} in {seconds}"


def _next(status: IndexStatus) -> str:
    if not status.total_files:
        return "nothing was indexed; `findspot status --skipped` says why"
    if status.skipped:
        return "`findspot status --skipped` lists what was left out and why"
    return "`findspot status` shows how the index stands"


@command(path=True)
def watch(reply: Reply, project: str | None) -> None:
    """Keep the index of the project at PATH up to date until you press Ctrl-C.

    A server watches the projects it is asked about by itself; this is for when none runs. Of several
    processes on one project one watches, and another takes over when it ends.
    """
    with open_project(project) as opened, stoppable() as cancel:
        opened.files(limit=1)  # without an index there is nothing to keep
        opened.index.shown_progress = functools.partial(shown_progress, quiet=reply.json, only_indexing=True)
        supervisor = opened.watch()
        shown: object = None
        while not cancel.wait(_LOOK_S):
            status = supervisor.status
            status = replace(status, strategy=status.strategy or opened.settings.sync.strategy)
            told = _WATCHED(status)
            if told != shown and reply.json:
                click.echo(json.dumps({"projectPath": str(opened.root), **told}))
                sys.stdout.flush()  # somebody follows it
            elif told != shown:
                output.line(f"{opened.root}: {_in_words(status, wanted=opened.index.wanted)}")
            shown = told
        output.note("Stopped watching.")


def _in_words(status: WatcherStatus, *, wanted: bool) -> str:
    if status.last_error:
        return f"trouble: {status.last_error}"
    if not wanted:
        return "not watching; indexing was stopped. Run `findspot index` to go on."
    if not status.watching:
        return "another process watches; standing by"
    how = f" (every few seconds: {status.polling})" if status.polling else ""
    return f"watching, {status.strategy}, {output.count(status.updates, 'update')}{how}"
