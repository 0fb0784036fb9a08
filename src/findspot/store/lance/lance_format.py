"""What the tables of an index in LanceDB hold: their fields, their rows as records, and the head.

The tables are those of the specification, with our fields next to its own. A vector is stored as float32; its
scale gives back exactly the int8 row that it came from.

The head is the commit point: one row that names the version of every table. A reader takes these
versions and nothing else, so nobody sees what a writer has added until the row is exchanged.

LANCE_FORMAT
    1   0.2.0   chunks by corpus, files, references, skips, head
    2   0.2.0   the head of a published index lists its versions
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.errors import IndexCorruptError, IndexFormatError
from findspot.core.model import Chunk, ChunkType, Corpus, Span, Symbol
from findspot.store.records import ChunkRecord, FileRecord, StoredFile

if TYPE_CHECKING:
    import pyarrow as pa

LANCE_FORMAT = 2


@dataclass(frozen=True, slots=True)
class Head:
    """One commit."""

    generation: int
    """How often the row was exchanged: who finds another number than it read has lost."""
    commit: str
    """Names the content: equal names mean equal rows."""
    epoch: str
    """Changes when vectors were replaced under the same file numbers: an older copy is of no use."""
    tables: dict[str, int]
    meta: dict[str, str] = field(default_factory=dict)
    last_file: int = 0
    """The highest number ever given to a file."""
    skips: str = ""
    """A digest of the list of skips."""
    untidy: int = 0
    """Commits since small fragments were last put together."""
    foreign: bool = False
    """Whether the tables are still those of another program, with the specification's fields only."""
    versions: list[dict[str, Any]] = field(default_factory=list)
    """Of a published index: each version, with the versions of the tables that hold its rows."""

    def state(self) -> str:
        """Return all but the generation, as it is written."""
        values = asdict(self)
        del values["generation"]
        return json.dumps(values)


def first_head(tables: dict[str, int], *, foreign: bool = False) -> Head:
    """Of an index that is only being made, or of one that another program made."""
    return Head(0, new_name(), new_name(), tables, foreign=foreign)


def new_name() -> str:
    return uuid.uuid4().hex


def read_head(generation: int, version: int, state: str) -> Head:
    """Return a head as it was written; one of a newer format is refused."""
    if version > LANCE_FORMAT:
        raise IndexFormatError(version, LANCE_FORMAT)
    known = {item.name for item in fields(Head)}
    try:
        values = {name: value for name, value in json.loads(state).items() if name in known}
        return Head(generation=generation, **values)
    except (ValueError, TypeError, AttributeError) as error:
        raise IndexCorruptError(f"head: {error}") from error


CODE_DATABASE = "index.lancedb"
DOCS_DATABASE = "docs.lancedb"
CODE_TABLE = "project_docs"
DOCS_TABLE = "project_docs_prose"
FILES_TABLE = "files"
REFERENCES_TABLE = "references"
SKIPS_TABLE = "skips"
HEAD_TABLE = "findspot_head"

CHUNK_TABLES = {Corpus.CODE.value: CODE_TABLE, Corpus.DOCS.value: DOCS_TABLE}
TABLES = (CODE_TABLE, DOCS_TABLE, FILES_TABLE, REFERENCES_TABLE, SKIPS_TABLE)
"""All that a head names."""

SPECIFIED_DIMENSIONS = 384
"""Of a table that is still empty; the first rows bring their own."""


def database_of(table: str) -> str:
    return DOCS_DATABASE if table == DOCS_TABLE else CODE_DATABASE


def schema_of(table: str, dimensions: int = SPECIFIED_DIMENSIONS) -> pa.Schema:
    """Return the fields of a table."""
    import pyarrow as pa

    if table == FILES_TABLE:
        return _schema("id:int64 path corpus language size:int64 mtime_ns:int64 sha256 chunks:int64")
    if table == REFERENCES_TABLE:
        return _schema("file_id:int64 path facts:binary")
    if table == SKIPS_TABLE:
        return _schema("path reason detail size:int64 mtime_ns:int64")
    if table == HEAD_TABLE:
        return _schema("generation:int64 format:int64 state")
    symbol = pa.struct([("name", pa.string()), ("kind", pa.string()), ("line", pa.int32())])
    return pa.schema(
        [
            *_schema("id path text"),
            ("vector", pa.list_(pa.float32(), dimensions)),
            *_schema("start_line:int32 end_line:int32 content_hash"),
            *_schema("file_id:int64 ordinal:int32 chunk_type kind language"),
            ("symbols", pa.list_(symbol)),
            *_schema("signature breadcrumb doc_comment"),
            ("tags", pa.list_(pa.string())),
            *_schema("context keywords key:binary scale:float64"),
        ]
    )


def _schema(fields: str) -> pa.Schema:
    """From `name` or `name:type`; without a type it is text."""
    import pyarrow as pa

    named = (field.partition(":")[::2] for field in fields.split())
    return pa.schema([(name, pa.type_for_alias(kind or "string")) for name, kind in named])


def file_rows(files: Iterable[StoredFile]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist([file._asdict() for file in files], schema_of(FILES_TABLE))


def reference_rows(files: Sequence[tuple[int, FileRecord]]) -> pa.Table | None:
    """Return what numbered file revisions say about names; None where none says anything."""
    import pyarrow as pa

    rows = [
        {"file_id": revision, "path": record.file.path, "facts": record.facts}
        for revision, record in files
        if record.facts is not None
    ]
    return pa.Table.from_pylist(rows, schema_of(REFERENCES_TABLE)) if rows else None


def read_files(rows: Iterable[dict[str, Any]]) -> list[StoredFile]:
    return sorted((StoredFile(**row) for row in rows), key=lambda file: file.path)


def skip_rows(skips: Iterable[tuple[Any, ...]]) -> pa.Table:
    import pyarrow as pa

    schema = schema_of(SKIPS_TABLE)
    return pa.Table.from_pylist([dict(zip(schema.names, skip, strict=True)) for skip in skips], schema)


def chunk_rows(files: Sequence[tuple[int, FileRecord]]) -> pa.Table | None:
    """Return the chunks of numbered file revisions; None where there are none."""
    import pyarrow as pa

    numbered = [
        (revision, record, row[0], item)
        for revision, record in files
        for row, item in zip(record.rows.chunks, record.chunks, strict=True)
    ]
    if not numbered:
        return None
    scales = np.array([item.scale for _, _, _, item in numbered], np.float64)
    packed = np.frombuffer(b"".join(item.vector or b"" for _, _, _, item in numbered), np.int8)
    steps = packed.reshape(len(numbered), -1)
    vectors = (steps * scales[:, None]).astype(np.float32)
    schema = schema_of(CODE_TABLE, steps.shape[1])
    plain = pa.schema([field for field in schema if field.name != "vector"])
    table = pa.Table.from_pylist([_chunk_row(*row) for row in numbered], plain)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), steps.shape[1])
    return table.add_column(schema.get_field_index("vector"), schema.field("vector"), column)


def _chunk_row(revision: int, record: FileRecord, ordinal: int, item: ChunkRecord) -> dict[str, Any]:
    chunk = item.chunk
    return {
        "id": chunk.id,
        "path": chunk.path,
        "text": chunk.text,
        "start_line": chunk.span.start,
        "end_line": chunk.span.end,
        "content_hash": record.sha256,
        "file_id": revision,
        "ordinal": ordinal,
        "chunk_type": chunk.chunk_type.value,
        "kind": chunk.kind,
        "language": chunk.language,
        "symbols": [{"name": s.name, "kind": s.kind, "line": s.line} for s in chunk.symbols],
        "signature": chunk.signature,
        "breadcrumb": chunk.breadcrumb,
        "doc_comment": chunk.doc_comment,
        "tags": list(chunk.tags),
        "context": chunk.context,
        "keywords": item.keywords,
        "key": item.key,
        "scale": item.scale,
    }


def read_chunks(batch: pa.RecordBatch) -> Iterator[tuple[int, int, ChunkRecord]]:
    """Yield each row as the number of its file, its place there, and what was stored."""
    steps = steps_of(vectors_of(batch), batch.column("scale").to_numpy())
    for row, vector in zip(batch.drop_columns("vector").to_pylist(), steps, strict=True):
        chunk = Chunk(
            path=row["path"],
            span=Span(row["start_line"], row["end_line"]),
            text=row["text"],
            chunk_type=ChunkType(row["chunk_type"]),
            kind=row["kind"],
            language=row["language"],
            symbols=tuple(Symbol(**symbol) for symbol in row["symbols"]),
            signature=row["signature"],
            breadcrumb=row["breadcrumb"],
            doc_comment=row["doc_comment"],
            tags=tuple(row["tags"]),
            context=row["context"],
        )
        record = ChunkRecord(chunk, row["keywords"], row["key"], row["scale"], vector.tobytes())
        yield row["file_id"], row["ordinal"], record


def vectors_of(batch: pa.RecordBatch) -> NDArray[np.float32]:
    column = batch.column("vector")
    flat: NDArray[np.float32] = column.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(batch.num_rows, -1)


def steps_of(vectors: NDArray[np.float32], scales: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return the int8 rows whose products with their scales these vectors are."""
    held = scales[:, None]
    steps = np.divide(vectors, held, out=np.zeros(vectors.shape, np.float64), where=held > 0)
    return np.rint(steps).astype(np.int8)
