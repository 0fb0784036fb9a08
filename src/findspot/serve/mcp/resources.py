"""Findspot's resources: the status of the index, outlines, chunks, and lines of indexed files."""

from __future__ import annotations

import json
import os
import re
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from findspot.core.errors import FindspotError, PathNotFoundError, ProjectNotDetectedError
from findspot.search.answers import joined
from findspot.serve.mcp.offers import Contents, Place
from findspot.serve.mcp.target import detected_project, find_project
from findspot.serve.mcp.tool_call import Call
from findspot.serve.shapes import status_object

if TYPE_CHECKING:
    from findspot.engine import Engine
    from findspot.project import Project
    from findspot.store.records import StoredChunk

_STATUS, _OUTLINE, _CHUNK, _FILE = "findspot://status", "findspot://outline/", "findspot://chunk/", "file:///"
_LINE = re.compile(r"[0-9]{1,9}")
_LINES = re.compile(r"L([0-9]{1,9})(?:-L?([0-9]{1,9}))?")

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
    Place(
        _FILE + "{+path}",
        "file",
        "Indexed file",
        "An indexed file by its full path, or with #L6-L8 some of its lines: what search answers link to",
        "text/plain",
    ),
)
_COMPLETED = frozenset({_OUTLINE + "{+path}", _CHUNK + "{line}/{+path}", "explore_codebase"})
"""Templates and prompts whose argument `path` is a path of the project."""


async def read(call: Call, uri: str) -> Contents | None:
    """Return the contents of an address, or None where nothing has it; only a known address asks for
    roots.
    """
    try:
        if uri == _STATUS:
            return await _status(call)
        if uri.startswith(_OUTLINE):
            path = unquote(uri.removeprefix(_OUTLINE))
            project = (await find_project(call, None)).project
            return await call.quick(lambda _: _outline(project, path))
        if uri.startswith(_CHUNK):
            line, _, path = unquote(uri.removeprefix(_CHUNK)).partition("/")
            if not _LINE.fullmatch(line):
                return None
            project = (await find_project(call, None)).project
            return await call.quick(lambda _: _chunk(project, path, int(line)))
        if uri.startswith(_FILE):
            return await _file(call, uri)
    except ProjectNotDetectedError:
        raise
    except FindspotError:
        return None
    return None


async def complete(call: Call, about: str, argument: str, value: str) -> list[str]:
    """Return the indexed paths that begin with what was typed, then those that contain it."""
    if argument != "path" or about not in _COMPLETED:
        return []
    try:
        project = (await find_project(call, None)).project
        paths, _ = await call.quick(lambda _: project.files())
    except FindspotError:
        return []
    typed = value.lower()
    matching = [path for path in paths if typed in path.lower()]
    return sorted(matching, key=lambda path: not path.lower().startswith(typed))


async def _status(call: Call) -> Contents:
    """Return the status of the index; a client that would have to call again is not asked for its roots."""
    target = await (detected_project(call) if call.client.modern else find_project(call, None))
    status = await call.quick(lambda _: target.project.status())
    return Contents("application/json", json.dumps(status_object(status), ensure_ascii=False))


def _outline(project: Project, path: str) -> Contents | None:
    with project.store.snapshot() as snapshot:
        chunks = snapshot.chunks.of_file(path)
    pieces = sorted(chunks, key=lambda chunk: (chunk.start_line, chunk.end_line))
    lines = [_piece(chunk) for chunk in pieces if chunk.kind != "outline"]
    return Contents("text/plain", "\n".join(lines)) if lines else None


def _piece(chunk: StoredChunk) -> str:
    defined = ", ".join(chunk.symbols) or chunk.signature or chunk.breadcrumb or ""
    return f"{chunk.start_line}-{chunk.end_line}  {chunk.kind}  {defined}".rstrip()


def _chunk(project: Project, path: str, line: int) -> Contents | None:
    with project.store.snapshot() as snapshot:
        around = [c for c in snapshot.chunks.of_file(path) if c.start_line <= line <= c.end_line]
    if not around:
        return None
    nearest = min(around, key=lambda c: c.end_line - c.start_line)
    pieces = [c for c in around if c.end_line == nearest.end_line and c.kind != "outline"]
    return Contents("text/plain", joined(pieces or [nearest]))


async def _file(call: Call, uri: str) -> Contents | None:
    """Return a file of an index on this machine: of the one around it, else of the call's project."""
    parts = urlsplit(uri)
    path = Path(os.path.normpath(url2pathname(parts.path)))
    lines = _LINES.fullmatch(parts.fragment)
    if not path.is_absolute() or (parts.fragment and lines is None):
        return None
    span = (int(lines[1]), int(lines[2] or lines[1])) if lines else None
    try:
        return await call.quick(lambda engine: _lines(_around(engine, path), path, span))
    except (PathNotFoundError, ProjectNotDetectedError):  # it may lie in a root outside the project's folder
        project = (await find_project(call, None)).project
        return await call.quick(lambda _: _lines(project, path, span))


def _around(engine: Engine, path: Path) -> Project:
    root = engine.indexed_root(path.parent)
    if root is None:
        raise PathNotFoundError(str(path))
    return engine.project(root)


def _lines(project: Project, path: Path, span: tuple[int, int] | None) -> Contents:
    from findspot.serve.project_files import source_lines

    spelled = project.roots.spelled(path)
    if spelled is None:
        raise PathNotFoundError(str(path))
    _, lines = source_lines(project, project.roots.relative(str(path)))
    shown = lines[span[0] - 1 : span[1]] if span else lines
    return Contents(guess_type(path.name)[0] or "text/plain", "\n".join(shown))
