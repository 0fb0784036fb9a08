"""The writers of an index in LanceDB: one fills the local copy, one also publishes to the tables.

The local copy is a default store, which searches read, so both stores give the same answers from the same
code. The copy can be lost at any time: it is brought from whatever it holds to the last commit, and only the
differences are read. What is committed here is in the tables first.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from findspot.core.errors import IndexBusyError
from findspot.core.log import get_logger
from findspot.core.model import SourceFile
from findspot.core.sqlite import Connection
from findspot.store.database import ADDITIONS, begin, read_meta, write_meta
from findspot.store.index_meta import INCOMPLETE
from findspot.store.index_rows import file_record
from findspot.store.lance.lance_commits import Commit
from findspot.store.lance.lance_format import (
    CHUNK_TABLES,
    FILES_TABLE,
    REFERENCES_TABLE,
    SKIPS_TABLE,
    Head,
    chunk_rows,
    file_rows,
    new_name,
    reference_rows,
    skip_rows,
)
from findspot.store.lance.lance_tables import Draft, OvertakenError, WritableTables
from findspot.store.records import FileRecord, StoredFile
from findspot.store.writer import Writer

ORIGIN = "origin"
EPOCH = "origin_epoch"
STAMP = "origin_stamp"
SKIPS = "origin_skips"
OWN_KEYS = frozenset({"generation", "segments", ADDITIONS, ORIGIN, EPOCH, STAMP, SKIPS})
"""What is written about the copy itself, and not about the index."""

_AT_ONCE = 20_000
"""Chunks that are added in one commit; a copy that lacks more is filled step by step, and says so."""

_READ_AT_ONCE = 10 * _AT_ONCE
"""Chunks that are looked for at once: each time, every fragment of the tables is asked."""


class CopyWriter(Writer):
    """A writer that can take over what a commit holds."""

    def __init__(self, folder: Path, db: Connection, checked: set[str]) -> None:
        super().__init__(folder, db, checked)
        self._following = False

    def follow(self, head: Head, commit: Commit, stamp: str | None) -> None:
        """Bring the copy to a commit."""
        meta = self.meta()
        if meta.get(ORIGIN) != head.commit:
            self._following = True
            if meta.get(EPOCH) != head.epoch:
                self._start_over()
            self._take_over(head, commit)
            self._following = False
        self.note_stamp(stamp)

    def note_stamp(self, stamp: str | None) -> None:
        """Note under which stamp the copy was found to be of the last commit."""
        if stamp and self.meta().get(STAMP) != stamp:
            self.set_meta(**{STAMP: stamp})
            self._db.execute("COMMIT")

    def _start_over(self) -> None:
        self.clear()
        self._db.execute("DELETE FROM skips")
        self._db.execute("DELETE FROM meta WHERE key NOT IN ('generation', 'segments')")

    def _take_over(self, head: Head, commit: Commit) -> None:
        begin(self._db)
        self._only_added = False
        current = {file.id: file for file in commit.files()}
        held = {file.id: file for file in self.files.all()}
        for gone in held.keys() - current.keys():
            self._forget(held[gone])
        for number in held.keys() & current.keys():
            if held[number].described != current[number].described:
                self.files.set_size_and_time(current[number])
        missing = [file for number, file in current.items() if number not in held]
        self._add(missing, commit, head)
        if missing or self.meta().get(SKIPS) != head.skips:
            self.skips.replace_shared(commit.skips())
        self.set_meta(**head.meta, **{ORIGIN: head.commit, EPOCH: head.epoch, SKIPS: head.skips})
        self.files.reserve_numbers(head.last_file)
        self.commit()

    def _add(self, files: Sequence[StoredFile], commit: Commit, head: Head) -> None:
        """Add the files that the copy lacks; many of them in several commits, as of an unfinished index."""
        many = sum(file.chunks for file in files) > _AT_ONCE
        waiting = 0
        parts = parts_of(((file.id, file) for file in sorted(files)), _READ_AT_ONCE)
        found = chain.from_iterable(commit.records([file for _, file in part]) for part in parts)
        for added, (number, record) in enumerate(found, 1):
            self.put(record, number)
            waiting += len(record.chunks)
            if many and waiting >= _AT_ONCE:
                unfinished = {"build": INCOMPLETE, "done": str(added), "total": str(len(files))}
                self.set_meta(**{**head.meta, **unfinished, EPOCH: head.epoch})
                self.commit()
                waiting = 0


def parts_of(files: Iterable[tuple[int, StoredFile]], chunks: int) -> Iterator[list[tuple[int, StoredFile]]]:
    """Yield numbered files in parts of about this many chunks."""
    part: list[tuple[int, StoredFile]] = []
    held = 0
    for number, file in files:
        part.append((number, file))
        held += file.chunks
        if held >= chunks:
            yield part
            part, held = [], 0
    if part:
        yield part


def meta_of_index(db: Connection) -> dict[str, str]:
    """Return what is written about the index."""
    return {key: value for key, value in read_meta(db).items() if key not in OWN_KEYS}


_log = get_logger("store")

_TRIES = 6
_PAUSE_S = 0.2
"""Between tries to write while another indexer writes too; each waits a random part of it."""

_BATCH_CHUNKS = 4_000
"""Rows that are added to a table at a time: some ten megabytes."""

ANN_ROWS = 200_000
"""Below it, other programs scan a table in about a tenth of a second."""

_UNTIDY = 40
"""Commits after which the writer puts small fragments together before it closes."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a commit changes in the tables."""

    gone: Sequence[tuple[str, int]]
    """Corpus and number of files that the tables hold and the index no longer does."""
    added: Sequence[StoredFile]
    described: Sequence[StoredFile]
    """Files of which only size or time of writing is new."""
    skips: Sequence[tuple[Any, ...]] | None
    everything: bool
    """Whether the tables are to hold what is added and nothing else."""


class LanceWriter(CopyWriter):
    """The one writer: the tables and their head go before the copy's own commit."""

    def __init__(
        self, folder: Path, db: Connection, checked: set[str], tables: WritableTables, head: Head
    ) -> None:
        super().__init__(folder, db, checked)
        self._tables = tables
        self._head = head
        self._draft: Draft | None = None
        self._touched: set[str] = set()
        self._given: dict[int, FileRecord] = {}
        """What was put since the last commit, so that it need not be read again."""
        self._everything = head.foreign
        self.published = False

    def touch(self, file: SourceFile) -> None:
        super().touch(file)
        self._touched.add(file.path)

    def forget_vectors(self) -> None:
        super().forget_vectors()
        self._everything = True
        self._given.clear()

    def publish_all(self) -> None:
        """Commit all that the copy holds: for an index that comes from another store."""
        self._everything = True
        self.commit()

    def tidy(self, *, now: bool = False, ann_rows: int = ANN_ROWS) -> None:
        """Put small fragments together and drop old versions, now or after enough commits.

        With `now`, tables of at least `ann_rows` rows get an approximate index of their vectors, too.
        """
        if not now and self._head.untidy < _UNTIDY:
            return
        draft = Draft(self._tables, self._head)
        if now:
            draft.index_vectors(ann_rows)
        draft.compact()
        head = replace(self._head, generation=self._head.generation + 1, tables=draft.versions, untidy=0)
        if self._tables.exchange(self._head, head):
            self._head = head
            self.note_stamp(self._tables.stamp())
        self._draft = None

    def _note_stored(self, file_id: int, record: FileRecord) -> None:
        if not self._following:
            self._given[file_id] = record

    def _publish(self) -> None:
        if self._following:
            return
        changes = self._changes()
        for _ in range(_TRIES):
            try:
                draft = self._draft or Draft(self._tables, self._head)
                head = self._put(draft, changes)
                break
            except OvertakenError:
                # Someone else writes to the tables as well; who exchanges the head first has won.
                self._draft = None
                self._check_head()
                time.sleep(random.uniform(0, _PAUSE_S))
        else:
            raise IndexBusyError("another indexer")
        if not self._tables.exchange(self._head, head):
            raise IndexBusyError("another indexer")
        self._draft, self._head = draft, head
        self._touched.clear()
        self._given.clear()
        self._everything, self.published = False, True
        marks = {ORIGIN: head.commit, EPOCH: head.epoch, SKIPS: head.skips, STAMP: self._tables.stamp() or ""}
        write_meta(self._db, marks)

    def _changes(self) -> Changes:
        head = self._head
        everything = self._everything
        added = self.files.numbered_above(0 if everything else head.last_file)
        skips = self.skips.shared()
        touched = (self.files.find(path) for path in sorted(self._touched))
        return Changes(
            gone=[] if everything else [item for item in self._replaced if item[1] <= head.last_file],
            added=added,
            described=[file for file in touched if file and not everything and file.id <= head.last_file],
            skips=skips if everything or digest_of(skips) != head.skips else None,
            everything=everything,
        )

    def _put(self, draft: Draft, changes: Changes) -> Head:
        """Write the changes, and return the head that names them."""
        self._take_out(draft, changes)
        numbered = ((file.id, file) for file in changes.added)
        for table, batch in row_batches(numbered, self._record):
            draft.append(table, batch)
        if changes.added or changes.described:
            draft.append(FILES_TABLE, file_rows([*changes.added, *changes.described]))
        if changes.skips is not None:
            draft.empty(SKIPS_TABLE)
            draft.append(SKIPS_TABLE, skip_rows(changes.skips))
        head = self._head
        return Head(
            generation=head.generation + 1,
            commit=new_name(),
            epoch=new_name() if changes.everything else head.epoch,
            tables=dict(draft.versions),
            meta=meta_of_index(self._db),
            last_file=max(head.last_file, self.files.last_number()),
            skips=head.skips if changes.skips is None else digest_of(changes.skips),
            untidy=head.untidy + 1,
        )

    def _take_out(self, draft: Draft, changes: Changes) -> None:
        if changes.everything:
            for table in (*CHUNK_TABLES.values(), FILES_TABLE, REFERENCES_TABLE):
                draft.empty(table)
            return
        gone = [number for _, number in changes.gone]
        for corpus, table in CHUNK_TABLES.items():
            draft.delete(table, "file_id", [number for its, number in changes.gone if its == corpus])
        draft.delete(REFERENCES_TABLE, "file_id", gone)
        draft.delete(FILES_TABLE, "id", [*gone, *(file.id for file in changes.described)])

    def _record(self, file: StoredFile) -> FileRecord:
        return self._given.get(file.id) or file_record(self._db, file)

    def _check_head(self) -> None:
        found = self._tables.head()
        if found is None or found.generation != self._head.generation:
            raise IndexBusyError("another indexer")


def row_batches(
    files: Iterable[tuple[int, StoredFile]], record_of: Callable[[StoredFile], FileRecord]
) -> Iterator[tuple[str, Any]]:
    """Yield the chunks of files, and what these say about names, as rows: each batch of one table.

    Each file comes with the number that the tables know it by.
    """
    for part in parts_of(files, _BATCH_CHUNKS):
        records = [(number, record_of(file)) for number, file in part]
        for corpus, table in CHUNK_TABLES.items():
            batch = chunk_rows([(n, record) for n, record in records if record.file.corpus == corpus])
            if batch is not None:
                yield table, batch
        if (batch := reference_rows(records)) is not None:
            yield REFERENCES_TABLE, batch


def digest_of(skips: Iterable[tuple[Any, ...]]) -> str:
    return hashlib.sha256(repr(list(skips)).encode("utf-8", "surrogatepass")).hexdigest()
