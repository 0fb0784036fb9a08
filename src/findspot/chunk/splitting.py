"""What splitters share: lines, where they may be cut, and drafts of chunks; and splitters of plain text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, count, islice, pairwise
from operator import add
from typing import TYPE_CHECKING

from findspot.core.facts import Facts
from findspot.core.model import ChunkType, Span, Symbol
from findspot.text.tokens import LONG_LINE_CHARS

if TYPE_CHECKING:
    from tree_sitter import Node


class SourceLines:
    """The lines of a text; any run of them is one slice of it."""

    __slots__ = ("lines", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        if not self.lines[-1]:  # a final newline ends the last line, it does not start another
            self.lines.pop()
        ends = accumulate(map(len, self.lines), initial=0)
        self.starts: list[int] = list(map(add, ends, count()))  # each line before it has a newline, too

    def __len__(self) -> int:
        return len(self.lines)

    def slice(self, first: int, last: int, start_column: int = 0, end_column: int | None = None) -> str:
        """Return the text of rows `first..last`, 0-based and inclusive, without the final newline.

        It begins at a column of the first row, and ends before one of the last.
        """
        end = self.starts[last + 1] - 1 if end_column is None else self.starts[last] + end_column
        return self.text[self.starts[first] + start_column : end]

    def of(self, span: Span) -> str:
        """Return the text of a span: what every chunk's text is, unless it is a piece of a long line."""
        return self.slice(span.start - 1, span.end - 1)

    def size(self, first: int, last: int) -> int:
        """Return how many characters rows `first..last` hold."""
        return self.starts[last + 1] - self.starts[first] - 1

    def blank(self, row: int) -> bool:
        line = self.lines[row]
        return not line or line.isspace()

    def row_at(self, offset: int) -> int:
        """Return the row that holds the character at `offset`."""
        return bisect_right(self.starts, offset) - 1

    def trim(self, first: int, last: int) -> tuple[int, int] | None:
        """Return rows without their blank edges; None when nothing else is there."""
        lines = self.lines
        while first <= last and (not lines[first] or lines[first].isspace()):
            first += 1
        while last > first and (not lines[last] or lines[last].isspace()):
            last -= 1
        return (first, last) if first <= last else None


def span_of(first: int, last: int) -> Span:
    """Return the span of 0-based rows."""
    return Span(first + 1, last + 1)


@dataclass(slots=True)
class Draft:
    """Rows `first..last` (0-based, inclusive) and what is known about them."""

    first: int
    last: int
    kind: str = "block"
    symbols: tuple[Symbol, ...] = ()
    signature: str | None = None
    breadcrumb: str | None = None
    doc_comment: str | None = None
    context: str = ""
    chunk_type: ChunkType | None = None
    language: str | None = None
    text: str | None = None
    """Generated text, of outlines only; everything else is the file's own lines."""
    start_column: int = 0
    """Where the text begins in its first row; more than 0 only in later pieces of one long line."""
    end_column: int | None = None
    """Where the text ends in its last row, for pieces of a long line; None for the row's end."""


@dataclass(frozen=True, slots=True)
class Split:
    """What a splitter gives: the drafts of a file, and where it is code, what it says about names."""

    drafts: list[Draft]
    facts: Facts | None = None


TARGET_CHARS = 1_000
"""What a chunk aims at: a screen of code, and within what small models read whole."""

MAX_CHARS = LONG_LINE_CHARS
"""No chunk is larger; a line that is longer is cut into several."""

MAX_VISITED = 20_000
"""Nodes looked at for one cut; past that the rest is cut between lines."""

Rows = tuple[int, int]


def cut(node: Node, first: int, last: int, lines: SourceLines) -> list[Rows]:
    """Return rows `first..last` in pieces of about the target size, cut before statements of `node`."""
    return pack(rows_between(statement_rows(node, first, last, lines), first, last), lines)


def cut_lines(first: int, last: int, lines: SourceLines) -> list[Rows]:
    """Return rows in pieces of about the target size, cut between lines, before blank ones if possible."""
    starts = [row for row in range(first + 1, last + 1) if lines.blank(row - 1) and not lines.blank(row)]
    return pack(rows_between(starts, first, last), lines)


def pack(
    units: Iterable[Rows], lines: SourceLines, target: int = TARGET_CHARS, most: int = MAX_CHARS
) -> list[Rows]:
    """Neighbouring units joined into pieces of even size near the target, none above `most`."""
    starts = lines.starts
    small: list[Rows] = []
    for unit in units:
        if starts[unit[1] + 1] - starts[unit[0]] - 1 <= most:
            small.append(unit)
        else:
            small.extend(_line_groups(unit, starts, most * 3 // 4))
    if not small:
        return []
    total = lines.size(small[0][0], small[-1][1])
    aim = total / max(1, round(total / target))
    packed: list[Rows] = []
    first, last = small[0]
    for start, end in islice(small, 1, None):
        size, added = starts[last + 1] - starts[first] - 1, starts[end + 1] - starts[start] - 1
        if size + added + 1 > most or size + added / 2 > aim:
            packed.append((first, last))
            first = start
        last = end
    if packed and lines.size(first, last) < aim / 4 and lines.size(packed[-1][0], last) <= most:
        first = packed.pop()[0]  # a short tail says little alone
    return [*packed, (first, last)]


def _line_groups(unit: Rows, starts: list[int], most: int) -> list[Rows]:
    """Return a unit in groups of lines, none above `most` unless it is one line."""
    first, last = unit
    parts: list[Rows] = []
    for row in range(first + 1, last + 1):
        if starts[row + 1] - starts[first] - 1 > most:
            parts.append((first, row - 1))
            first = row
    return [*parts, (first, last)]


def rows_between(starts: Iterable[int], first: int, last: int) -> list[Rows]:
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
            (start, column), (end, _) = child.start_point, child.end_point
            if end < first or start > last:
                continue
            if start > first and start != glued and child.is_named and _starts_line(start, column, lines):
                found.add(start)
            # A comment stays with what follows it.
            glued = end + 1 if "comment" in child.type else -1
            if end > start and child.child_count and _clipped(start, end, first, last, lines) > TARGET_CHARS:
                pending.append(child)
    return sorted(found)


def _starts_line(row: int, column: int, lines: SourceLines) -> bool:
    before = lines.lines[row][:column] if row < len(lines) else "x"
    return not before or before.isspace()


def _clipped(start: int, end: int, first: int, last: int, lines: SourceLines) -> int:
    return lines.size(max(start, first), min(end, last, len(lines) - 1))


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
