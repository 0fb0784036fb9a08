"""What a splitter says about one piece of a file, before it becomes a `Chunk`."""

from __future__ import annotations

from dataclasses import dataclass

from findspot.core.facts import Facts
from findspot.core.model import ChunkType, Symbol


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
