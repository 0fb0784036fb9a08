"""`findspot status`, `files` and `projects` look at indexes; `delete` and `clean` remove them."""

from __future__ import annotations

from dataclasses import replace

import click

from findspot.core.model import IndexState, IndexStatus, Skip, SkipReason
from findspot.index_folders import delete_orphans, find_orphans
from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.failure import NO_INDEX
from findspot.serve.cli.index_commands import open_index
from findspot.serve.cli.interaction import confirm
from findspot.serve.cli.options import (
    Reply,
    common,
    path_or_project,
    project_option,
    update_option,
    yes_option,
)
from findspot.serve.cli.project_choice import folder_inside, folder_note, open_engine, open_project
from findspot.serve.project_files import find_files
from findspot.serve.shapes import project_object, skip_object, status_object, warned

_EVERY_REASON = "all"
_STATE_COLOURS = {IndexState.READY: "green", IndexState.FAILED: "red"}
_DELETE_QUESTION = "Delete the index for this project? This cannot be undone."


@click.command()
@path_or_project
@click.option(
    "--skipped",
    is_flag=False,
    flag_value=_EVERY_REASON,
    type=click.Choice([_EVERY_REASON, *map(str, SkipReason)]),
    metavar="[REASON]",
    help="List each file that is not in the index, and why; all of them, or those of one reason.",
)
@common
def status(reply: Reply, project: str | None, skipped: str | None) -> None:
    """Show what the index of the project at PATH holds and whether it is current.

    Exit code 3 when there is no index.
    """
    with open_project(project) as opened:
        found = opened.status()
        if note := folder_note(opened, folder_inside(opened, project)):
            found = replace(found, notes=(*found.notes, note))
        missing = found.state is IndexState.NOT_FOUND
        skips = None
        if skipped and not missing:
            skips = opened.skipped(None if skipped == _EVERY_REASON else skipped)
    if reply.json:
        listed = {} if skips is None else {"skippedFiles": [skip_object(skip) for skip in skips]}
        output.emit(status_object(found) | listed)
    elif skips is not None:
        _show_skips(skips)
    else:
        _show_status(found)
    if missing:
        raise click.exceptions.Exit(NO_INDEX)


@click.command()
@click.argument("pattern", metavar="GLOB")
@project_option
@click.option("--limit", type=click.IntRange(1, 100_000), help="Files to list. Default: all.")
@click.option("--offset", type=click.IntRange(0), default=0, help="Files to skip. Default: none.")
@update_option
@common
def files(
    reply: Reply, pattern: str, project: str | None, *, limit: int | None, offset: int, update: bool
) -> None:
    """List indexed files that match GLOB, such as 'src/**/*.py' or '*.md'.

    Paths are relative to the project's root; `**` is any number of folders.
    """
    with open_index(project, reply, update=update) as index:
        matching, warning = find_files(index.project, index.under, pattern)
        warning = index.warning(warning)
    found = matching[offset:][:limit]
    if reply.json:
        output.emit(warned({"matches": found, "totalMatches": len(matching)}, warning))
        return
    if warning:
        output.warn(warning)
    for path in found:
        output.line(path)
    if not found:
        output.note(f"No indexed file matches '{pattern}'.")
    elif len(matching) > len(found):
        output.note(f"{len(found):,} of {output.count(len(matching), 'match')}")


@click.command()
@common
def projects(reply: Reply) -> None:
    """List every indexed project with its figures."""
    with open_engine() as engine:
        found = engine.projects()
    if reply.json:
        output.emit({"projects": [project_object(*entry) for entry in found], "total": len(found)})
    elif not found:
        output.line("No project is indexed yet. Run `findspot index` in one.")
    else:
        rows = [
            (str(s.state), f"{s.total_files:,}", f"{s.total_chunks:,}", shapes.size(s.storage_bytes),
             (s.last_updated or "")[:10], s.project_path)
            for _, s in found
        ]  # fmt: skip
        header = ("status", "files", "chunks", "size", "updated", "project")
        output.table(rows, header, numbers=(1, 2, 3))


def _show_status(found: IndexStatus) -> None:
    output.line(_headline(found), bold=True, fg=_STATE_COLOURS.get(found.state, "yellow"))
    if found.state is IndexState.NOT_FOUND:
        output.line(f"Run `findspot index {found.project_path}`.")
        return
    code, chunks = found.total_files - found.total_docs, found.total_chunks - found.total_doc_chunks
    docs, doc_chunks = found.total_docs, found.total_doc_chunks
    pending = output.count(found.pending_changes, "change")
    output.fields(
        [
            ("code", f"{output.count(code, 'file')}, {output.count(chunks, 'chunk')}"),
            ("docs", f"{output.count(docs, 'file')}, {output.count(doc_chunks, 'chunk')}"),
            ("languages", output.ranking(found.languages)),
            ("skipped", output.ranking(found.skipped)),
            ("pending", f"{pending} on disk; {_remedy(found)}" if found.pending_changes else ""),
            ("watched", "yes" if found.watcher_active else ""),
            ("error", found.last_error or ""),
            ("updated", output.moment(found.last_updated)),
            ("model", _models(found)),
            ("strategy", found.strategy),
            ("index", f"{found.index_path} ({shapes.size(found.storage_bytes)})"),
        ]
    )
    for text in found.notes:
        output.note(f"note: {text}")


def _remedy(found: IndexStatus) -> str:
    return "they will be indexed" if found.watcher_active else "run `findspot index`"


def _headline(found: IndexStatus) -> str:
    texts = {
        IndexState.NOT_FOUND: "not indexed",
        IndexState.READY: "ready" if found.query_ready else "ready, but empty",
        IndexState.INDEXING: "being indexed",
        IndexState.INCOMPLETE: "incomplete; run `findspot index` to go on",
        IndexState.FAILED: "damaged; run `findspot reindex`",
    }
    progress = found.progress
    done = f" ({progress.done:,} of {output.count(progress.total, 'file')})" if progress else ""
    return f"{found.project_path}: {texts[found.state]}{done}"


def _show_skips(skips: list[Skip]) -> None:
    if not skips:
        output.note("Nothing was left out.")
        return
    output.table([(str(s.reason), f"{s.path}  ({s.detail})" if s.detail else s.path) for s in skips])


def _models(found: IndexStatus) -> str:
    """Return the model of the index, and how much the slower model has read."""
    slower = found.slower_model
    if slower is None:
        return found.model or ""
    far = f"{slower.done:,} of {slower.total:,} chunks" if slower.total else "not begun"
    return f"{found.model or ''}, then {slower.model} ({far})"


@click.command()
@path_or_project
@yes_option
@common
def delete(reply: Reply, project: str | None, yes: bool) -> None:
    """Delete the index of the project at PATH; the project itself is not touched.

    Asks first. Exit code 3 when there is no index.
    """
    with open_project(project, exact=True) as opened:
        root = str(opened.root)
        if opened.store.folder.exists():
            confirm(_DELETE_QUESTION, yes, reply, about=root)
        deleted = opened.delete()
    message = "Index deleted successfully" if deleted else "There is no index to delete."
    result = {"status": "success" if deleted else "not_found", "projectPath": root, "message": message}
    reply.give(result, f"{message}: {root}" if deleted else message)
    if not deleted:
        raise click.exceptions.Exit(NO_INDEX)


@click.command()
@yes_option
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@common
def clean(reply: Reply, yes: bool, dry_run: bool) -> None:
    """Delete indexes whose project folder is gone.

    Asks first. An index that is being written is left alone.
    """
    with open_engine() as engine:
        found = find_orphans(engine.settings.home)
        if found and not reply.json:
            output.table([(shapes.size(size), str(folder)) for folder, size in found], numbers=(0,))
        if found and not dry_run:
            confirm(f"Delete {output.count(len(found), 'orphaned index')}?", yes, reply)
            found = delete_orphans(engine.settings.home)
    freed = shapes.size(sum(size for _, size in found))
    if reply.json:
        listed = [{"path": str(folder), "storageSize": shapes.size(size)} for folder, size in found]
        state = "dry_run" if dry_run else "success"
        output.emit({"status": state, "removed": listed, "total": len(found), "storageSize": freed})
    elif not found:
        output.line("Nothing to clean: every index belongs to a project.")
    else:
        output.line(f"{freed} would be freed." if dry_run else f"{freed} freed.")
