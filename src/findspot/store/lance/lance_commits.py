"""The content of one commit in LanceDB, read as records to fill the local copy with.

A commit is ours, or made up for the tables of another program: the specification's two tables and
their seven fields.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from findspot.core.errors import IndexCorruptError
from findspot.core.languages import language_of
from findspot.core.model import Chunk, ChunkType, Corpus, SourceFile, Span
from findspot.store.index_meta import COMPLETE
from findspot.store.index_rows import assemble_record
from findspot.store.lance.lance_format import (
    CHUNK_TABLES,
    FILES_TABLE,
    REFERENCES_TABLE,
    SKIPS_TABLE,
    Head,
    first_head,
    read_chunks,
    read_files,
    vectors_of,
)
from findspot.store.lance.lance_tables import Tables
from findspot.store.records import OUTLINE_ORDINAL, ChunkRecord, FileRecord, StoredFile
from findspot.text.tokens import keyword_text

BATCH_ROWS = 1_024
"""Rows read at a time: a few megabytes."""


class Commit(Protocol):
    """What a commit holds."""

    def files(self) -> list[StoredFile]:
        """Return every file, numbered."""

    def records(self, files: Sequence[StoredFile]) -> Iterator[tuple[int, FileRecord]]:
        """Yield these files with their numbers and all that is stored of them, in any order."""

    def skips(self) -> list[tuple[Any, ...]]:
        """Return every skip, as the database keeps it."""


class OwnCommit:
    """What a head of our own names."""

    def __init__(self, tables: Tables, head: Head) -> None:
        self._tables = tables
        self._head = head

    def files(self) -> list[StoredFile]:
        return read_files(self._all(FILES_TABLE))

    def records(self, files: Sequence[StoredFile]) -> Iterator[tuple[int, FileRecord]]:
        facts = self._facts([file.id for file in files])
        for corpus, table in CHUNK_TABLES.items():
            wanted = {file.id: file for file in files if file.corpus == corpus}
            for file, chunks in self._complete(table, wanted):
                in_order = sorted(chunks, key=lambda pair: pair[0])
                yield file.id, assemble_record(file, tuple(item for _, item in in_order), facts.get(file.id))

    def skips(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self._all(SKIPS_TABLE)]

    def _complete(
        self, table: str, wanted: dict[int, StoredFile]
    ) -> Iterator[tuple[StoredFile, list[tuple[int, ChunkRecord]]]]:
        """Yield each file once all its chunks are there; those of one file are mostly neighbours."""
        gathered: dict[int, list[tuple[int, ChunkRecord]]] = defaultdict(list)
        for number, ordinal, item in self._chunks(table, [n for n, file in wanted.items() if file.chunks]):
            if number in wanted:
                gathered[number].append((ordinal, item))
                if len(gathered[number]) == wanted[number].chunks:
                    yield wanted.pop(number), gathered.pop(number)
        for file in wanted.values():
            if file.chunks:
                raise IndexCorruptError(f"table {table}: chunks of {file.path} are missing")
            yield file, []

    def _chunks(self, table: str, numbers: Sequence[int]) -> Iterator[tuple[int, int, ChunkRecord]]:
        for batch in self._between(table, numbers):
            yield from read_chunks(batch)

    def _facts(self, numbers: Sequence[int]) -> dict[int, bytes]:
        batches = self._between(REFERENCES_TABLE, numbers)
        return {row["file_id"]: row["facts"] for batch in batches for row in batch.to_pylist()}

    def _between(self, table: str, numbers: Sequence[int]) -> Iterator[Any]:
        """Yield the rows of these files, and of some between them: numbers wanted together lie together."""
        if not numbers or table not in self._head.tables:
            return
        opened = self._at(table)
        between = f"file_id >= {min(numbers)} AND file_id <= {max(numbers)}"
        with self._tables.translated():
            yield from opened.search().where(between).to_batches(BATCH_ROWS)

    def _all(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table that is read whole; none where the head names none."""
        if table not in self._head.tables:
            return []
        opened = self._at(table)
        with self._tables.translated():
            return list(opened.to_arrow().to_pylist())

    def _at(self, table: str) -> Any:
        return self._tables.at(table, self._head.tables[table])


UNNAMED_MODEL = "unnamed"
"""In place of a model's id: the specification's tables do not say which one made their vectors."""

_INT8_MAX = 127
_FIELDS = ["path", "text", "vector", "start_line", "end_line", "content_hash"]
_KIND = {Corpus.CODE: ("block", ChunkType.DEFINITIONS), Corpus.DOCS: ("section", ChunkType.DOCUMENTATION)}


def foreign_head(tables: Tables) -> Head | None:
    """Return a head for tables that have only the specification's fields; None where there are none."""
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


class ForeignCommit:
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


def open_commit(tables: Tables, head: Head) -> Commit:
    """Return what the commit of a head holds."""
    return ForeignCommit(tables, head) if head.foreign else OwnCommit(tables, head)
