"""Split text without structure: paragraphs packed to an even size, and lines too long for one chunk."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from findspot.chunk.splitting import MAX_CHARS, TARGET_CHARS, Draft, Rows, SourceLines, pack
from findspot.core.model import Symbol

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
    after_blank = False
    for row, line in enumerate(lines.lines[first : last + 1], first):
        if not line or line.isspace():
            after_blank = True
        elif after_blank:
            units.append((start, row - 1))
            start, after_blank = row, False
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


PIECE_CHARS = 1_500
"""What a piece aims at: as large as a section of prose, and a megabyte is less than the limit of a file."""

PROSE_SEPARATORS = (". ", "。", " ")
CODE_SEPARATORS = (" ",)
"""Where S0 cuts inside a line, best first; then between words of other characters, then anywhere."""


@dataclass(frozen=True, slots=True)
class LineLimits:
    """How long a line may be before it is cut, how long its pieces are, and where they may end."""

    most: int
    target: int
    separators: tuple[str, ...]


def cut_long_lines(drafts: Sequence[Draft], lines: SourceLines, limits: LineLimits) -> list[Draft]:
    """Return the drafts, those that hold a line above the limit replaced by pieces of it."""
    kept: list[Draft] = []
    for draft in drafts:
        if draft.text is not None or lines.size(draft.first, draft.last) <= limits.most:
            kept.append(draft)
            continue
        kept.extend(_around_long_rows(draft, lines, limits))
    return kept


def _around_long_rows(draft: Draft, lines: SourceLines, limits: LineLimits) -> Iterator[Draft]:
    """Yield the pieces of the long rows of a draft, and what stands between them."""
    start = draft.first
    for row in range(draft.first, draft.last + 1):
        if lines.size(row, row) <= limits.most:
            continue
        if lines.trim(start, row - 1):
            yield _part(draft, start, row - 1)
        if not lines.blank(row):
            yield from _pieces(_part(draft, row, row), lines, limits)
        start = row + 1
    if start <= draft.last:
        yield _part(draft, start, draft.last)


def _part(draft: Draft, first: int, last: int) -> Draft:
    """Return these rows of a draft, with the symbols that are defined there."""
    if (first, last) == (draft.first, draft.last):
        return draft
    here = tuple(symbol for symbol in draft.symbols if first < symbol.line <= last + 1)
    part = replace(draft, first=first, last=last, symbols=here)
    return part if here == draft.symbols else replace(part, signature=None, doc_comment=None)


def _pieces(draft: Draft, lines: SourceLines, limits: LineLimits) -> Iterator[Draft]:
    """Yield the pieces of a draft of one row that is too long; together they are its exact text."""
    line = lines.lines[draft.first]
    cuts = cut_columns(line, limits)
    defined = _symbols_of(draft.symbols, line, cuts)
    for place, (start, end) in enumerate(pairwise([0, *cuts, len(line)])):
        piece = replace(draft, start_column=start, end_column=end, symbols=defined[place])
        yield replace(piece, signature=None, doc_comment=None) if place else piece


def cut_columns(line: str, limits: LineLimits) -> list[int]:
    """Return where a line is cut: pieces of even size, none above the target."""
    columns: list[int] = []
    at = 0
    while (rest := len(line) - at) > limits.target:
        aim = -(-rest // -(-rest // limits.target))
        at = _cut_before(line, at + max(1, aim // 2), at + max(1, aim), limits.separators)
        columns.append(at)
    return columns


def _cut_before(line: str, low: int, high: int, separators: Sequence[str]) -> int:
    """Return the last column of `low..high` behind a separator, the first kind that occurs deciding."""
    for separator in separators:
        at = line.rfind(separator, low, high)
        if at >= 0:
            return at + len(separator)
    for at in range(high, low, -1):
        if not (line[at - 1].isalnum() or line[at - 1] == "_"):
            return at
    return high


def _symbols_of(symbols: Sequence[Symbol], line: str, cuts: Sequence[int]) -> list[tuple[Symbol, ...]]:
    """Return the symbols of each piece: those whose names it holds, in the order of the text."""
    owned: list[list[Symbol]] = [[] for _ in range(len(cuts) + 1)]
    at = 0
    for symbol in symbols:
        at = max(at, line.find(symbol.name, at))
        owned[bisect_right(cuts, at)].append(symbol)
    return [tuple(each) for each in owned]
