"""`findspot chunks` and `findspot documents`: collections other than the index of a project."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from findspot.chunkfiles.searcher import export_project
from findspot.core.errors import FileNotIndexedError, InvalidArgumentError
from findspot.core.model import Skip
from findspot.core.paths import expanded
from findspot.core.settings import Settings
from findspot.documents import document_record
from findspot.documents.document_record import Document
from findspot.serve import shapes
from findspot.serve.arguments import CHUNKS, count
from findspot.serve.chunk_answers import MAX_CONTEXT_TOKENS, ask_chunks, context_text, context_values
from findspot.serve.cli import output
from findspot.serve.cli.interaction import confirm, shown_progress, stoppable
from findspot.serve.cli.options import Group, Reply, command, option_of, options_of
from findspot.serve.cli.project_choice import open_engine, open_project

_UNLIMITED = 1_000_000_000
"""Tokens of an answer that another program reads, unless it says otherwise."""


@click.group(cls=Group)
def chunks() -> None:
    """Write a project's chunks as files (.cortex/chunks/*.json), or search them by type and tag."""


@command(group=chunks, path=True)
@click.option(
    "--output", "folder", metavar="FOLDER", help="Output folder. Default: .cortex/chunks in the project."
)
@click.option("--no-update", is_flag=True, help="Export the index as it is, without updating it first.")
def export(reply: Reply, project: str | None, folder: str | None, no_update: bool) -> None:
    """Write the chunks of the project at PATH, with their vectors, as four files.

    The index is brought up to date first, or made. Servers that read the files notice the change.
    """
    with open_project(project, exact=True) as opened, stoppable() as cancel:
        chosen = expanded(folder).absolute() if folder else None
        if not no_update:
            with shown_progress(reply.json) as progress:
                opened.update(progress=progress, cancel=cancel)
        report = export_project(opened.root, opened.store, opened.settings, chosen)
    result = {"status": "success", "path": report.folder, "chunks": report.counts, "total": report.total}
    counted = ", ".join(f"{count:,} {kind}" for kind, count in report.counts.items())
    reply.give(result, f"{output.count(report.total, 'chunk')} written to {report.folder}: {counted}")


@command("search", group=chunks, project=True)
@click.argument("words", nargs=-1, metavar="QUERY...", required=True)
@option_of("limit", CHUNKS["limit"], "-n", type=click.IntRange(1, 100, clamp=True))
@options_of(
    {name: schema for name, schema in CHUNKS.items() if name != "limit"}, tags="A,B", chunk_types="A,B"
)
def search_chunks(
    reply: Reply, words: tuple[str, ...], project: str | None, *, max_tokens: int | None, **options: Any
) -> None:
    """Search the project's chunk files, or without any its index, as the tool `cortex_search` does."""
    for name in ("tags", "chunk_types"):
        options[name] = tuple(filter(None, map(str.strip, (options[name] or "").split(","))))
    with open_engine() as engine:
        root = engine.detect("." if project is None else project).root
        found = ask_chunks(engine.chunks(root), " ".join(words), options)
    limit = max_tokens or (_UNLIMITED if reply.json else MAX_CONTEXT_TOKENS)
    reply.answer_program(context_values(found, limit))
    for line in context_text(found, limit).split("\n"):
        output.line(line)
    if found.stats is not None:
        output.note(", ".join(f"{name}: {value}" for name, value in found.stats.items()), dim=True)


_STDIN = "-"
_MOST_NAMED = 20


_index_option = click.option(
    "--index-name",
    "--index",
    metavar="NAME",
    required=True,
    help="The index. (The index `default` lives in a server's memory and cannot be reached from here.)",
)


@click.group(cls=Group)
def documents() -> None:
    """Keep and search named full-text indexes, which every server on this machine shares.

    \b
      findspot documents create notes
      findspot documents add ~/notes --index notes
      findspot documents search '+tea "first flush" -coffee' --index notes
    """


@command(group=documents)
@click.argument("name")
@click.option("--backend", default="disk", metavar="disk", help="Where it is kept: on disk.")
@click.option("--lowercase/--no-lowercase", default=True, help="Convert tokens to lowercase.")
@click.option("--min-length", type=click.IntRange(1, 100), default=2, help="Shortest token. Default: 2.")
def create(reply: Reply, name: str, backend: str, lowercase: bool, min_length: int) -> None:
    """Create the index NAME: letters, digits, hyphens and underscores."""
    if backend == "memory":
        raise InvalidArgumentError("An index in memory would end with this command. Use --backend disk.")
    with open_engine() as engine:
        config = {"lowercase": lowercase, "min_length": min_length}
        made = engine.documents.create(name, backend, config)
    value = shapes.CREATED_INDEX(made, status="created")
    reply.give(value, f"Created the index {made.name} on {made.backend}.")


@command(group=documents)
@click.argument("source", metavar="FILE|FOLDER|-")
@_index_option
@click.option("--doc-id", help="The document's id. Default: the file's path; needed for standard input.")
@click.option("--glob", "pattern", default="**/*", help="Which files of a folder. Default: all.")
@click.option("--metadata", metavar="JSON", help="An object that search returns with each document.")
def add(
    reply: Reply, source: str, index_name: str, *, doc_id: str | None, pattern: str, metadata: str | None
) -> None:
    """Add a file, the files of a folder, or standard input (-); documents of the same id are replaced.

    If adding one fails, none is added. Files that are not text, hold credentials or match the folder's ignore
    files are skipped and listed. `secretScan` decides about secrets in others, as in projects.
    """
    left_out: list[Skip] = []
    about = _parsed(metadata)

    def documents() -> Iterator[Document]:
        for one in _read(source, doc_id, pattern, engine.settings):
            if isinstance(one, Skip):
                left_out.append(one)
            else:
                yield Document.checked(one.doc_id, one.content, about)

    with open_engine() as engine:
        added = engine.documents.add(documents(), index_name)
    skipped = [
        {"path": str(expanded(source) / skip.path), "reason": document_record.in_words(skip)}
        for skip in left_out
    ]
    if skipped and not added:
        raise InvalidArgumentError(f"{source} was not added: {skipped[0]['reason']}.")
    listed = list(map(shapes.ADDED_DOCUMENT, added))
    reply.answer_program({"documents": listed, "total": len(listed), "skipped": skipped})
    for skip in skipped[:_MOST_NAMED]:
        output.warn(f"{skip['path']}: {skip['reason']}")
    if len(skipped) > _MOST_NAMED:
        output.warn(f"{len(skipped) - _MOST_NAMED:,} more were left out; --json lists them.")
    replaced = sum(one.replaced for one in added)
    output.line(f"{output.count(len(added) - replaced, 'document')} indexed, {replaced:,} re-indexed.")


@command("search", group=documents)
@click.argument("words", nargs=-1, metavar="QUERY...")
@_index_option
@option_of("limit", count("Results to show", 1, 1000, default=10), "-n", "-k", "--k")
def search_documents(reply: Reply, words: tuple[str, ...], index_name: str, limit: int) -> None:
    """Search an index: plain terms, +term, -term and "phrase" (put a leading -term after `--`)."""
    with open_engine() as engine:
        answer = engine.documents.search(" ".join(words), limit, index_name)
    reply.answer_program(shapes.warned(shapes.DOCUMENTS(answer), answer.query.warning))
    output.warn(answer.query.warning)
    for result in answer.results:
        output.line(f"{result.doc_id}  {result.score:.2f}", bold=True)
        for excerpt in result.highlights:
            output.line("  " + " ".join(excerpt.split()))
    output.note(f"{len(answer.results):,} of {output.count(answer.total_matches, 'match')}", dim=True)


@command("list", group=documents)
def list_(reply: Reply) -> None:
    """List the indexes on disk."""
    with open_engine() as engine:
        indexes = [info for info in engine.documents.listing() if info.backend == "disk"]
    listed = [
        {"index_name": i.name, "backend": i.backend, "documents": i.documents, "bytes": i.storage_bytes}
        for i in indexes
    ]
    nothing = "There is no index yet. Create one with `findspot documents create NAME`."
    value = {"indexes": listed, "total": len(listed)}
    reply.table(value, "indexes", "index=index_name documents size=bytes", nothing)


@command(group=documents)
@click.argument("doc_ids", nargs=-1, required=True, metavar="DOC_ID...")
@_index_option
def remove(reply: Reply, doc_ids: tuple[str, ...], index_name: str) -> None:
    """Remove documents from an index."""
    with open_engine() as engine:
        removed = {doc_id: engine.documents.remove(doc_id, index_name) for doc_id in doc_ids}
    results = [{"status": "removed" if ok else "not_found", "doc_id": one} for one, ok in removed.items()]
    lines = [f"Removed {one}." if ok else f"There is no document {one}." for one, ok in removed.items()]
    reply.give(results[0] if len(results) == 1 else {"documents": results}, "\n".join(lines))
    if not all(removed.values()):
        raise click.exceptions.Exit(1)


@command(group=documents, yes=True)
@click.argument("name")
def drop(reply: Reply, name: str, yes: bool) -> None:
    """Delete the index NAME with all its documents; asks first."""
    with open_engine() as engine:
        engine.documents.info(name)  # an unknown name is an error before the question
        confirm(f"Delete the index '{name}' with all its documents?", yes, reply)
        engine.documents.drop(name)
    reply.give({"status": "dropped", "index_name": name}, f"Dropped the index {name}.")


def _parsed(metadata: str | None) -> object:
    try:
        return None if metadata is None else json.loads(metadata)
    except ValueError as error:
        raise click.UsageError(f"--metadata is not valid JSON: {error}.") from None


def _read(source: str, doc_id: str | None, pattern: str, settings: Settings) -> Iterator[Document | Skip]:
    """Yield the documents of a source, and what is left out of it."""
    path = expanded(source)
    if source == _STDIN:
        if not doc_id:
            raise click.UsageError("Standard input needs --doc-id.")
        yield document_record.bytes_document(doc_id, sys.stdin.buffer.read(), settings)
    elif path.is_dir():
        if doc_id:
            raise click.UsageError("--doc-id is for one document; a folder's files have their paths.")
        yield from document_record.folder_documents(path, pattern, settings)
    elif path.exists():
        yield document_record.file_document(path, doc_id or path.as_posix(), settings)
    else:
        raise FileNotIndexedError(source, "There is no such file or folder.")
