"""Which lines of a file a chunk's text is: whole lines, or a piece of one long line.

A line longer than `LONG_LINE_CHARS` is cut into several chunks, each with that line's number. The first
piece may follow whole lines (a heading); every other piece has no line but its own. So a chunk continues
the line on which the chunk before it ends if, and only if, both end on the same line.
"""

from __future__ import annotations

from collections.abc import Sequence

from findspot.core.model import Span

LONG_LINE_CHARS = 2_000
"""The longest line that is never cut: as large as a chunk of several lines may be."""


def holds(lines: Sequence[str], span: Span, text: str) -> bool:
    """Return whether `text` is a chunk of these lines: all of them, or a piece of the last one."""
    own, wanted = list(lines[span.start - 1 : span.end]), text.split("\n")
    if own == wanted:
        return True
    if not own or len(own) != len(wanted) or len(own[-1]) <= LONG_LINE_CHARS:
        return False
    return own[-1].startswith(wanted[-1]) and own[:-1] == wanted[:-1] if len(own) > 1 else text in own[0]
