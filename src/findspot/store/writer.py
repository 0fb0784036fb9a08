"""The one writer of an index: changes gather in a transaction until they are committed."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from findspot.core.errors import CancelledError
from findspot.core.model import Skip, SkipReason, SourceFile, Stamp
from findspot.core.sqlite import Connection, Error
from findspot.store.changed_meanings import ChangedMeanings
from findspot.store.database import begin, generation_of, read_meta, write_meta
from findspot.store.derived import VECTORS, Part, open_part, write_part
from findspot.store.edge_rows import EdgeRows
from findspot.store.index_rows import ChunkRows, FileRows, SkipRows, delete_file, insert_file
from findspot.store.records import (
    ORDINAL_BITS,
    FileRecord,
    KnownFiles,
    StoredFile,
    chunk_number,
)
from findspot.store.vector_segments import Mask, Segment, mask_of, remove_unlisted

_FEW_ROWS = 2_000
"""For so many rows their own files are looked up, for more every file is read."""

_COUNTED_CHUNKS = 2_000
"""New chunks after which their words are counted, so that what waits for a commit takes little room."""

_MAX_DEAD_SHARE = 0.25
"""Segments are merged whole once this share of their rows belongs to replaced files."""


class Writer:
    """The one writer: changes gather in a transaction until `commit`."""

    def __init__(self, folder: Path, db: Connection) -> None:
        self._db = db
        self.files = FileRows(db)
        self.chunks = ChunkRows(db)
        self.skips = SkipWriter(db)
        self._parts = _PartChanges(folder / VECTORS, db)
        self._meanings = ChangedMeanings(db)
        self._keeps_paths = True
        """Whether the index has files at the same paths as before this transaction."""

    def known_files(self, paths: Sequence[str] | None = None) -> KnownFiles:
        """Return all files; with `paths`, those that are or lie below one of these paths."""
        if paths is None:
            return KnownFiles({file.path: file for file in self.files.all()}, self.skips.files_read())
        indexed = {file.path: file for path in paths for file in self.files.below(path)}
        left_out: dict[str, Stamp] = {}
        for path in paths:
            left_out |= self.skips.files_read(path)
        return KnownFiles(indexed, left_out)

    def meta(self) -> dict[str, str]:
        return read_meta(self._db)

    def set_meta(self, **values: str) -> None:
        begin(self._db)
        write_meta(self._db, values)

    def put(self, record: FileRecord) -> None:
        """Add a file, replacing its earlier revision; known chunks keep their vectors."""
        begin(self._db)
        self.skips.delete(record.file.path)
        old = self.files.find(record.file.path)
        self._meanings.note(record.file.path, old.id if old else None, record.facts)
        if old:
            known = self.chunks.vectors_by_key(old.id)
            record = replace(record, rows=record.rows.with_vectors(known))
            self._forget(old)
        else:
            self._keeps_paths = False
        rows = record.rows
        file_id = insert_file(self._db, record)
        first = chunk_number(file_id, 0)
        self._parts.put(
            file_id,
            [
                (first | row[0], row[-2], row[-1] or b"", words)
                for row, words in zip(rows.chunks, rows.keywords, strict=True)
            ],
        )

    def remove(self, path: str) -> bool:
        """Remove a file and its skip; return False when the index does not have it."""
        begin(self._db)
        self.skips.delete(path)
        file = self.files.find(path)
        if file:
            self._keeps_paths = False
            self._meanings.note(path, file.id)
            self._forget(file)
        return file is not None

    def clear(self) -> None:
        begin(self._db)
        self._keeps_paths = False
        for file in self.files.all():
            self._forget(file)

    def touch(self, file: SourceFile) -> None:
        """Note that a file with the same content was written again."""
        begin(self._db)
        self.files.set_stamp(file.path, file.stamp)

    def commit(self) -> None:
        """Make everything since the last commit visible at once."""
        begin(self._db)
        self._meanings.settle()
        generation = str(generation_of(self._db) + 1)
        self._parts.write(self.files, self.files.totals()[1])
        self.set_meta(generation=generation, segments=json.dumps(self._parts.names))
        if self.skips.changed or not self._keeps_paths:
            self.set_meta(paths_since=generation)
        self._db.execute("COMMIT")
        self._keeps_paths, self.skips.changed = True, False
        self._parts.remove_replaced()

    @contextlib.contextmanager
    def storing_edges(self) -> Iterator[EdgeRows]:
        """Store resolved references. They say nothing new, so that this makes no new generation.

        A run that is cancelled has stored whole files. After any other error, the last ones stay pending.
        """
        begin(self._db)
        edges = EdgeRows(self._db)
        try:
            yield edges
        except CancelledError:
            edges.save()
            raise
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        edges.save()

    def close(self) -> None:
        with contextlib.suppress(Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def _forget(self, file: StoredFile) -> None:
        delete_file(self._db, file.id)
        self._parts.drop(file.id)


class SkipWriter(SkipRows):
    """The skips of an index, changed in its writer's transaction."""

    changed = False
    """Whether this transaction changed more than the skip of a file that it stored."""

    def count(self) -> int:
        """Return how many files and folders are left out; files of which a part is are not."""
        absent = "SELECT COUNT(*) FROM skips WHERE path NOT IN (SELECT path FROM files)"
        return int(self._db.execute(absent).fetchone()[0])

    def add(self, skips: Iterable[Skip], file: SourceFile | None = None) -> None:
        """Store what was left out; with the file that was read, so that it is not read again."""
        self._begin()
        stamp = file.stamp if file else (None, None, 0, 0)
        self._db.executemany(
            "INSERT OR REPLACE INTO skips VALUES (?,?,?,?,?,?,?)",
            ((skip.path, skip.reason, skip.detail, *stamp) for skip in skips),
        )

    def drop(self, reason: SkipReason) -> None:
        """Remove every skip of one reason, so that its files are looked at again."""
        self._begin()
        self._db.execute("DELETE FROM skips WHERE reason = ?", (reason,))

    def delete(self, path: str) -> None:
        self._db.execute("DELETE FROM skips WHERE path = ?", (path,))

    def _begin(self) -> None:
        begin(self._db)
        self.changed = True

    def replace_walk(self, skips: Iterable[Skip]) -> None:
        """Replace what the walk left out; the skips of files that were read stay."""
        self._begin()
        self._db.execute("DELETE FROM skips WHERE mtime_ns IS NULL")
        self.add(skips)

    def replace_walk_at(self, paths: Sequence[str], skips: Sequence[Skip]) -> bool:
        """Replace what the walk left out at some paths; return False when nothing changed."""
        before = {skip for path in paths for skip in self.of_walk(path)}
        # A path in a folder that is left out as a whole has the skip of that folder.
        around = {s for s in skips if s not in before and s in self.of_walk(s.path.removesuffix("/"))}
        if before == set(skips) - around:
            return False
        self._begin()
        for skip in before:
            self.delete(skip.path)
        self.add(skips)
        return True


class _PartChanges:
    """The vectors and word counts that the next commit adds, and the parts that hold the others."""

    def __init__(self, folder: Path, db: Connection) -> None:
        self._folder = folder
        self._new: dict[int, list[tuple[int, float, bytes, str]]] = {}
        self._waiting = 0
        self._counted: list[Part] = []
        """New chunks whose words are counted: the counts take a fraction of the room of the words."""
        self.names: list[str] = json.loads(read_meta(db).get("segments", "[]"))

    def put(self, file_id: int, chunks: list[tuple[int, float, bytes, str]]) -> None:
        """Add number, scale, vector and tokens of the chunks of a new file."""
        self._new[file_id] = chunks
        self._waiting += len(chunks)
        if self._waiting >= _COUNTED_CHUNKS:
            self._count()

    def add(self, number: int, scale: float, vector: bytes, tokens: str) -> None:
        self._new.setdefault(number >> ORDINAL_BITS, []).append((number, scale, vector, tokens))

    def drop(self, file_id: int) -> None:
        """Drop what the next commit would add of a file; what is counted goes with the file's own row."""
        self._new.pop(file_id, None)

    def clear(self) -> None:
        self.names, self._new, self._counted, self._waiting = [], {}, [], 0

    def _count(self) -> None:
        new = [item for items in self._new.values() for item in items]
        if new:
            self._counted.append(Part.of(new))
        self._new, self._waiting = {}, 0

    def write(self, files: FileRows, live: int) -> None:
        """Write the new chunks, merged with the newest parts so that few remain; `live` counts chunks."""
        self._count()
        new = self._counted
        parts = [open_part(self._folder, name) for name in self.names]
        sizes = [part.vectors.numbers.size for part in parts]
        if new:
            sizes.append(sum(part.vectors.numbers.size for part in new))
        if sum(sizes) - live > _MAX_DEAD_SHARE * sum(sizes):
            first = 0
        elif new:
            first = _merge_from(sizes)
        else:
            return
        merged = [*parts[first:], *new]
        name = write_part(self._folder, merged, _live_files([part.vectors for part in merged], files))
        self.names = self.names[:first] + ([name] if name else [])
        self._counted = []

    def remove_replaced(self) -> None:
        remove_unlisted(self._folder, set(self.names))


def _live_files(segments: Sequence[Segment], files: FileRows) -> Mask:
    """Return the files that exist, as a mask over those that have rows in these segments."""
    if sum(segment.numbers.size for segment in segments) > _FEW_ROWS:
        return mask_of(files.numbers())
    held = {number >> ORDINAL_BITS for segment in segments for number in segment.numbers.tolist()}
    return mask_of(files.numbers(sorted(held)))


def _merge_from(sizes: Sequence[int]) -> int:
    """Return the first segment to merge with all newer ones: each older one is twice as large as those."""
    first = len(sizes) - 1
    gathered = sizes[first]
    while first > 0 and sizes[first - 1] < 2 * gathered:
        first -= 1
        gathered += sizes[first]
    return first
