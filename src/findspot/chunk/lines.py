"""The one definition of a line: what stands between two `\\n`, and nothing else.

Carriage returns and form feeds stay part of their line, so that a chunk's text is always
the file's own characters.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from findspot.core.model import Span


class SourceLines:
    """The lines of a text; any run of them is one slice of it."""

    __slots__ = ("lines", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        if not self.lines[-1]:  # a final newline ends the last line, it does not start another
            self.lines.pop()
        lengths = map(len, self.lines)
        self.starts = list(accumulate((length + 1 for length in lengths), initial=0))

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
        while first <= last and self.blank(first):
            first += 1
        while last > first and self.blank(last):
            last -= 1
        return (first, last) if first <= last else None


def span_of(first: int, last: int) -> Span:
    """Return the span of 0-based rows."""
    return Span(first + 1, last + 1)
