"""An index that another program wrote: the specification's two tables and their seven fields, no more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.languages import language_of
from findspot.core.model import Chunk, ChunkType, Corpus, SourceFile, Span
from findspot.store.build import COMPLETE
from findspot.store.lance.head import Head, first_head
from findspot.store.lance.layout import CHUNK_TABLES
from findspot.store.lance.rows import vectors_of
from findspot.store.lance.tables import Tables
from findspot.store.lance.truth import BATCH_ROWS
from findspot.store.records import ChunkRecord, FileRecord, StoredFile
from findspot.store.schema import OUTLINE_ORDINAL
from findspot.text.document import keyword_text

UNNAMED_MODEL = "unnamed"
"""In place of a model's id: the specification's tables do not say which one made their vectors."""

_INT8_MAX = 127
_FIELDS = ["path", "text", "vector", "start_line", "end_line", "content_hash"]
_KIND = {Corpus.CODE: ("block", ChunkType.DEFINITIONS), Corpus.DOCS: ("section", ChunkType.DOCUMENTATION)}


def foreign_head(tables: Tables) -> Head | None:
    """Return what stands for a commit where there are only the specification's tables."""
    versions: dict[str, int] = {}
    dimensions = 0
    for name in CHUNK_TABLES.values():
        table = tables.open(name)
        if table is not None:
            versions[name] = int(table.version)
            dimensions = table.schema.field("vector").type.list_size
    if not versions:
        return None
    name = "-".join(f"{table}.{version}" for table, version in versions.items())
    meta = {"model": f"{UNNAMED_MODEL}/{dimensions}", "build": COMPLETE, "pipeline": UNNAMED_MODEL}
    return replace(first_head(versions, foreign=True), commit=name, epoch=name, meta=meta)


class Foreign:
    """What such tables hold, as if we had stored it."""

    def __init__(self, tables: Tables, head: Head) -> None:
        self._tables = tables
        self._head = head

    def files(self) -> list[StoredFile]:
        found: dict[str, StoredFile] = {}
        for corpus, row in self._rows(["path", "content_hash"]):
            path = row["path"]
            known = found.get(path)
            found[path] = StoredFile(
                id=known.id if known else len(found) + 1,
                path=path,
                corpus=corpus,
                language=language_of(path),
                size=-1,  # of no file: the first comparison with the disk reads it
                mtime_ns=-1,
                sha256=row["content_hash"],
                chunks=min(known.chunks + 1 if known else 1, OUTLINE_ORDINAL),
            )
        return list(found.values())

    def records(self, files: Sequence[StoredFile]) -> Iterator[tuple[int, FileRecord]]:
        by_path: dict[str, list[ChunkRecord]] = defaultdict(list)
        wanted = {file.path: file for file in files}
        for corpus, row in self._rows(_FIELDS):
            if row["path"] in wanted:
                by_path[row["path"]].append(_chunk_record(Corpus(corpus), row))
        for path, chunks in by_path.items():
            file = wanted[path]
            chunks.sort(key=lambda item: item.chunk.span)
            source = SourceFile(path, Corpus(file.corpus), file.language, file.size, file.mtime_ns)
            yield file.id, FileRecord(source, file.sha256, tuple(chunks[:OUTLINE_ORDINAL]))

    def skips(self) -> list[tuple[Any, ...]]:
        return []

    def _rows(self, fields: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        for corpus, name in CHUNK_TABLES.items():
            if name not in self._head.tables:
                continue
            table = self._tables.at(name, self._head.tables[name])
            with self._tables.translated():
                for batch in table.search().select(fields).to_batches(BATCH_ROWS):
                    vectors = vectors_of(batch) if "vector" in fields else [None] * batch.num_rows
                    for row, vector in zip(batch.to_pylist(), vectors, strict=True):
                        yield corpus, {**row, "vector": vector}


def _chunk_record(corpus: Corpus, row: dict[str, Any]) -> ChunkRecord:
    path, text = row["path"], row["text"]
    kind, chunk_type = _KIND[corpus]
    span = Span(row["start_line"], row["end_line"])
    chunk = Chunk(path, span, text, chunk_type, kind, language_of(path))
    scale, steps = _quantised(row["vector"])
    return ChunkRecord(chunk, keyword_text(path, None, "", text), b"", scale, steps.tobytes())


def _quantised(vector: NDArray[np.float32]) -> tuple[float, NDArray[np.int8]]:
    """To int8 as a unit vector: lengths say nothing in a comparison of directions."""
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0:
        return 0.0, np.zeros(vector.size, np.int8)
    steps = np.rint(vector * (_INT8_MAX / largest)).astype(np.int8)
    return 1 / float(np.linalg.norm(steps.astype(np.float32))), steps
