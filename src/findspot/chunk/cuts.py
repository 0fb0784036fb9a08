"""Where a run of rows may be cut: before statements, else between lines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from findspot.chunk.lines import SourceLines
from findspot.text.passage import LONG_LINE_CHARS

if TYPE_CHECKING:
    from tree_sitter import Node

TARGET_CHARS = 1_000
"""What a chunk aims at: a screen of code, and within what small models read whole."""

MAX_CHARS = LONG_LINE_CHARS
"""No chunk is larger; a line that is longer is cut into several."""

MAX_VISITED = 20_000
"""Nodes looked at for one cut; past that the rest is cut between lines."""

Rows = tuple[int, int]


def cut(node: Node, first: int, last: int, lines: SourceLines) -> list[Rows]:
    """Return rows `first..last` in pieces of about the target size, cut before statements of `node`."""
    return pack(_units(statement_rows(node, first, last, lines), first, last), lines)


def cut_lines(first: int, last: int, lines: SourceLines) -> list[Rows]:
    """Return rows in pieces of about the target size, cut between lines, before blank ones if possible."""
    starts = [row for row in range(first + 1, last + 1) if lines.blank(row - 1) and not lines.blank(row)]
    return pack(_units(starts, first, last), lines)


def pack(
    units: Iterable[Rows], lines: SourceLines, target: int = TARGET_CHARS, most: int = MAX_CHARS
) -> list[Rows]:
    """Neighbouring units joined into pieces of even size near the target, none above `most`."""
    small = [part for unit in units for part in _within(unit, lines, most)]
    if not small:
        return []
    total = lines.size(small[0][0], small[-1][1])
    aim = total / max(1, round(total / target))
    packed: list[Rows] = []
    first, last = small[0]
    for start, end in small[1:]:
        size, added = lines.size(first, last), lines.size(start, end)
        if size + added + 1 > most or size + added / 2 > aim:
            packed.append((first, last))
            first = start
        last = end
    if packed and lines.size(first, last) < aim / 4 and lines.size(packed[-1][0], last) <= most:
        first = packed.pop()[0]  # a short tail says little alone
    return [*packed, (first, last)]


def _within(unit: Rows, lines: SourceLines, most: int) -> list[Rows]:
    """Return a unit as it is, or in line groups where it is larger than a chunk may be."""
    first, last = unit
    if lines.size(first, last) <= most:
        return [unit]
    parts: list[Rows] = []
    start = first
    for row in range(first + 1, last + 1):
        if lines.size(start, row) > most * 3 // 4:
            parts.append((start, row - 1))
            start = row
    return [*parts, (start, last)]


def _units(starts: Iterable[int], first: int, last: int) -> list[Rows]:
    """Return rows between consecutive starts."""
    cuts = [first, *(row for row in starts if first < row <= last), last + 1]
    return [(start, after - 1) for start, after in pairwise(cuts) if after > start]


def statement_rows(node: Node, first: int, last: int, lines: SourceLines) -> list[int]:
    """Return rows where a statement starts, looking inside those that are larger than the target."""
    found: set[int] = set()
    pending = [node]
    visited = 0
    while pending and visited < MAX_VISITED:
        glued = -1
        for child in pending.pop().children:
            visited += 1
            start, end = child.start_point[0], child.end_point[0]
            if end < first or start > last:
                continue
            if start > first and start != glued and _starts_line(child, lines):
                found.add(start)
            # A comment stays with what follows it.
            glued = end + 1 if "comment" in child.type else -1
            if end > start and child.child_count and _clipped(start, end, first, last, lines) > TARGET_CHARS:
                pending.append(child)
    return sorted(found)


def _starts_line(node: Node, lines: SourceLines) -> bool:
    """Return whether nothing but space stands before a node, and it is more than a closing bracket."""
    row, column = node.start_point
    before = lines.lines[row][:column] if row < len(lines) else "x"
    return node.is_named and (not before or before.isspace())


def _clipped(start: int, end: int, first: int, last: int, lines: SourceLines) -> int:
    return lines.size(max(start, first), min(end, last, len(lines) - 1))
