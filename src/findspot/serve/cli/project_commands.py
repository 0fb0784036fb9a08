"""`findspot status`, `files`, `deps`, `projects` and `workspace` look at indexes; others remove them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import click

from findspot.core.config import INDEX_FILE, configured_roots, load_settings, set_value
from findspot.core.errors import InvalidArgumentError, ProjectNotDetectedError
from findspot.core.model import IndexState, IndexStatus, Skip, SkipReason
from findspot.core.paths import absolute, find_roots, index_folder, project_root
from findspot.dependencies.package import Manifests
from findspot.dependencies.project_dependencies import list_dependencies
from findspot.discover.checkouts import projects_in
from findspot.engine import Engine
from findspot.index_folders import delete_orphans, find_orphans
from findspot.serve import shapes
from findspot.serve.arguments import count
from findspot.serve.cli import output
from findspot.serve.cli.failure import NO_INDEX
from findspot.serve.cli.index_commands import open_index
from findspot.serve.cli.interaction import confirm
from findspot.serve.cli.options import Group, Reply, command, option_of
from findspot.serve.cli.project_choice import (
    folder_inside,
    folder_note,
    open_asked,
    open_engine,
    open_project,
)
from findspot.serve.project_files import asked_status, delete_question, find_files
from findspot.workspace import Workspace, is_workspace

_EVERY_REASON = "all"
_STATE_COLOURS = {IndexState.READY: "green", IndexState.FAILED: "red"}


_MEANT = {
    SkipReason.DENIED: "never indexed, as dependencies, build output, version control and credentials are",
    SkipReason.MASKED: "indexed without the secrets in the lines named",
}


@command(path=True)
@click.option(
    "--skipped",
    is_flag=False,
    flag_value=_EVERY_REASON,
    type=click.Choice([_EVERY_REASON, *map(str, SkipReason)]),
    metavar="[REASON]",
    help="List the files that are left out, wholly or in part, and why; all of them, or those of one reason.",
)
def status(reply: Reply, project: str | None, skipped: str | None) -> None:
    """Show what the index of the project at PATH holds and whether it is current.

    Exit code 3 when there is no index.
    """
    with open_asked(project) as opened:
        if is_workspace(opened):
            show_members(opened, reply)
            raise click.exceptions.Exit(0 if opened.indexed else NO_INDEX)
        index_status = opened.status()
        if note := folder_note(opened, folder_inside(opened, project)):
            index_status = replace(index_status, notes=(*index_status.notes, note))
        missing = index_status.state is IndexState.NOT_FOUND
        skips: list[Skip] = []
        if skipped and not missing:
            skips = opened.only().skipped(None if skipped == _EVERY_REASON else skipped)
    files = {"skippedFiles": list(map(shapes.SKIP, skips))} if skipped and not missing else {}
    exit_code = NO_INDEX if missing else 0
    reply.answer_program(shapes.STATUS(index_status) | files, exit_code)
    if not files:
        _show_status(index_status)
    else:
        _show_skips(skips)
    raise click.exceptions.Exit(exit_code)


def _show_skips(skips: list[Skip]) -> None:
    if not skips:
        output.note("Nothing was left out.")
        return
    output.table([(str(s.reason), f"{s.path}  ({s.detail})" if s.detail else s.path) for s in skips])
    for reason in _MEANT.keys() & {skip.reason for skip in skips}:
        output.note(f"{reason}: {_MEANT[reason]}", dim=True)


def show_members(workspace: Workspace, reply: Reply, here: str | None = None) -> None:
    """Print how each member of a workspace stands; the one that the user is in has a mark."""
    statuses = workspace.statuses()
    if reply.json:
        output.emit(asked_status(workspace))
    else:
        output.line(f"{workspace.folder}: a workspace of {output.count(len(statuses), 'project')}", bold=True)
        rows = [
            ("*" * (name == here), name, str(s.state), f"{s.total_files:,}", f"{s.pending_changes:,}",
             s.project_path)
            for name, s in statuses.items()
        ]  # fmt: skip
        output.table(rows, ("", "member", "status", "files", "pending", "project"))


@command(project=True, update=True)
@click.argument("pattern", metavar="GLOB")
@option_of("limit", count("Files to show. Default: all", 1, 100_000), "-n")
@option_of("offset", count("Files to skip. Default: none", 0, default=0))
def files(
    reply: Reply, pattern: str, project: str | None, *, limit: int | None, offset: int, update: bool
) -> None:
    """List indexed files that match GLOB, such as 'src/**/*.py' or '*.md'.

    Paths are relative to the project's root; `**` is any number of folders.
    """
    with open_index(project, reply, update=update) as index:
        matching, warning = find_files(index.asked, index.under, pattern)
        warning = index.warning(warning)
    shown = matching[offset:][:limit]
    reply.answer_program(shapes.warned({"matches": shown, "totalMatches": len(matching)}, warning))
    output.warn(warning)
    for path in shown:
        output.line(path)
    if not shown:
        output.note(f"No indexed file matches '{pattern}'.")
    elif len(matching) > len(shown):
        output.note(f"{len(shown):,} of {output.count(len(matching), 'match')}")


@command()
def projects(reply: Reply) -> None:
    """List every indexed project with its figures."""
    with open_engine() as engine:
        indexed, gone = engine.projects(), find_orphans(engine.settings.home)
    listed = [shapes.LISTED_PROJECT(each, id=identity) for identity, each in indexed]
    value = {"projects": listed, "total": len(listed)}
    columns = "status files=totalFiles chunks=totalChunks size=storageSize updated=lastUpdated project=path"
    reply.table(value, "projects", columns, "No project is indexed yet. Run `findspot index` in one.")
    for orphan in gone if not reply.json else ():
        output.note(f"note: {orphan.name} is gone; `findspot clean` deletes its index.")


def _show_status(status: IndexStatus) -> None:
    output.line(_headline(status), bold=True, fg=_STATE_COLOURS.get(status.state, "yellow"))
    if status.state is IndexState.NOT_FOUND:
        output.line(f"Run `findspot index {status.project_path}`.")
        return
    code, chunks = status.total_files - status.total_docs, status.total_chunks - status.total_doc_chunks
    docs, doc_chunks = status.total_docs, status.total_doc_chunks
    pending = output.count(status.pending_changes, "change")
    remedy = "they will be indexed" if status.watcher_active else "run `findspot index`"
    output.fields(
        [
            ("code", f"{output.count(code, 'file')}, {output.count(chunks, 'chunk')}"),
            ("docs", f"{output.count(docs, 'file')}, {output.count(doc_chunks, 'chunk')}"),
            ("languages", output.ranking(status.languages)),
            ("skipped", output.ranking(status.skipped)),
            ("pending", f"{pending} on disk; {remedy}" if status.pending_changes else ""),
            ("watched", "yes" if status.watcher_active else ""),
            ("error", status.last_error or ""),
            ("updated", output.cell(status.last_updated, "updated")),
            ("model", status.model or ""),
            ("strategy", status.strategy),
            ("index", f"{status.index_path} ({shapes.size(status.storage_bytes)})"),
        ]
    )
    for text in status.notes:
        output.note(f"note: {text}")


def _headline(status: IndexStatus) -> str:
    texts = {
        IndexState.NOT_FOUND: "not indexed",
        IndexState.READY: "ready" if status.query_ready else "ready, but empty",
        IndexState.INDEXING: "being indexed",
        IndexState.INCOMPLETE: "incomplete; run `findspot index` to continue",
        IndexState.FAILED: "damaged; run `findspot reindex`",
    }
    progress = status.progress
    done = f" ({progress.done:,} of {output.count(progress.total, 'file')})" if progress else ""
    return f"{status.project_path}: {texts[status.state]}{done}"


@command(path=True, yes=True)
def delete(reply: Reply, project: str | None, yes: bool) -> None:
    """Delete the index of the project at PATH; the project itself is not touched.

    Asks first. Exit code 3 when there is no index.
    """
    with open_project(project, exact=True) as opened:
        root = str(opened.root)
        if opened.store.folder.exists():
            confirm(delete_question(opened), yes, reply, about=root)
        deleted = opened.delete()
    message = "Index deleted successfully" if deleted else "There is no index to delete."
    result = {"status": "success" if deleted else "not_found", "projectPath": root, "message": message}
    reply.give(result, f"{message}: {root}" if deleted else message)
    if not deleted:
        raise click.exceptions.Exit(NO_INDEX)


@command(yes=True)
def clean(reply: Reply, yes: bool) -> None:
    """Delete indexes whose project folder is gone.

    Asks first. An index that is being written is left alone.
    """
    with open_engine() as engine:
        orphans = find_orphans(engine.settings.home)
        if orphans and not reply.json:
            output.table([(shapes.size(orphan.size), orphan.name) for orphan in orphans])
        if orphans:
            confirm(f"Delete {output.count(len(orphans), 'orphaned index')}?", yes, reply)
            orphans = delete_orphans(engine.settings.home)
    listed = [
        {"path": str(each.folder), "project": each.name, "storageSize": shapes.size(each.size)}
        for each in orphans
    ]
    freed = shapes.size(sum(orphan.size for orphan in orphans))
    value = {"status": "success", "removed": listed}
    nothing = "Nothing to clean: every index belongs to a project."
    reply.give(value | {"total": len(listed), "storageSize": freed}, f"{freed} freed." if listed else nothing)


_READ = (
    "Read are manifests of Python (pyproject.toml, requirements*.txt, setup.cfg, setup.py, Pipfile) and of "
    "JavaScript (package.json); those of other languages are not."
)


@command(project=True)
def deps(reply: Reply, project: str | None) -> None:
    """List what a project depends on: names, versions and folders, and why one is not on this machine.

    Manifests and installed packages are read; nothing is run, and nothing is downloaded.
    """
    with open_project(project) as opened:
        manifests = Manifests(opened.root)
        listed = [each.as_dict() for each in list_dependencies(opened.root, manifests=manifests)]
        value = {"projectPath": str(opened.root), "dependencies": listed, "total": len(listed)}
    broken = ", ".join(sorted(manifests.broken))
    warning = f"Left out, since it is not written correctly: {broken}." if broken else None
    value = shapes.warned(value, warning)
    if not reply.json:
        output.warn(warning)
    columns = "package=name ecosystem version direct folder missing"
    if reply.table(value, "dependencies", columns, f"No dependencies were found. {_READ}"):
        direct, absent = (sum(bool(each[name]) for each in listed) for name in ("direct", "missing"))
        output.note(f"{direct:,} direct, {len(listed) - direct:,} indirect, {absent:,} not on this machine")


_FOLDER = click.option("--path", metavar="PATH", help="The workspace's folder. Default: the one you are in.")


@command(cls=Group, invoke_without_command=True)
@_FOLDER
@click.pass_context
def workspace(ctx: click.Context, reply: Reply, path: str | None) -> None:
    """Show the members of the workspace that you are in: the repositories below a folder, and others.

    A question that is asked in the folder is put to all members, one that is asked inside a member to that
    one. `--project` takes the names that are listed here, and globs of them.
    """
    if ctx.invoked_subcommand is None:
        with _opened(path) as (engine, folder):
            _show(engine, folder, reply)


@command("add", group=workspace)
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...")
@_FOLDER
def add(reply: Reply, folders: tuple[str, ...], path: str | None) -> None:
    """Add members that lie elsewhere, or the repositories in a folder; `findspot index` indexes them."""
    with _opened(path) as (engine, folder):
        added = find_roots(folder, [str(project_root(each)) for each in folders], inside_only=False)
        _keep(engine, folder, [*_named(engine, folder), *chain.from_iterable(map(projects_in, added))])
        _show(engine, folder, reply)


@command("remove", group=workspace)
@click.argument("members", nargs=-1, required=True, metavar="MEMBER...")
@_FOLDER
def remove(reply: Reply, members: tuple[str, ...], path: str | None) -> None:
    """Remove members that lie elsewhere, by name or folder; their indexes stay."""
    with _opened(path) as (engine, folder):
        named, around = _named(engine, folder), engine.workspace(folder)
        known = around.members if around else {}
        for member in members:
            root = known.get(member) or absolute(member).resolve()
            if root not in named:
                hint = "`findspot workspace` lists the members; those in its own folder stay."
                raise InvalidArgumentError(f"'{member}' is no member that was added.", hint=hint)
            named.remove(root)
        _keep(engine, folder, named)
        if engine.workspace(folder) is not None:
            _show(engine, folder, reply)
        else:
            told = f"{folder} has no members any more, and is no workspace."
            reply.give({"workspace": str(folder), "members": []}, told)


@contextlib.contextmanager
def _opened(given: str | None) -> Iterator[tuple[Engine, Path]]:
    """Provide the engine and the folder of the workspace around a folder; else the folder itself."""
    with open_engine() as engine:
        folder = project_root(given or ".")
        around = engine.workspace(folder)
        yield engine, around.folder if around else folder


def _named(engine: Engine, folder: Path) -> list[Path]:
    own = index_folder(engine.settings.home, folder)
    return list(configured_roots(folder, load_settings(folder, own)))


def _keep(engine: Engine, folder: Path, roots: list[Path]) -> None:
    """Write the list of members into the configuration of the workspace, and remember the workspace."""
    file = index_folder(engine.settings.home, folder) / INDEX_FILE
    set_value(file, "roots", [str(root) for root in dict.fromkeys(roots) if root != folder])
    if (around := engine.workspace(folder)) is not None:
        engine.known_workspaces.note(around)


def _show(engine: Engine, folder: Path, reply: Reply) -> None:
    found = engine.workspace(folder)
    if found is None:
        why = f"{folder} is no workspace: it holds no repository, and names no member."
        hint = "Go to a folder of repositories, or add members: findspot workspace add FOLDER."
        raise ProjectNotDetectedError(str(folder), why, hint=hint)
    show_members(replace(found, here=None), reply, here=found.here)
