"""What the tables of a published index hold: their fields, and the rows of files in them.

The two tables of chunks are those of the specification, with our fields next to its own. `packed` holds all
that a search reads of a chunk, so that one read brings it: its vector, its words, and the rest as JSON.

LANCE_FORMAT
    1, 2  0.2.0   rows to be copied
    3     0.3.0   rows to be searched where they lie
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from struct import Struct
from struct import error as StructError  # noqa: N812 - the module names it in lower case
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from findspot.core.errors import IndexCorruptError
from findspot.core.model import Corpus, Symbol, chunk_id
from findspot.store.records import ChunkRow, FileRecord, StoredChunk, StoredFile, chunk_number, lines_of
from findspot.store.word_counts import count_words

if TYPE_CHECKING:
    import pyarrow as pa

LANCE_FORMAT = 4

CODE_DATABASE = "index.lancedb"
DOCS_DATABASE = "docs.lancedb"
CODE_TABLE = "project_docs"
DOCS_TABLE = "project_docs_prose"
FILES_TABLE = "files"
DEFINITIONS_TABLE = "definitions"
NAMES_TABLE = "names"
REFERENCES_TABLE = "references"
EDGES_TABLE = "edges"
SKIPS_TABLE = "skips"
WORDS_TABLE = "words"
COMMITS_TABLE = "commits"
HEAD_TABLE = "findspot_head"

CHUNK_TABLES = {Corpus.CODE.value: CODE_TABLE, Corpus.DOCS.value: DOCS_TABLE}
BY_FILE = {
    CODE_TABLE: "file_id",
    DOCS_TABLE: "file_id",
    FILES_TABLE: "id",
    DEFINITIONS_TABLE: "file_id",
    NAMES_TABLE: "file_id",
    REFERENCES_TABLE: "file_id",
    EDGES_TABLE: "file_id",
}
"""The tables whose rows belong to files, and the field that says to which."""
NUMBERED = {**BY_FILE, COMMITS_TABLE: "number"}
"""The tables whose rows are removed by a number, and the field that has it."""
TABLES = (*NUMBERED, SKIPS_TABLE, WORDS_TABLE)

KEYS = {
    CODE_TABLE: ("number",),
    DOCS_TABLE: ("number",),
    DEFINITIONS_TABLE: ("name", "file_id"),
    NAMES_TABLE: ("name",),
    REFERENCES_TABLE: ("file_id",),
    EDGES_TABLE: ("target",),
    COMMITS_TABLE: ("number",),
}
"""The fields by which rows are looked up."""

_FIELDS = {
    FILES_TABLE: "id:int64 path corpus language size:int64 sha256 chunks:int64 edges:int64",
    DEFINITIONS_TABLE: "name file_id:int64 number:int64 display kind line:int32",
    NAMES_TABLE: "name file_id:int64 defined:int32 used:int32",
    REFERENCES_TABLE: "file_id:int64 facts:binary sources:binary",
    EDGES_TABLE: "target:int64 file_id:int64 data:binary",
    SKIPS_TABLE: "path reason detail size:int64 mtime_ns:int64",
    WORDS_TABLE: "corpus chunks:int64 tokens:int64 hashes:binary counts:binary",
    COMMITS_TABLE: "number:int64 hash time:int64 author subject body removed changes vector:binary "
    "explained:int32 words:binary length:int32",
    HEAD_TABLE: "generation:int64 format:int64 state",
}
SPECIFIED_DIMENSIONS = 384
"""Of a table that is still empty; the first rows bring their own."""

_BATCH_CHUNKS = 4_000
"""Rows that are made at a time: some ten megabytes."""


def database_of(table: str) -> str:
    return DOCS_DATABASE if table == DOCS_TABLE else CODE_DATABASE


def schema_of(table: str, dimensions: int = SPECIFIED_DIMENSIONS) -> pa.Schema:
    import pyarrow as pa

    if table in _FIELDS:
        return _schema(_FIELDS[table])
    return pa.schema(
        [
            *_schema("id path text"),
            ("vector", pa.list_(pa.float32(), dimensions)),
            *_schema("start_line:int32 end_line:int32 content_hash"),
            *_schema("number:int64 file_id:int64 chunk_type tags keywords packed:binary"),
        ]
    )


def _schema(fields: str) -> pa.Schema:
    """From `name` or `name:type`; without a type it is text."""
    import pyarrow as pa

    named = (field.partition(":")[::2] for field in fields.split())
    return pa.schema([(name, pa.type_for_alias(kind or "string")) for name, kind in named])


def table_of(name: str, rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Return rows, given as the values of their fields, as a table of that name."""
    import pyarrow as pa

    schema = schema_of(name)
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


class NumberedFile(NamedTuple):
    """A file with the number that the tables know it by, and a digest of its edges."""

    number: int
    file: StoredFile
    edges: int

    @property
    def content(self) -> tuple[object, ...]:
        return *self.file[1:4], *self.file[6:8], self.edges


Edges = Callable[[int], tuple[bytes, dict[int, bytes]]]
"""Returns the edges of a file: where they start, and their data by target."""


def file_batches(
    files: Sequence[NumberedFile], record_of: Callable[[StoredFile], FileRecord], edges_of: Edges
) -> Iterator[tuple[str, pa.Table]]:
    """Yield all rows of files, in batches of one table each."""
    for part in parts_of(files, _BATCH_CHUNKS):
        records = [(each.number, record_of(each.file)) for each in part]
        for corpus, table in CHUNK_TABLES.items():
            held = [(number, record) for number, record in records if record.file.corpus == corpus]
            if any(record.rows.chunks for _, record in held):
                yield table, _chunk_rows(held)
        yield from _graph_rows(
            [(each, record) for each, (_, record) in zip(part, records, strict=True)], edges_of
        )
        described = ((each.number, *each.file[1:5], *each.file[6:8], each.edges) for each in part)
        yield FILES_TABLE, table_of(FILES_TABLE, described)


def parts_of(files: Iterable[NumberedFile], chunks: int) -> Iterator[list[NumberedFile]]:
    part: list[NumberedFile] = []
    held = 0
    for each in files:
        part.append(each)
        held += each.file.chunks + 1
        if held >= chunks:
            yield part
            part, held = [], 0
    if part:
        yield part


def _graph_rows(
    records: Sequence[tuple[NumberedFile, FileRecord]], edges_of: Edges
) -> Iterator[tuple[str, pa.Table]]:
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _FIELDS}
    for (number, file, _), record in records:
        rows[DEFINITIONS_TABLE] += [
            (name, number, chunk_number(number, ordinal), *rest)
            for name, ordinal, *rest in record.rows.symbols
        ]
        rows[NAMES_TABLE] += [(name, number, defined, used) for name, defined, used in record.names]
        if record.facts is not None:
            sources, edges = edges_of(file.id)
            rows[REFERENCES_TABLE].append((number, record.facts, sources))
            rows[EDGES_TABLE] += [(target, number, data) for target, data in edges.items()]
    for name, found in rows.items():
        if found:
            yield name, table_of(name, found)


def _chunk_rows(records: Sequence[tuple[int, FileRecord]]) -> pa.Table:
    import pyarrow as pa

    chunks = [row for _, record in records for row in record.rows.chunks]
    scales = np.array([row[-2] for row in chunks], np.float32)
    steps = np.frombuffer(b"".join(row[-1] for row in chunks), np.int8).reshape(len(chunks), -1)
    vectors = (steps * scales[:, None]).astype(np.float32)
    counted = _counted([words for _, record in records for words in record.rows.keywords])
    rows = []
    for number, record in records:
        symbols = defaultdict(list)
        for _, ordinal, *symbol in sorted(record.rows.symbols, key=itemgetter(-1)):
            symbols[ordinal].append(symbol)
        for row, keywords in zip(record.rows.chunks, record.rows.keywords, strict=True):
            ordinal, start, end, chunk_type, _, _, text, *_, tags, _, _, _, _ = row
            rows.append(
                {
                    "id": chunk_id(record.file.path, start, end, chunk_type, text),
                    "path": record.file.path,
                    "text": text,
                    "start_line": start,
                    "end_line": end,
                    "content_hash": record.sha256,
                    "number": chunk_number(number, ordinal),
                    "file_id": number,
                    "chunk_type": chunk_type,
                    "tags": tags,
                    "keywords": keywords,
                    "packed": _packed(row, symbols[ordinal], *next(counted)),
                }
            )
    schema = schema_of(CODE_TABLE, steps.shape[1])
    plain = pa.schema([field for field in schema if field.name != "vector"])
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), steps.shape[1])
    table = pa.Table.from_pylist(rows, plain)
    return table.add_column(schema.get_field_index("vector"), schema.field("vector"), column)


def _counted(keywords: list[str]) -> Iterator[tuple[int, int, bytearray]]:
    """Yield how many words each chunk has, how many different ones, and those with their counts."""
    starts, lengths, words, counts = count_words(keywords)
    places, sizes = np.frombuffer(starts, np.int64).tolist(), np.frombuffer(lengths, np.uint32).tolist()
    for (first, last), size in zip(pairwise(places), sizes, strict=True):
        yield size, last - first, words[4 * first : 4 * last] + counts[first:last]


_HEADER = Struct("<IIId")
"""The dimensions, the length in words, how many different words, and the scale."""


def _packed(row: ChunkRow, symbols: list[Any], length: int, distinct: int, counted: bytearray) -> bytes:
    _, start, end, chunk_type, kind, language, text, names, *shown, tags, context, key, scale, vector = row
    described = [
        start, end, chunk_type, kind, language, text, lines_of(names), *shown, lines_of(tags), context,
        symbols, key.hex(),
    ]  # fmt: skip
    header = _HEADER.pack(len(vector), length, distinct, scale)
    return b"".join((header, vector, counted, zlib.compress(json.dumps(described).encode(), 1)))


class PackedChunk:
    """A chunk as the tables hold it; each part is read when it is asked for."""

    __slots__ = ("_data", "_described", "_dimensions", "_distinct", "length", "number", "scale")

    def __init__(self, number: int, data: bytes) -> None:
        self.number = number
        self._data = data
        self._described: list[Any] | None = None
        try:
            self._dimensions, self.length, self._distinct, self.scale = _HEADER.unpack_from(data)
        except StructError as error:
            raise IndexCorruptError(f"chunk {number}: {error}") from error

    @property
    def size(self) -> int:
        return len(self._data)

    @property
    def vector(self) -> NDArray[np.int8]:
        return np.frombuffer(self._data, np.int8, self._dimensions, _HEADER.size)

    @property
    def words(self) -> NDArray[np.uint32]:
        return np.frombuffer(self._data, np.uint32, self._distinct, self._words_at)

    @property
    def counts(self) -> NDArray[np.uint8]:
        return np.frombuffer(self._data, np.uint8, self._distinct, self._words_at + 4 * self._distinct)

    @property
    def _words_at(self) -> int:
        return _HEADER.size + int(self._dimensions)

    @property
    def described(self) -> list[Any]:
        """Lines, type, kind, language, text, names, signature, breadcrumb, comment, tags, context,
        and symbols by line, and the key."""
        if self._described is None:
            try:
                at = self._words_at + 5 * self._distinct
                self._described = list(json.loads(zlib.decompress(self._data[at:])))
            except (ValueError, zlib.error) as error:
                raise IndexCorruptError(f"chunk {self.number}: {error}") from error
        return self._described

    @property
    def symbols(self) -> list[Symbol]:
        return [Symbol(*symbol) for symbol in self.described[-2]]

    def stored(self, path: str) -> StoredChunk:
        start, end, chunk_type, kind, language, text, names, *described, tags, _, _, _ = self.described
        signature, breadcrumb, comment = described
        return StoredChunk(
            self.number, path, language, start, end, chunk_type, kind, text,
            tuple(names), signature, breadcrumb, comment, tuple(tags),
        )  # fmt: skip
