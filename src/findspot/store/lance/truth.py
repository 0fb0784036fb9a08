"""The rows of one commit, read as records: what a cache is filled with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from findspot.core.errors import IndexCorruptError
from findspot.store.lance.head import Head
from findspot.store.lance.layout import CHUNK_TABLES, FILES_TABLE, REFERENCES_TABLE, SKIPS_TABLE
from findspot.store.lance.rows import read_chunks, read_files
from findspot.store.lance.tables import Tables
from findspot.store.records import ChunkRecord, FileRecord, StoredFile
from findspot.store.revisions import revision

BATCH_ROWS = 1_024
"""Rows read at a time: a few megabytes."""


class Truth(Protocol):
    """What a commit holds."""

    def files(self) -> list[StoredFile]:
        """Return every file, numbered."""

    def records(self, files: Sequence[StoredFile]) -> Iterator[tuple[int, FileRecord]]:
        """These files with their numbers and all that is stored of them, in any order."""

    def skips(self) -> list[tuple[Any, ...]]:
        """Return every skip, as the database keeps it."""


class Committed:
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
                yield file.id, revision(file, tuple(item for _, item in in_order), facts.get(file.id))

    def skips(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self._all(SKIPS_TABLE)]

    def _complete(
        self, table: str, wanted: dict[int, StoredFile]
    ) -> Iterator[tuple[StoredFile, list[tuple[int, ChunkRecord]]]]:
        """Yield a file is given out once all its chunks are there; those of one file mostly stand
        together.
        """
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
