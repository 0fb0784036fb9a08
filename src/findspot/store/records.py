"""What a store takes and returns: plain records, the numbers of chunks, and the store's own error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from findspot.core.errors import IndexCorruptError
from findspot.core.facts import NameCount
from findspot.core.model import Chunk, ChunkType, SourceFile, Span, Stamp, Symbol, pickled_by_fields

ORDINAL_BITS = 12
"""A chunk's number is its file revision's number followed by its place in the file.

So a chunk's file is known from its number alone, in SQLite, in the keyword index and in the
vector segments, and one set of live file numbers says everywhere what is current.
"""

_QUALIFIER = re.compile(r"^.*(?:\.|::|\\|#)(?=[^.:\\#])")

OUTLINE_ORDINAL = (1 << ORDINAL_BITS) - 1
"""The ordinal of a file's outline, so that a scan for lines can tell it by its number."""


def chunk_number(file_id: int, ordinal: int) -> int:
    """Return the number of a chunk from its file revision and its place in the file."""
    return (file_id << ORDINAL_BITS) | ordinal


def chunk_range(file_id: int) -> tuple[int, int]:
    """Return the lowest and highest number that a chunk of this file revision can have."""
    first = file_id << ORDINAL_BITS
    return first, first | OUTLINE_ORDINAL


def last_name(name: str) -> str:
    """Return what people call `Phoenix.Router` or `ns::Type`: its last part."""
    return _QUALIFIER.sub("", name) or name


class DerivedDamagedError(IndexCorruptError):
    """Only what is derived is damaged: it can be rebuilt from the database."""


@pickled_by_fields
@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk ready to be stored: with its keywords, its embedding key and its vector.

    `vector` is None when the chunk's key was already known for the file: the stored vector is kept.
    """

    chunk: Chunk
    keywords: str
    key: bytes
    scale: float = 0.0
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One revision of a file, with all its chunks and, of code, what it says about names."""

    file: SourceFile
    sha256: str
    chunks: tuple[ChunkRecord, ...]
    facts: bytes | None = None
    names: tuple[NameCount, ...] = ()


class StoredFile(NamedTuple):
    """What the index knows about a file it holds; a tuple, since all of them are read at every turn."""

    id: int
    path: str
    corpus: str
    language: str
    size: int
    mtime_ns: int
    sha256: str
    chunks: int
    ctime_ns: int = 0
    inode: int = 0

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.size, self.mtime_ns, self.ctime_ns, self.inode)

    @property
    def described(self) -> tuple[object, ...]:
        """All that is true of the file on every machine."""
        return self[:8]


@dataclass(frozen=True, slots=True)
class KnownFiles:
    """All that the index knows of files: those it holds, and those it read and has a Skip for."""

    indexed: dict[str, StoredFile]
    left_out: dict[str, Stamp]
    """By path, what the file was like when it was read. Of an indexed file only a part is left out."""


class EmbeddedFields(NamedTuple):
    """All of a stored chunk that a model reads."""

    number: int
    path: str
    names: tuple[str, ...]
    text: str
    context: str

    def as_chunk(self) -> Chunk:
        """Return as much of the chunk as a model reads."""
        return Chunk(
            path=self.path,
            span=Span(1, 1),
            text=self.text,
            chunk_type=ChunkType.DEFINITIONS,
            kind="",
            language="",
            symbols=tuple(Symbol(name, "", 0) for name in self.names),
            context=self.context,
        )


class Definition(NamedTuple):
    """A name and the chunk that defines it."""

    name: str
    """Lower-cased, without qualifiers."""
    number: int
    kind: str
    display: str


class Extent(NamedTuple):
    """The lines of a chunk, its kind, and the names that it defines."""

    start_line: int
    end_line: int
    kind: str
    names: str


class SymbolPlace(NamedTuple):
    """A name as it is written, and the line that defines it."""

    name: str
    kind: str
    file_id: int
    line: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as a search reads it."""

    number: int
    path: str
    language: str
    start_line: int
    end_line: int
    chunk_type: str
    kind: str
    text: str
    symbols: tuple[str, ...]
    signature: str | None
    breadcrumb: str | None
    doc_comment: str | None
    tags: tuple[str, ...]
