"""The one writer of an index: changes gather in a transaction until they are committed."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from findspot.core.errors import FindspotError
from findspot.core.model import ChunkType, Skip, SkipReason, SourceFile, Stamp
from findspot.core.sqlite import Connection, Error
from findspot.store import index_rows as rows
from findspot.store import keywords
from findspot.store.database import generation_of, read_meta, write_meta
from findspot.store.derived import KEYWORDS, VECTORS, mask_of, segment_of
from findspot.store.records import ORDINAL_BITS, EmbeddedFields, FileRecord, KnownFiles, StoredFile
from findspot.store.vector_segments import open_segment, remove_unlisted, write_segment

_MAX_DEAD_SHARE = 0.25
"""Segments are merged whole once this share of their rows belongs to replaced files."""


class Writer:
    """The one writer: changes gather in a transaction until `commit`."""

    def __init__(self, folder: Path, db: Connection, checked: set[str]) -> None:
        self._folder = folder
        self._db = db
        self._checked = checked
        self._keywords: dict[str, keywords.KeywordWriter] = {}
        self._new: dict[int, list[tuple[int, float, bytes]]] = {}
        self._replaced: list[tuple[str, int]] = []
        """Corpus and number of file revisions that go with this transaction …"""
        self._dead: list[tuple[str, int]] = []
        """… and of those that went with earlier ones: no snapshot to come can name them."""
        self._segment_names: list[str] = json.loads(read_meta(db).get("segments", "[]"))

    def files(self) -> list[StoredFile]:
        return rows.all_files(self._db)

    def known_files(self, places: Sequence[str] | None = None) -> KnownFiles:
        """Return all files; with `places`, those that are or lie below one of these paths."""
        if places is None:
            return KnownFiles({file.path: file for file in self.files()}, rows.files_left_out(self._db))
        indexed = {file.path: file for place in places for file in rows.files_at(self._db, place)}
        left_out: dict[str, Stamp] = {}
        for place in places:
            left_out |= rows.files_left_out_at(self._db, place)
        return KnownFiles(indexed, left_out)

    def meta(self) -> dict[str, str]:
        return read_meta(self._db)

    def keys_of(self, file: StoredFile | None) -> frozenset[bytes]:
        """Return what is already embedded of a file."""
        return frozenset(rows.file_vectors(self._db, file.id)) if file else frozenset()

    def put(self, record: FileRecord, revision: int | None = None) -> None:
        """Add a file, replacing its earlier revision; known chunks keep their vectors.

        A revision that another store has numbered keeps its number.
        """
        self._begin()
        rows.delete_skip(self._db, record.file.path)
        old = rows.find_file(self._db, record.file.path)
        if old:
            record = _with_known_vectors(record, rows.file_vectors(self._db, old.id))
            self._forget(old)
        file_id = rows.insert_file(self._db, record, revision)
        numbered = rows.number_chunks(file_id, record)
        self._new[file_id] = [(number, item.scale, item.vector or b"") for number, item in numbered]
        self._stored(file_id, record)
        for number, item in numbered:
            if item.chunk.chunk_type is not ChunkType.SYMBOLS:
                self._keyword_writer(record.file.corpus).add(number, file_id, item.keywords)

    def remove(self, path: str) -> bool:
        """Forget a file and what was noted of it; False when the index does not have it."""
        self._begin()
        rows.delete_skip(self._db, path)
        file = rows.find_file(self._db, path)
        if file:
            self._forget(file)
        return file is not None

    def clear(self) -> None:
        """Forget every file: nothing of another model may stay beside what comes."""
        self._begin()
        for file in self.files():
            self._forget(file)

    def touch(self, file: SourceFile) -> None:
        """Note that a file with the same content was written again."""
        self._begin()
        self._db.execute(
            "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ? WHERE path = ?",
            (*file.stamp, file.path),
        )

    def set_walk_skips(self, skips: Iterable[Skip]) -> None:
        """Renew what the walk left out."""
        self._begin()
        rows.replace_walk_skips(self._db, skips)

    def renew_walk_skips(self, places: Sequence[str], skips: Sequence[Skip]) -> bool:
        """Return the same for what lies at some paths; False when nothing of it is new."""
        before = {skip for place in places for skip in rows.walk_skips_at(self._db, place)}
        # A path in a folder that is left out as a whole has the Skip of that folder.
        around = {skip for skip in skips if skip not in before and self._has_walk_skip(skip)}
        if before == set(skips) - around:
            return False
        self._begin()
        for skip in before:
            rows.delete_skip(self._db, skip.path)
        rows.put_skips(self._db, skips, None)
        return True

    def _has_walk_skip(self, skip: Skip) -> bool:
        return skip in rows.walk_skips_at(self._db, skip.path.removesuffix("/"))

    def add_skips(self, skips: Iterable[Skip], file: SourceFile | None = None) -> None:
        """Note what was left out; with the file that was read, so that it is not read again."""
        self._begin()
        rows.put_skips(self._db, skips, file)

    def drop_skips(self, reason: SkipReason) -> None:
        """Forget every Skip of one kind, so that its files are looked at again."""
        self._begin()
        rows.delete_skips(self._db, reason)

    def embedded_fields(self, size: int) -> Iterator[list[EmbeddedFields]]:
        """Yield what a model reads of every chunk, so many at a time."""
        last = 0
        while batch := rows.fields_after(self._db, last, size):
            yield batch
            last = batch[-1].number

    def forget_vectors(self) -> None:
        """Let go of every segment: each chunk is given a new vector before the commit."""
        self._begin()
        self._segment_names, self._new = [], {}

    def set_vectors(self, vectors: Iterable[tuple[int, bytes, float, bytes]]) -> None:
        """Number, key, scale and vector of chunks that are stored already."""
        given = list(vectors)
        rows.put_vectors(self._db, given)
        for number, _, scale, vector in given:
            self._new.setdefault(number >> ORDINAL_BITS, []).append((number, scale, vector))

    def counts(self) -> tuple[int, int]:
        """Return how many files and chunks there are, of both kinds."""
        found = rows.counts(self._db).values()
        return sum(files for files, _ in found), sum(chunks for _, chunks in found)

    def count_skips(self) -> int:
        return sum(rows.skip_counts(self._db).values())

    def set_meta(self, **values: str) -> None:
        self._begin()
        write_meta(self._db, values)

    def commit(self) -> None:
        """Make everything since the last commit visible at once."""
        self._begin()
        self._delete_dead_keywords()
        for writer in self._keywords.values():
            writer.commit()
        self._write_vectors()
        self.set_meta(generation=str(generation_of(self._db) + 1), segments=json.dumps(self._segment_names))
        self._publish()
        self._db.execute("COMMIT")
        self._dead, self._replaced = self._replaced, []
        remove_unlisted(self._folder / VECTORS, set(self._segment_names))

    def close(self) -> None:
        """Give up what is not committed, and clean up; what fails of that is left to the next writer."""
        with contextlib.suppress(Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        with contextlib.suppress(FindspotError):
            for writer in self._keywords.values():
                writer.rollback()
            self._delete_dead_keywords()
            for writer in self._keywords.values():
                writer.commit()
        for writer in self._keywords.values():
            writer.close()

    def _stored(self, file_id: int, record: FileRecord) -> None:
        """Where a store whose truth is elsewhere hears of a file that goes with the next commit."""

    def _publish(self) -> None:
        """Where a store whose truth is elsewhere brings it there: what fails here is not committed."""

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _forget(self, file: StoredFile) -> None:
        rows.delete_file(self._db, file.id)
        self._replaced.append((file.corpus, file.id))
        self._new.pop(file.id, None)

    def _delete_dead_keywords(self) -> None:
        for corpus in {corpus for corpus, _ in self._dead}:
            dead = [file_id for its_corpus, file_id in self._dead if its_corpus == corpus]
            self._keyword_writer(corpus).delete_files(dead)
        self._dead = []

    def _keyword_writer(self, corpus: str) -> keywords.KeywordWriter:
        if corpus not in self._keywords:
            self._keywords[corpus] = keywords.KeywordWriter(self._folder / KEYWORDS / corpus)
        return self._keywords[corpus]

    def _write_vectors(self) -> None:
        """Write the new vectors, merged with the newest segments so that few remain."""
        new = [item for items in self._new.values() for item in items]
        segments = [
            open_segment(self._folder / VECTORS / name, self._checked) for name in self._segment_names
        ]
        if new:
            segments.append(segment_of(new))
        sizes = [segment.numbers.size for segment in segments]
        dead = sum(sizes) - rows.count_chunks(self._db)
        if dead > _MAX_DEAD_SHARE * sum(sizes):
            first = 0
        elif new:
            first = _merge_from(sizes)
        else:
            return
        name = write_segment(self._folder / VECTORS, segments[first:], mask_of(rows.file_ids(self._db)))
        self._segment_names = self._segment_names[:first] + ([name] if name else [])
        self._new = {}


def _merge_from(sizes: Sequence[int]) -> int:
    """Return the first of the newest segments to merge: each older one left is twice as large as all after
    it.
    """
    first = len(sizes) - 1
    gathered = sizes[first]
    while first > 0 and sizes[first - 1] < 2 * gathered:
        first -= 1
        gathered += sizes[first]
    return first


def _with_known_vectors(record: FileRecord, known: dict[bytes, tuple[float, bytes]]) -> FileRecord:
    filled = tuple(
        replace(item, scale=known[item.key][0], vector=known[item.key][1]) if item.vector is None else item
        for item in record.chunks
    )
    return replace(record, chunks=filled)
