"""What a store takes and returns: plain records, the numbers of chunks, and the store's own error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from findspot.core.errors import IndexCorruptError
from findspot.core.model import Chunk, ChunkType, SourceFile, Span, Stamp, Symbol

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
    return name if name.isidentifier() else _QUALIFIER.sub("", name) or name


class DerivedDamagedError(IndexCorruptError):
    """Only what is derived is damaged: it can be rebuilt from the database."""


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


ChunkRow = tuple[Any, ...]
"""A chunk as its table has it, with its place in the file for a number."""

SymbolRow = tuple[str, int, str, str, int]
"""A symbol as its table has it, with the place of its chunk for a number."""


class RecordRows(NamedTuple):
    """The chunks of a file revision as rows: plain values, which processes exchange in little time."""

    chunks: list[ChunkRow]
    symbols: list[SymbolRow]
    keywords: list[str]
    """The keywords of each chunk."""

    @classmethod
    def of(cls, chunks: Sequence[ChunkRecord]) -> RecordRows:
        """Return the rows of chunks in the order of their places; an outline has a place of its own."""
        rows = cls([], [], [item.keywords for item in chunks])
        for position, item in enumerate(chunks):
            chunk = item.chunk
            ordinal = OUTLINE_ORDINAL if chunk.chunk_type is ChunkType.SYMBOLS else position
            rows.chunks.append(_chunk_row(ordinal, item))
            for name, kind, line in ((symbol.name, symbol.kind, symbol.line) for symbol in chunk.symbols):
                rows.symbols.append((last_name(name).lower(), ordinal, name, kind, line))
        return rows

    def with_vectors(self, known: Mapping[bytes, tuple[float, bytes]]) -> RecordRows:
        """Return the rows with these vectors, by key, where they have none."""
        return self._replace(
            chunks=[
                (*row[:-2], *known[row[-3]]) if not row[-1] and row[-3] in known else row
                for row in self.chunks
            ]
        )

    def lacking(self, path: str) -> dict[bytes, Chunk]:
        """Return, by key, what a model reads of the chunks whose vectors are still to be made.

        Such a vector has no bytes. It is None where the store has one for the file already.
        """
        return {
            row[-3]: embedded_chunk(path, row[7], row[6], row[12]) for row in self.chunks if row[-1] == b""
        }


def _chunk_row(ordinal: int, item: ChunkRecord) -> ChunkRow:
    chunk = item.chunk
    return (
        ordinal,
        chunk.span.start,
        chunk.span.end,
        chunk.chunk_type.value,
        chunk.kind,
        chunk.language,
        chunk.text,
        "\n".join([symbol.name for symbol in chunk.symbols]),
        chunk.signature,
        chunk.breadcrumb,
        chunk.doc_comment,
        "\n".join(chunk.tags),
        chunk.context,
        item.key,
        item.scale,
        item.vector,
    )


def lines_of(joined: str) -> tuple[str, ...]:
    """Return what is stored as one a line."""
    return tuple(joined.split("\n")) if joined else ()


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One revision of a file, with all its chunks and, of code, what it says about names."""

    file: SourceFile
    sha256: str
    rows: RecordRows
    facts: bytes | None = None
    names: tuple[tuple[str, int, int], ...] = ()


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


def embedded_chunk(path: str, names: str, text: str, context: str) -> Chunk:
    """Return as much of a stored chunk as a model reads."""
    return Chunk(
        path=path,
        span=Span(1, 1),
        text=text,
        chunk_type=ChunkType.DEFINITIONS,
        kind="",
        language="",
        symbols=tuple(Symbol(name, "", 0) for name in lines_of(names)),
        context=context,
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
