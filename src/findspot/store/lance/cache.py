"""The local copy of an index whose truth is in LanceDB: a default store, which searches read.

So both stores give the same answers, from the same code. The copy can be lost at any time: it
is brought from whatever it holds to the last commit, and only what differs is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from findspot.core.sqlite import Connection
from findspot.store import database as rows
from findspot.store import revisions
from findspot.store.build import INCOMPLETE
from findspot.store.lance.head import Head
from findspot.store.lance.truth import Truth
from findspot.store.records import StoredFile
from findspot.store.writer import Writer

ORIGIN = "origin"
EPOCH = "origin_epoch"
STAMP = "origin_stamp"
SKIPS = "origin_skips"
OWN_KEYS = frozenset({"generation", "segments", ORIGIN, EPOCH, STAMP, SKIPS})
"""What is written about the copy itself, and not about the index."""

_AT_ONCE = 20_000
"""Chunks that are added in one commit; a copy that lacks more is filled step by step, and says so."""

_READ_AT_ONCE = 10 * _AT_ONCE
"""Chunks that are looked for at once: each time, every fragment of the tables is asked."""


class CacheWriter(Writer):
    """A writer that can take over what a commit holds."""

    def __init__(self, folder: Path, db: Connection, checked: set[str]) -> None:
        super().__init__(folder, db, checked)
        self._following = False

    def follow(self, head: Head, truth: Truth, stamp: str | None) -> None:
        """Bring the copy to a commit."""
        meta = self.meta()
        if meta.get(ORIGIN) != head.commit:
            self._following = True
            if meta.get(EPOCH) != head.epoch:
                self._start_over()
            self._take_over(head, truth)
            self._following = False
        self.mark(stamp)

    def mark(self, stamp: str | None) -> None:
        """Note under which stamp the copy was found to be of the last commit."""
        if stamp and self.meta().get(STAMP) != stamp:
            self.set_meta(**{STAMP: stamp})
            self._db.execute("COMMIT")

    def _start_over(self) -> None:
        self.clear()
        self._db.execute("DELETE FROM skips")
        self._db.execute("DELETE FROM meta WHERE key NOT IN ('generation', 'segments')")

    def _take_over(self, head: Head, truth: Truth) -> None:
        self._begin()
        current = {file.id: file for file in truth.files()}
        held = {file.id: file for file in self.files()}
        for gone in held.keys() - current.keys():
            self._forget(held[gone])
        for number in held.keys() & current.keys():
            if held[number].described != current[number].described:
                revisions.describe_file(self._db, current[number])
        missing = [file for number, file in current.items() if number not in held]
        self._add(missing, truth, head)
        if missing or self.meta().get(SKIPS) != head.skips:
            revisions.replace_skips(self._db, truth.skips())
        self.set_meta(**head.meta, **{ORIGIN: head.commit, EPOCH: head.epoch, SKIPS: head.skips})
        revisions.number_from(self._db, head.last_file)
        self.commit()

    def _add(self, files: Sequence[StoredFile], truth: Truth, head: Head) -> None:
        """What the copy lacks; a large part in several commits, of an index that is being built."""
        many = sum(file.chunks for file in files) > _AT_ONCE
        waiting = 0
        parts = parts_of(sorted(files), _READ_AT_ONCE)
        found = chain.from_iterable(truth.records(part) for part in parts)
        for added, (number, record) in enumerate(found, 1):
            self.put(record, number)
            waiting += len(record.chunks)
            if many and waiting >= _AT_ONCE:
                unfinished = {"build": INCOMPLETE, "done": str(added), "total": str(len(files))}
                self.set_meta(**{**head.meta, **unfinished, EPOCH: head.epoch})
                self.commit()
                waiting = 0


def parts_of(files: Iterable[StoredFile], chunks: int) -> Iterator[list[StoredFile]]:
    """Yield the files in parts of about so many chunks."""
    part: list[StoredFile] = []
    held = 0
    for file in files:
        part.append(file)
        held += file.chunks
        if held >= chunks:
            yield part
            part, held = [], 0
    if part:
        yield part


def meta_of_index(db: Connection) -> dict[str, str]:
    """Return what is written about the index."""
    return {key: value for key, value in rows.read_meta(db).items() if key not in OWN_KEYS}
