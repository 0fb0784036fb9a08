"""The one writer of an index: changes gather in a transaction until they are committed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from findspot.core.model import Skip, SourceFile
from findspot.store import database as rows
from findspot.store import keywords, vectors
from findspot.store.derived import FileTable, segment_of
from findspot.store.records import FileRecord, KnownFiles, StoredFile
from findspot.store.schema import ORDINAL_BITS

_MAX_DEAD_SHARE = 0.25
"""Segments are merged whole once this share of their rows belongs to replaced files."""


class Writer:
    """The one writer: changes gather in a transaction until `commit`."""

    def __init__(self, folder: Path, db: sqlite3.Connection) -> None:
        self._folder = folder
        self._db = db
        self._keywords: dict[str, keywords.KeywordWriter] = {}
        self._new: list[tuple[int, float, bytes]] = []
        self._dead: dict[str, list[int]] = {}
        self._last_committed = rows.last_file_id(db)
        self._segment_names: list[str] = json.loads(rows.read_meta(db).get("segments", "[]"))

    def files(self) -> list[StoredFile]:
        return rows.all_files(self._db)

    def known_files(self) -> KnownFiles:
        return KnownFiles({file.path: file for file in self.files()}, rows.rejected_files(self._db))

    def meta(self) -> dict[str, str]:
        return rows.read_meta(self._db)

    def keys_of(self, file: StoredFile | None) -> frozenset[bytes]:
        """What is already embedded of a file."""
        return frozenset(rows.file_vectors(self._db, file.id)) if file else frozenset()

    def put(self, record: FileRecord) -> None:
        """Add a file, replacing its earlier revision; known chunks keep their vectors."""
        self._begin()
        rows.delete_skip(self._db, record.file.path)
        old = rows.find_file(self._db, record.file.path)
        if old:
            record = _with_known_vectors(record, rows.file_vectors(self._db, old.id))
            self._forget(old)
        file_id = rows.insert_file(self._db, record)
        for number, item in rows.number_chunks(file_id, record):
            self._new.append((number, item.scale, item.vector or b""))
            if item.keywords:
                self._keyword_writer(record.file.corpus).add(number, file_id, item.keywords)

    def remove(self, file: StoredFile) -> None:
        self._begin()
        self._forget(file)

    def remove_path(self, path: str) -> bool:
        """Forget a file if the index has it."""
        self._begin()
        file = rows.find_file(self._db, path)
        if file:
            self._forget(file)
        return file is not None

    def clear(self) -> None:
        """Forget every file: nothing of another model may stay beside what comes."""
        for file in self.files():
            self.remove(file)
        self._segment_names = []

    def touch(self, file: SourceFile) -> None:
        """Note that a file with the same content was written again."""
        self._begin()
        self._db.execute(
            "UPDATE files SET size = ?, mtime_ns = ? WHERE path = ?", (file.size, file.mtime_ns, file.path)
        )

    def set_walk_skips(self, skips: Iterable[Skip]) -> None:
        """Renew what the walk left out."""
        self._begin()
        rows.replace_walk_skips(self._db, skips)

    def add_skips(self, skips: Iterable[Skip], file: SourceFile | None = None) -> None:
        """Note what was left out; with the file that was read, so that it is not read again."""
        self._begin()
        rows.put_skips(self._db, skips, file)

    def drop_skip(self, path: str) -> None:
        self._begin()
        rows.delete_skip(self._db, path)

    def count_skips(self) -> int:
        return sum(rows.skip_counts(self._db).values())

    def set_meta(self, **values: str) -> None:
        self._begin()
        rows.write_meta(self._db, values)

    def commit(self) -> None:
        """Make everything since the last commit visible at once."""
        with rows.translated(self._folder):
            self._begin()
            for writer in self._keywords.values():
                writer.commit()
            self._write_vectors()
            generation = int(self.meta().get("generation", "0")) + 1
            rows.write_meta(
                self._db, {"generation": str(generation), "segments": json.dumps(self._segment_names)}
            )
            self._db.execute("COMMIT")
        self._last_committed = rows.last_file_id(self._db)
        for corpus, dead in self._dead.items():
            self._keyword_writer(corpus).delete_files(dead)
        self._dead.clear()
        vectors.remove_unlisted(self._folder / "vectors", set(self._segment_names))

    def close(self) -> None:
        """Give up what is not committed."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
            for writer in self._keywords.values():
                writer.rollback()
        for writer in self._keywords.values():
            writer.commit()
            writer.close()

    def _begin(self) -> None:
        if not self._db.in_transaction:
            with rows.translated(self._folder):
                self._db.execute("BEGIN IMMEDIATE")

    def _forget(self, file: StoredFile) -> None:
        rows.delete_file(self._db, file.id)
        self._dead.setdefault(file.corpus, []).append(file.id)
        self._new = [item for item in self._new if item[0] >> ORDINAL_BITS != file.id]

    def _keyword_writer(self, corpus: str) -> keywords.KeywordWriter:
        if corpus not in self._keywords:
            writer = keywords.KeywordWriter(self._folder / "keywords" / corpus)
            self._keywords[corpus] = writer
            writer.delete_files_above(self._last_committed)
        return self._keywords[corpus]

    def _write_vectors(self) -> None:
        """Write the new vectors, merged with the newest segments so that few remain."""
        segments = [vectors.open_segment(self._segment_path(name)) for name in self._segment_names]
        if self._new:
            segments.append(segment_of(self._new))
        total = sum(segment.numbers.size for segment in segments)
        live = int(self._db.execute("SELECT COUNT(*) FROM chunks").fetchone()[0])
        keep = _merge_from([segment.numbers.size for segment in segments])
        if total - live > _MAX_DEAD_SHARE * total:
            keep = 0
        if keep < len(segments) and (self._new or keep == 0):
            files = rows.all_files(self._db)
            mask = FileTable(files).mask(files)
            merged = vectors.merge(segments[keep:], mask)
            names = [vectors.write_segment(self._folder / "vectors", merged)] if merged.numbers.size else []
            self._segment_names = self._segment_names[:keep] + names
        self._new = []

    def _segment_path(self, name: str) -> Path:
        return self._folder / "vectors" / name


def _merge_from(sizes: Sequence[int]) -> int:
    """The first of the newest segments to merge: each older one left is twice as large as all after it."""
    first = len(sizes) - 1
    gathered = sizes[-1] if sizes else 0
    while first > 0 and sizes[first - 1] < 2 * gathered:
        first -= 1
        gathered += sizes[first]
    return max(first, 0)


def _with_known_vectors(record: FileRecord, known: dict[bytes, tuple[float, bytes]]) -> FileRecord:
    filled = tuple(
        replace(item, scale=known[item.key][0], vector=known[item.key][1]) if item.vector is None else item
        for item in record.chunks
    )
    return replace(record, chunks=filled)
