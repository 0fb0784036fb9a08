"""The chunks of chunk files, read from disk; search options and results of `cortex_search`."""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO, runtime_checkable

import numpy as np

from findspot.core.errors import FindspotError
from findspot.core.files import Folder
from findspot.core.model import ChunkType
from findspot.embed.embedder import Vectors

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


_READ_CHARS = 1 << 16
MAX_CHUNK_CHARS = 32 << 20
MAX_FILE_BYTES = 8 << 30
_NOT_BLANK = re.compile(r"[^ \t\r\n]")


class MalformedError(Exception):
    """A file that is not a chunk file; the message says why."""


_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class FileHead:
    """The metadata of a chunk file."""

    model: str
    dimensions: int


class ChunkFile:
    """One file: iterate over its chunks first, then read its head."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._metadata: Any = None
        self._length = 0

    def chunks(self) -> Iterator[tuple[ContextChunk, Vectors]]:
        """Yield each chunk with its vector; raise `MalformedError` if anything is wrong."""
        try:
            with self._open() as source:
                for position, value in enumerate(self._values(_Cursor(source))):
                    yield _chunk(position, value, self._metadata), self._vector(position, value)
        except (ValueError, RecursionError) as error:  # also a number of thousands of digits
            raise MalformedError(f"it is not JSON text ({type(error).__name__})") from error

    def _open(self) -> TextIO:
        """Open the file; links, which a repository may contain, and FIFOs are refused."""
        with Folder.open(self._path.parent) as folder:
            source = folder.open_file(self._path.name)
        if os.fstat(source.fileno()).st_size > MAX_FILE_BYTES:
            source.close()
            raise MalformedError(f"it is larger than {MAX_FILE_BYTES >> 30} GB")
        return io.TextIOWrapper(source, encoding="utf-8")

    def head(self) -> FileHead:
        """Return the file's metadata, checked against the chunks that were read."""
        found = self._metadata
        if not isinstance(found, dict):
            raise MalformedError("it has no _metadata")
        dimensions = found.get("dimensions", self._length)
        if not isinstance(dimensions, int) or isinstance(dimensions, bool) or dimensions < 0:
            raise MalformedError("_metadata.dimensions is not a number")
        if self._length and dimensions != self._length:
            raise MalformedError(f"_metadata says {dimensions} dimensions, its chunks have {self._length}")
        return FileHead(str(found.get("model", "")), dimensions)

    def _values(self, cursor: _Cursor) -> Iterator[Any]:
        """Yield the chunks of the top-level object; store its metadata, and skip its other values."""
        cursor.expect("{")
        seen = False
        while not cursor.accept("}"):
            key = cursor.value()
            cursor.expect(":")
            if key == "chunks" and not seen:
                seen = True
                yield from self._items(cursor)
            elif (value := cursor.value()) is not None and key == "_metadata":
                self._metadata = value
            if not cursor.accept(",") and cursor.peek() != "}":
                raise MalformedError("it is cut off or not JSON")
        if not seen:
            raise MalformedError("it has no list of chunks")

    @staticmethod
    def _items(cursor: _Cursor) -> Iterator[Any]:
        cursor.expect("[")
        while not cursor.accept("]"):
            yield cursor.value()
            if not cursor.accept(",") and cursor.peek() != "]":
                raise MalformedError("it is cut off or not JSON")

    def _vector(self, position: int, value: dict[str, Any]) -> Vectors:
        numbers = value.get("embedding")
        try:
            vector = np.array(numbers, np.float32)
        except (ValueError, TypeError, OverflowError):
            vector = np.empty((0, 0), np.float32)
        if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
            raise MalformedError(f"chunk {position}: its embedding is not a list of numbers")
        if self._length and vector.size != self._length:
            raise MalformedError(
                f"chunk {position}: {vector.size} dimensions where others have {self._length}"
            )
        self._length = vector.size
        length = math.sqrt(float(np.dot(vector.astype(np.float64), vector.astype(np.float64))))
        return vector / np.float32(length) if length else vector


class _Cursor:
    """A position in a JSON text, of which only a window is in memory."""

    def __init__(self, source: TextIO) -> None:
        self._source = source
        self._window = ""
        self._at = 0
        self._ended = False

    def peek(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while True:
            found = _NOT_BLANK.search(self._window, self._at)
            if found:
                self._at = found.start()
                return found.group()
            self._at = len(self._window)
            if not self._read(_READ_CHARS):
                return ""

    def accept(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def expect(self, character: str) -> None:
        if not self.accept(character):
            raise MalformedError("it is cut off or not JSON")

    def value(self) -> Any:
        """Return the value at the current position, reading on until it is complete."""
        self.peek()
        more = _READ_CHARS
        while True:
            try:
                value, end = _DECODER.raw_decode(self._window, self._at)
                if end < len(self._window) or not self._read(more):
                    self._at = end
                    return value
            except json.JSONDecodeError:
                if len(self._window) - self._at > MAX_CHUNK_CHARS:
                    raise MalformedError("a chunk is too large") from None
                if not self._read(more):
                    raise MalformedError("it is cut off or not JSON") from None
            more *= 2

    def _read(self, characters: int) -> bool:
        """Move the window on; return False at the end of the file."""
        piece = "" if self._ended else self._source.read(characters)
        self._ended = not piece
        if piece:
            self._window = self._window[self._at :] + piece
            self._at = 0
        return bool(piece)


def _chunk(position: int, value: Any, metadata: Any) -> ContextChunk:
    if not isinstance(value, dict):
        raise MalformedError(f"chunk {position} is no object")
    default_type = metadata.get("chunk_type", "") if isinstance(metadata, dict) else ""
    fields = {
        "id": value.get("id"),
        "text": value.get("text"),
        "title": value.get("title", ""),
        "chunk_type": value.get("chunk_type") or default_type,
        "created_at": value.get("created_at", ""),
        "updated_at": value.get("updated_at", ""),
    }
    for name, text in fields.items():
        if not isinstance(text, str) or (name in ("id", "chunk_type") and not text):
            raise MalformedError(f"chunk {position}: its {name} is missing or no text")
    tags, about = value.get("tags") or [], value.get("metadata") or {}
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise MalformedError(f"chunk {position}: its tags are no list of texts")
    if not isinstance(about, dict):
        raise MalformedError(f"chunk {position}: its metadata is no object")
    return ContextChunk(tags=tuple(tags), metadata=about, **fields)
