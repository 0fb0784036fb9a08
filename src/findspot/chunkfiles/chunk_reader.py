"""The chunks of chunk files, read from disk; search options and results of `cortex_search`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from findspot.core.errors import FindspotError
from findspot.core.files import ContentError, TooLargeError, parse_json, read_below
from findspot.core.model import ChunkType
from findspot.embed.embedder import Vectors
from findspot.text.json_text import with_whole_characters

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
        values = {name: getattr(self, name) for name in self.__slots__}
        return values | {"tags": list(self.tags), "metadata": dict(self.metadata)}


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
    """Anything that can answer `cortex_search`; called from several threads at once.

    A method `stats`, if it has one, returns the figures for `include_stats`.
    """

    def query(self, query: str, options: SearchOptions) -> Sequence[SearchResult]:
        """Return the nearest chunks, best first; raise a `FindspotError` if that fails."""


MAX_FILE_BYTES = 1 << 30


class MalformedError(Exception):
    """A file that is not a chunk file; the message says why."""


@dataclass(frozen=True, slots=True)
class FileHead:
    """The metadata of a chunk file."""

    model: str
    dimensions: int


def read_chunk_file(path: Path) -> tuple[FileHead, list[tuple[ContextChunk, Vectors]]]:
    """Return the head of a file, and its chunks with their unit vectors.

    Links, which a repository may contain, and FIFOs are refused.
    """
    try:
        data = with_whole_characters(read_below(path.parent, path.name, MAX_FILE_BYTES))
        value = parse_json(data, _with_vector)
    except TooLargeError:
        raise MalformedError(f"it is larger than {MAX_FILE_BYTES >> 30} GB") from None
    except ContentError as error:
        raise MalformedError(f"it is {error}") from error
    metadata, listed = (
        (value.get("_metadata"), value.get("chunks")) if isinstance(value, dict) else (None,) * 2
    )
    if not isinstance(listed, list):
        raise MalformedError("it has no list of chunks")
    if not isinstance(metadata, dict):
        raise MalformedError("it has no _metadata")
    read = [(_chunk(at, each, metadata), _vector(at, each)) for at, each in enumerate(listed)]
    sizes = {vector.size for _, vector in read}
    dimensions = metadata.get("dimensions", max(sizes, default=0))
    if not isinstance(dimensions, int) or isinstance(dimensions, bool) or dimensions < 0:
        raise MalformedError("_metadata.dimensions is not a number")
    if sizes - {dimensions}:
        found = ", ".join(map(str, sorted(sizes)))
        raise MalformedError(f"_metadata says {dimensions} dimensions, its chunks have {found}")
    return FileHead(str(metadata.get("model", "")), dimensions), read


def _with_vector(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its embedding as an array: its numbers would take ten times the memory."""
    if isinstance(value.get("embedding"), list):
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            value["embedding"] = np.array(value["embedding"], np.float32)
    return value


def _vector(position: int, value: dict[str, Any]) -> Vectors:
    row: Any = value.get("embedding")
    if not isinstance(row, np.ndarray) or row.ndim != 1 or not row.size or not np.isfinite(row).all():
        raise MalformedError(f"chunk {position}: its embedding is not a list of numbers")
    vector: Vectors = row
    length = np.linalg.norm(vector.astype(np.float64))
    return vector / np.float32(length) if length else vector


_TEXTS = ("id", "text", "title", "chunk_type", "created_at", "updated_at")
_NEEDED = ("id", "chunk_type")


def _chunk(position: int, value: Any, metadata: dict[str, Any]) -> ContextChunk:
    if not isinstance(value, dict):
        raise MalformedError(f"chunk {position} is no object")
    given = {"title": "", "created_at": "", "updated_at": ""} | value
    given["chunk_type"] = value.get("chunk_type") or metadata.get("chunk_type", "")
    texts: dict[str, Any] = {name: given.get(name) for name in _TEXTS}
    for name, text in texts.items():
        if not isinstance(text, str) or (name in _NEEDED and not text):
            raise MalformedError(f"chunk {position}: its {name} is missing or no text")
    tags, about = value.get("tags") or [], value.get("metadata") or {}
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise MalformedError(f"chunk {position}: its tags are no list of texts")
    if not isinstance(about, dict):
        raise MalformedError(f"chunk {position}: its metadata is no object")
    return ContextChunk(tags=tuple(tags), metadata=about, **texts)
