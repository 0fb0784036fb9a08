"""The lines of an indexed file, as answers may show them."""

from __future__ import annotations

from typing import Any

from findspot.core.errors import FileNotIndexedError
from findspot.core.model import Corpus, Skip, SourceFile
from findspot.discover.file_content import readable_text
from findspot.discover.root_folder import read_file
from findspot.project import Project

MAX_LINES = 20_000
"""More than anyone reads in a page, and what a browser still lays out at once."""


def source_object(project: Project, given: str) -> dict[str, Any]:
    """Return a file for the page: its lines, up to a bound."""
    path = project.roots.relative(given)
    language, lines = source_lines(project, path)
    return {"path": path, "language": language, "totalLines": len(lines), "lines": lines[:MAX_LINES]}


def source_lines(project: Project, path: str) -> tuple[str | None, list[str]]:
    """Return an indexed file as it is on disk now: never one that the index leaves out, secrets as it has
    them.
    """
    with project.store.snapshot() as snapshot:
        file = snapshot.file(path)
    if file is None:
        raise FileNotIndexedError(path)
    settings = project.settings.discover
    wanted = SourceFile(file.path, Corpus(file.corpus), file.language, file.size, file.mtime_ns)
    data = read_file(project.roots, wanted, settings.max_file_bytes)
    text = data if isinstance(data, Skip) else readable_text(path, data, settings.secret_scan)
    if isinstance(text, Skip):
        raise FileNotIndexedError(path, f"It cannot be shown: {text.reason.replace('_', ' ')}.")
    return file.language, text.split("\n")
