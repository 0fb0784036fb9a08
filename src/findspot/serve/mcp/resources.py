"""Findspot's resources: the status of the index, a file's outline, and the chunk around a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import unquote

from findspot.core.errors import FindspotError
from findspot.search.answers import joined
from findspot.serve.mcp.call import Call
from findspot.serve.mcp.offers import Contents, Place
from findspot.serve.mcp.projects import find_project
from findspot.serve.shapes import status_object

if TYPE_CHECKING:
    from findspot.project import Project
    from findspot.store.records import StoredChunk

_STATUS, _OUTLINE, _CHUNK = "findspot://status", "findspot://outline/", "findspot://chunk/"
_MOST_COMPLETIONS = 100

PLACES = (
    Place(_STATUS, "status", "Index status", "The state of this project's index", "application/json"),
    Place(
        _OUTLINE + "{+path}",
        "outline",
        "Outline of a file",
        "What an indexed file defines, with line numbers",
        "text/plain",
    ),
    Place(
        _CHUNK + "{line}/{+path}",
        "chunk",
        "Chunk at a line",
        "The piece of an indexed file that holds a line",
        "text/plain",
    ),
)


async def read(call: Call, uri: str) -> Contents | None:
    """The contents of an address, or None where nothing has it."""
    project = (await find_project(call, None)).project
    try:
        if uri == _STATUS:
            status = await call.quick(lambda _: project.status())
            return Contents("application/json", json.dumps(status_object(status), ensure_ascii=False))
        if uri.startswith(_OUTLINE):
            path = unquote(uri.removeprefix(_OUTLINE))
            return await call.quick(lambda _: _outline(project, path))
        if uri.startswith(_CHUNK):
            line, _, path = unquote(uri.removeprefix(_CHUNK)).partition("/")
            return await call.quick(lambda _: _chunk(project, path, line))
    except FindspotError:
        return None
    return None


async def complete(call: Call, _about: str, argument: str, value: str) -> list[str]:
    """Indexed paths that begin with what was typed, then those that contain it."""
    if argument != "path":
        return []
    project = (await find_project(call, None)).project
    try:
        paths, _ = await call.quick(lambda _: project.files())
    except FindspotError:
        return []
    typed = value.lower()
    fitting = [path for path in paths if typed in path.lower()]
    fitting.sort(key=lambda path: not path.lower().startswith(typed))
    return fitting[:_MOST_COMPLETIONS]


def _outline(project: Project, path: str) -> Contents | None:
    with project.store.snapshot() as snapshot:
        chunks = snapshot.chunks_of(path)
    pieces = sorted(chunks, key=lambda chunk: (chunk.start_line, chunk.end_line))
    lines = [_piece(chunk) for chunk in pieces if chunk.kind != "outline"]
    return Contents("text/plain", "\n".join(lines)) if lines else None


def _piece(chunk: StoredChunk) -> str:
    defined = ", ".join(chunk.symbols) or chunk.signature or chunk.breadcrumb or ""
    return f"{chunk.start_line}-{chunk.end_line}  {chunk.kind}  {defined}".rstrip()


def _chunk(project: Project, path: str, line: str) -> Contents | None:
    if not line.isdecimal():
        return None
    with project.store.snapshot() as snapshot:
        around = [c for c in snapshot.chunks_of(path) if c.start_line <= int(line) <= c.end_line]
    if not around:
        return None
    nearest = min(around, key=lambda c: c.end_line - c.start_line)
    pieces = [c for c in around if c.end_line == nearest.end_line and c.kind != "outline"]
    return Contents("text/plain", joined(pieces or [nearest]))
