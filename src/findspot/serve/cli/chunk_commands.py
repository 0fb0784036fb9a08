"""`findspot chunks`: a project's chunks as files for other programs, and searched by type and tag."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.core.model import ChunkType
from findspot.core.paths import expanded
from findspot.search.token_budget import MIN_TOKENS
from findspot.serve.cli import output
from findspot.serve.cli.interaction import shown_progress, stoppable
from findspot.serve.cli.options import (
    Group,
    Reply,
    common,
    limit_option,
    path_or_project,
    project_option,
)
from findspot.serve.cli.project_choice import open_engine, open_project

if TYPE_CHECKING:
    from findspot.chunkfiles import ExportReport
    from findspot.core.progress import CancelToken
    from findspot.project import Project


_UNLIMITED = 1_000_000_000
"""Tokens of an answer that another program reads, unless it says otherwise."""


@click.group(cls=Group)
def chunks() -> None:
    """Write a project's chunks as files (.cortex/chunks/*.json), or search them by type and tag."""


@chunks.command()
@path_or_project
@click.option(
    "--output", "folder", metavar="FOLDER", help="Output folder. Default: .cortex/chunks in the project."
)
@click.option("--watch", is_flag=True, help="Keep running and update the files when the project changes.")
@click.option("--no-update", is_flag=True, help="Export the index as it is, without updating it first.")
@common
def export(reply: Reply, project: str | None, folder: str | None, watch: bool, no_update: bool) -> None:
    """Write the chunks of the project at PATH, with their vectors, as four files.

    The index is brought up to date first, or made. Servers that read the files notice the change.
    """
    with open_project(project, exact=True) as opened, stoppable() as cancel:
        chosen = expanded(folder).absolute() if folder else None
        if not no_update:
            _update(opened, reply, cancel)
        report = _export(opened, chosen)
        _show(report, reply)
        if watch:
            _follow(opened, chosen, report, reply, cancel)


@chunks.command()
@click.argument("words", nargs=-1, metavar="QUERY...", required=True)
@limit_option(100, 15, "Chunks", clamp=True)
@click.option("--tags", metavar="A,B", default="", help="Only chunks with all of these tags.")
@click.option(
    "--chunk-types",
    metavar="A,B",
    default="",
    help=f"Only chunks of one of these types: {', '.join(ChunkType)}.",
)
@click.option("--min-score", type=click.FloatRange(-1, 1), default=0.0, help="Lowest similarity. Default: 0.")
@click.option("--include-stats", is_flag=True, help="Also show what is searched.")
@click.option("--max-tokens", type=click.IntRange(MIN_TOKENS), help="The most tokens of the answer.")
@project_option
@common
def search(
    reply: Reply,
    words: tuple[str, ...],
    project: str | None,
    *,
    tags: str,
    chunk_types: str,
    include_stats: bool,
    max_tokens: int | None,
    **options: Any,
) -> None:
    """Search the project's chunk files, or without any its index, as the tool `cortex_search` does."""
    from findspot.chunkfiles import SearchOptions
    from findspot.serve.chunk_answers import MAX_CONTEXT_TOKENS, FoundContext, context_text, context_values

    kinds = _listed(chunk_types)
    if unknown := [kind for kind in kinds if kind not in list(ChunkType)]:
        raise click.UsageError(f"'{unknown[0]}' is no chunk type. There are: {', '.join(ChunkType)}.")
    query = " ".join(words)
    narrowed = SearchOptions(tags=_listed(tags), chunk_types=kinds, **options)
    with open_engine() as engine:
        root = engine.detect("." if project is None else project).root
        searched = engine.chunks(root)
        results = searched.query(query, narrowed)
        stats = searched.stats() if include_stats else None
    found = FoundContext(results, query, getattr(results, "warning", None), stats)
    limit = max_tokens or (_UNLIMITED if reply.json else MAX_CONTEXT_TOKENS)
    if reply.json:
        output.emit(context_values(found, limit))
        return
    for line in context_text(found, limit).split("\n"):
        output.line(line)
    if stats is not None:
        output.note(", ".join(f"{name}: {value}" for name, value in stats.items()), dim=True)


def _listed(names: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in names.split(","))))


def _update(project: Project, reply: Reply, cancel: CancelToken) -> None:
    with shown_progress(reply.json) as progress:
        project.update(progress=progress, cancel=cancel)


def _export(project: Project, chosen: Path | None) -> ExportReport:
    from findspot.chunkfiles.searcher import export_project

    return export_project(project.root, project.store, project.settings, chosen)


def _show(report: ExportReport, reply: Reply) -> None:
    result = {"status": "success", "path": report.folder, "chunks": report.counts, "total": report.total}
    counted = ", ".join(f"{count:,} {kind}" for kind, count in report.counts.items())
    reply.give(result, f"{output.count(report.total, 'chunk')} written to {report.folder}: {counted}")


def _follow(
    project: Project, chosen: Path | None, report: ExportReport, reply: Reply, cancel: CancelToken
) -> None:
    """Export again after each change of the index, until a signal comes."""
    from findspot.chunkfiles.served_files import watch_tree

    generation = report.generation
    output.note("Watching for changes; press Ctrl-C to stop.")

    def changed() -> None:
        nonlocal generation
        _update(project, reply, cancel)
        with project.store.snapshot() as snapshot:
            current = snapshot.generation
        if current != generation:
            written = _export(project, chosen)
            generation = written.generation
            _show(written, reply)

    watch_tree(project.root, (Path(report.folder), project.store.folder), lambda: cancel.cancelled, changed)
