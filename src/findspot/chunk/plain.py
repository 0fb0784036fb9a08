"""Text without structure that we know: paragraphs, packed to an even size; or S0's splitter."""

from __future__ import annotations

from findspot.chunk.cuts import MAX_CHARS, TARGET_CHARS, Rows, pack
from findspot.chunk.draft import Draft
from findspot.chunk.lines import SourceLines

CODE_WINDOW = (4_000, 800)
DOCS_WINDOW = (8_000, 2_000)
"""Size and overlap, in characters, of the character splitter."""


def chunk_plain(lines: SourceLines, target: int = TARGET_CHARS, most: int = MAX_CHARS) -> list[Draft]:
    """Paragraphs packed to the target size; one that is too large is cut between lines."""
    units = paragraphs(0, len(lines) - 1, lines)
    return [Draft(first, last) for first, last in pack(units, lines, target, most)]


def paragraphs(first: int, last: int, lines: SourceLines) -> list[Rows]:
    """Return rows cut after each run of blank lines, which stays with the paragraph before it."""
    units: list[Rows] = []
    start = first
    for row in range(first + 1, last + 1):
        if not lines.blank(row) and lines.blank(row - 1):
            units.append((start, row - 1))
            start = row
    return [*units, (start, last)] if start <= last else units


def chunk_characters(lines: SourceLines, size: int, overlap: int) -> list[Draft]:
    """Return the recursive character splitter: paragraphs, else lines, in overlapping windows.

    Its finer separators (sentence, word, character) cut the lines that are larger than a window by
    themselves: see `longlines`. Other windows end where a line does, and repeat whole lines.
    """
    units: list[Rows] = []
    for first, last in paragraphs(0, len(lines) - 1, lines):
        whole = lines.size(first, last) <= size
        units.extend([(first, last)] if whole else ((row, row) for row in range(first, last + 1)))
    return [Draft(first, last) for first, last in _windows(units, lines, size, overlap)]


def _windows(units: list[Rows], lines: SourceLines, size: int, overlap: int) -> list[Rows]:
    windows: list[Rows] = []
    start = 0
    for index, (_, last) in enumerate(units):
        if index > start and lines.size(units[start][0], last) > size:
            windows.append((units[start][0], units[index - 1][1]))
            while start < index and not (
                lines.size(units[start][0], units[index - 1][1]) <= overlap
                and lines.size(units[start][0], last) <= size
            ):
                start += 1  # what is repeated must be small, and leave room for the new
    if units:
        windows.append((units[start][0], units[-1][1]))
    return windows
