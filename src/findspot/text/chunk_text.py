"""The text of a chunk: the words that keyword search indexes for it, and the lines of a file that it is.

A line longer than `LONG_LINE_CHARS` is cut into several chunks, each with that line's number. The first
piece may follow whole lines (a heading); every other piece has no line but its own. So a chunk continues
the line on which the chunk before it ends if, and only if, both end on the same line.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from findspot.core.model import Span
from findspot.text.tokens import tokens

LONG_LINE_CHARS = 2_000
"""The longest line that is never cut: as large as a chunk of several lines may be."""

STEM_REPEATS = 2
"""A file's name says what it is about; it counts twice, so that a long body does not drown it."""

FOLDERS = 3
"""The last folders name the subsystem; those above are the same for the whole project."""


@lru_cache(maxsize=4096)
def path_text(path: str) -> str:
    """Return the words of a path that help to find it."""
    pure = PurePosixPath(path)
    stem = pure.name.split(".", 1)[0] or pure.name
    return " ".join([stem] * STEM_REPEATS + list(pure.parent.parts[-FOLDERS:]))


def keyword_text(path: str, breadcrumb: str | None, context: str, text: str) -> str:
    """Return the tokens that are indexed for a chunk, joined by spaces."""
    return " ".join(tokens(f"{path_text(path)} {breadcrumb or ''} {context}\n{text}"))


def holds(lines: Sequence[str], span: Span, text: str) -> bool:
    """Return whether `text` is a chunk of these lines: all of them, or a piece of the last one."""
    own, wanted = list(lines[span.start - 1 : span.end]), text.split("\n")
    if own == wanted:
        return True
    if not own or len(own) != len(wanted) or len(own[-1]) <= LONG_LINE_CHARS:
        return False
    return own[-1].startswith(wanted[-1]) and own[:-1] == wanted[:-1] if len(own) > 1 else text in own[0]
