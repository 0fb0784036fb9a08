"""Highlights: short excerpts around the words that a query matched."""

from __future__ import annotations

from collections.abc import Collection

from findspot.documents.tokenizer import Tokenizer

MAX_HIGHLIGHTS = 3
AROUND_CHARS = 30
CUT = "..."


def highlights(content: str, tokens: Collection[str], tokenizer: Tokenizer) -> tuple[str, ...]:
    """The first excerpts around a token that the one before does not show yet."""
    wanted = frozenset(tokens)
    excerpts: list[str] = []
    shown_to = -1
    for token, start, end in tokenizer.spans(content):
        if token not in wanted or start < shown_to:
            continue
        first, last = max(0, start - AROUND_CHARS), min(len(content), end + AROUND_CHARS)
        before, after = CUT if first else "", CUT if last < len(content) else ""
        excerpts.append(f"{before}{content[first:last]}{after}")
        shown_to = last
        if len(excerpts) == MAX_HIGHLIGHTS:
            break
    return tuple(excerpts)
