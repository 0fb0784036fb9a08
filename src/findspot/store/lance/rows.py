"""Records into rows of the tables, and back.

A vector is kept as float32, as the specification has it; with its scale beside it, the int8 row
that it came from is had back exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.model import Chunk, ChunkType, Span, Symbol
from findspot.store.database import number_chunks
from findspot.store.lance.layout import CODE_TABLE, FILES_TABLE, REFERENCES_TABLE, SKIPS_TABLE, schema_of
from findspot.store.records import ChunkRecord, FileRecord, StoredFile
from findspot.store.schema import OUTLINE_ORDINAL

if TYPE_CHECKING:
    import pyarrow as pa


def file_rows(files: Iterable[StoredFile]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist([file._asdict() for file in files], schema_of(FILES_TABLE))


def reference_rows(files: Sequence[tuple[int, FileRecord]]) -> pa.Table | None:
    """Return what numbered file revisions say about names; None where none says anything."""
    import pyarrow as pa

    said = [
        {"file_id": revision, "path": record.file.path, "facts": record.facts}
        for revision, record in files
        if record.facts is not None
    ]
    return pa.Table.from_pylist(said, schema_of(REFERENCES_TABLE)) if said else None


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
        (revision, record, number & OUTLINE_ORDINAL, item)
        for revision, record in files
        for number, item in number_chunks(revision, record)
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
