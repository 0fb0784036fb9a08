"""Chunks, search options and results of `cortex_search`, and the protocol of a searcher."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from findspot.core.errors import FindspotError
from findspot.core.model import ChunkType

DEFAULT_LIMIT = 15
MAX_LIMIT = 100

FILE_NAMES = {
    ChunkType.DOCUMENTATION: "doc-chunks.json",
    ChunkType.SYMBOLS: "code-symbols.json",
    ChunkType.DEFINITIONS: "code-definitions.json",
    ChunkType.DATA: "code-data.json",
}
"""Chunk type → name of its file."""

CONSTANT = "constant"
"""The tag of a chunk that defines a constant or an enumeration: it is data, whatever else it defines."""

CONSTANT_KINDS = ("constant", "enum")

FILE_VERSION = "2.0.0"


class ChunkFilesError(FindspotError):
    """Chunk files that cannot be served."""

    code = "INDEX_CORRUPT"


@dataclass(frozen=True, slots=True)
class ContextChunk:
    """A passage of a project as an answer shows it, without its embedding."""

    id: str
    chunk_type: str
    title: str
    text: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: str = ""
    updated_at: str = ""

    def as_object(self) -> dict[str, Any]:
        """Return the chunk as an answer shows it."""
        return {
            "id": self.id,
            "chunk_type": self.chunk_type,
            "title": self.title,
            "text": self.text,
            "tags": list(self.tags),
            "metadata": dict(self.metadata),
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The limits of a search; a chunk must have all the tags and one of the chunk types."""

    limit: int = DEFAULT_LIMIT
    min_score: float = 0.0
    tags: tuple[str, ...] = ()
    chunk_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A chunk and how near it is: the cosine, from -1 to 1."""

    chunk: ContextChunk
    combined_score: float


class FoundChunks(list[SearchResult]):
    """Results with a warning."""

    def __init__(self, results: Iterable[SearchResult] = (), warning: str | None = None) -> None:
        super().__init__(results)
        self.warning = warning


class ContextSearcher(Protocol):
    """Anything that can answer `cortex_search`; called from several threads at once."""

    def query(self, query: str, options: SearchOptions) -> Sequence[SearchResult]:
        """Return the nearest chunks, best first; raise a `FindspotError` if that fails."""


@runtime_checkable
class ReportsStats(Protocol):
    """A searcher that can also describe what it searches."""

    def stats(self) -> Mapping[str, Any]:
        """Return the figures for `include_stats`."""
