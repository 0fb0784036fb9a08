"""Configuration and data by their top-level keys or tables, read from indentation alone."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from typing import Any

from findspot.chunk.splitting import MAX_CHARS, Draft, Rows, SourceLines, cut_lines, pack, rows_between

MAX_DEPTH = 8
"""Levels of keys looked into; below that an entry is cut between lines."""

_COMMENT = ("#", ";", "//", "<!--")
_KEY = re.compile(r"""^\s*(?:\[+\s*)?["']?([\w.$@/:-]+?)["']?\s*(?:[\]:=]|$)""")
_TABLE = re.compile(r"^\s*\[")
_TABLED = frozenset({"toml", "ini", "properties"})
_BRACKETED = frozenset({"json", "xml"})


def chunk_data(lines: SourceLines, language: str) -> list[Draft]:
    """Drafts of whole top-level entries, small neighbours packed, large ones cut deeper."""
    indents = _indents(lines.lines)
    entries = _entries(lines, language, indents)
    keys = [_key(first, last, lines) for first, last in entries]
    units = [part for entry in entries for part in _within(entry, lines, indents)]
    drafts = []
    index = 0
    for first, last in pack(units, lines):
        while index < len(entries) - 1 and entries[index][1] < first:
            index += 1
        drafts.append(Draft(first, last, kind="data", breadcrumb=_only_key(entries, keys, index, last)))
    return drafts


def _only_key(entries: list[Rows], keys: list[str | None], index: int, last: int) -> str | None:
    """Return the key of the entries from `index` up to row `last`, where they have just one."""
    found: str | None = None
    for place in range(index, len(entries)):
        if entries[place][0] > last:
            break
        if keys[place] and found:
            return None
        found = keys[place] or found
    return found


def _entries(lines: SourceLines, language: str, indents: list[int]) -> list[Rows]:
    """Return rows of the top-level entries; comments belong to the entry below them."""
    last = len(lines) - 1
    if language in _TABLED and any(_TABLE.match(line) for line in lines.lines):
        starts = [row for row, line in enumerate(lines.lines) if _TABLE.match(line)]
    else:
        level = _level(indents) if language in _BRACKETED else 0
        starts = [row for row, indent in enumerate(indents) if indent <= level]
    return rows_between([_above(row, lines) for row in starts], 0, last)


def _within(entry: Rows, lines: SourceLines, indents: list[int]) -> list[Rows]:
    """Return an entry as it is, or cut before its own entries where it is too large."""
    parts: list[Rows] = []
    todo = [(entry, 0)]
    while todo:
        (first, last), depth = todo.pop()
        if first == last or depth == MAX_DEPTH or lines.size(first, last) <= MAX_CHARS:
            parts.append((first, last))
            continue
        inside = indents[first + 1 : last + 1]
        level = _level(inside)
        starts = [row for row, indent in enumerate(inside, first + 1) if indent <= level]
        inner = rows_between([_above(row, lines) for row in starts], first, last)
        if len(inner) > 1:
            todo.extend((rows, depth + 1) for rows in reversed(inner))
        else:
            parts.append((first, last))
    return parts


def _indents(lines: list[str]) -> list[int]:
    """Return the indentation of each line that may start an entry, and more than any for the others."""
    indents = []
    for line in lines:
        bare = line.lstrip()
        starts = bare and bare[0] not in "]})" and not bare.startswith(_COMMENT)
        indents.append(len(line) - len(bare) if starts else sys.maxsize)
    return indents


def _level(indents: list[int]) -> int:
    """Return the smallest indentation of entries that is more than none, else none."""
    return min((indent for indent in set(indents) if 0 < indent < sys.maxsize), default=0)


def _above(row: int, lines: SourceLines) -> int:
    while row > 0 and lines.lines[row - 1].lstrip().startswith(_COMMENT):
        row -= 1
    return row


def _key(first: int, last: int, lines: SourceLines) -> str | None:
    for row in range(first, last + 1):
        line = lines.lines[row]
        if not lines.blank(row) and not line.lstrip().startswith(_COMMENT):
            found = _KEY.match(line)
            return found[1] if found else None
    return None


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
