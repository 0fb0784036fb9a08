"""Notebooks by cell: the lines of the file that hold each cell, with the cell's language."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

from findspot.chunk.splitting import Draft, Rows, SourceLines, cut_lines

_CELLS = re.compile(r'"cells"\s*:\s*\[')
_SEPARATOR = re.compile(r"[\s,]*")


def chunk_notebook(lines: SourceLines) -> list[Draft] | None:
    """Return one draft per cell and plain ones between them; None where cells share lines."""
    cells = _cells(lines)
    if not cells or any(before[1] >= after[0] for (before, _), (after, _) in pairwise(cells)):
        return None
    language = _kernel_language(lines.text)
    drafts: list[Draft] = []
    row = 0
    for (first, last), cell in cells:
        drafts.extend(_plain(row, first - 1, lines))
        drafts.extend(_cell(first, last, cell, language, lines))
        row = last + 1
    drafts.extend(_plain(row, len(lines) - 1, lines))
    return drafts


def _cells(lines: SourceLines) -> list[tuple[Rows, dict[str, Any]]]:
    """Return each cell with its rows, decoded one by one so that their places are known."""
    opening = _CELLS.search(lines.text)
    if not opening:
        return []
    decoder = json.JSONDecoder()
    cells: list[tuple[Rows, dict[str, Any]]] = []
    at = opening.end()
    while True:
        gap = _SEPARATOR.match(lines.text, at)
        at = gap.end() if gap else at
        if lines.text[at : at + 1] != "{":
            return cells
        try:
            cell, end = decoder.raw_decode(lines.text, at)
        except (ValueError, RecursionError):
            return cells
        cells.append(((lines.row_at(at), lines.row_at(end - 1)), cell))
        at = end


def _cell(first: int, last: int, cell: dict[str, Any], language: str, lines: SourceLines) -> list[Draft]:
    is_code = cell.get("cell_type") == "code"
    title = None if is_code else _title(cell.get("source"))
    return [
        Draft(
            *rows,
            kind="cell" if is_code else "section",
            language=language if is_code else "markdown",
            breadcrumb=title,
        )
        for rows in cut_lines(first, last, lines)
    ]


def _title(source: object) -> str | None:
    """Return the first heading of a Markdown cell."""
    text = "".join(map(str, source)) if isinstance(source, list) else str(source or "")
    for line in text.split("\n"):
        if line.startswith("#"):
            return line.strip("# \t\r") or None
    return None


def _kernel_language(text: str) -> str:
    """Return what the notebook's metadata says its code is written in."""
    found = re.search(r'"language_info"\s*:\s*\{[^{}]*(?:\{[^{}]*\}[^{}]*)*?"name"\s*:\s*"(\w+)"', text)
    return found[1].lower() if found else "python"


def _plain(first: int, last: int, lines: SourceLines) -> list[Draft]:
    rows = lines.trim(first, last)
    return [Draft(*part, kind="data", language="json") for part in cut_lines(*rows, lines)] if rows else []
