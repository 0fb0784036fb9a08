"""Adds versions to a published index, and removes them. Only `findspot publish` does.

All versions share the tables: a file of one content is stored once, under a number of its own. Publishing
restores the tables to the last version of the branch, replaces the rows of the files that differ, lets
the indexes cover them, and exchanges the head. What a killed publisher left is undone by the next one. Of two
at once, the first to exchange the head goes on, and the other begins again.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

from findspot.core.errors import IndexBusyError, IndexCorruptError
from findspot.core.log import get_logger
from findspot.publishing.choosing import base_of
from findspot.publishing.published import Entry, PublishedIndex, Version, entries_of
from findspot.publishing.published_history import commit_batches, commits_to_publish
from findspot.store.lance.lance_format import (
    BY_FILE,
    COMMITS_TABLE,
    SKIPS_TABLE,
    WORDS_TABLE,
    NumberedFile,
    file_batches,
    table_of,
)
from findspot.store.lance.lance_snapshot import VersionRows
from findspot.store.lance.lance_tables import Draft, Head, OvertakenError, WritableTables
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Store

_log = get_logger("publishing")

_META = ("model", "pipeline", "build", "created_at", "updated_at", "last_full_index")
"""What a version says about its index: nothing about the machine that made it."""

_TRIES = 6
_PAUSE_S = 0.5
"""Between tries while another publisher writes; each waits a random part of it."""

_UNTIDY = 20
"""Changes of the head after which small fragments are put together."""


class Publisher:
    """The versions at one address, to be changed."""

    def __init__(self, published: PublishedIndex, checkout: Path | None = None) -> None:
        """With a checkout, its commits are published too."""
        self._published, self._checkout = published, checkout
        self._tables = WritableTables(published.location, published.options)

    def add(self, version: Version, store: Store) -> tuple[int, int]:
        """Add the index in a store as a version: send only what the nearest version at the address lacks.

        Another publisher's work is waited for, and followed. Returns the files sent, and their bytes.
        """
        with store.snapshot() as snapshot:
            for _ in _attempts():
                head = self._head() or self._tables.begin()
                with contextlib.suppress(OvertakenError):
                    sent = self._add(head, version, snapshot)
                    with contextlib.suppress(IndexBusyError):
                        self.remove(())
                    return sent
        raise IndexBusyError("another publisher")

    def remove(self, versions: Iterable[Version]) -> None:
        """Remove versions, and the rows that no other version needs; tidy the tables from time to time."""
        keys = {version.key for version in versions}
        for _ in _attempts():
            head = self._head()
            if head is None or (not keys and head.generation % _UNTIDY):
                return
            left = [entry for entry in entries_of(head) if entry.version.key not in keys]
            with contextlib.suppress(OvertakenError):
                if self._tidy(head, left):
                    return
        raise IndexBusyError("another publisher")

    def _head(self) -> Head | None:
        try:
            return self._tables.head()
        except IndexCorruptError as error:
            error.hint = f"Remove what is at {self._published.address}, or publish to another address."
            raise

    def _add(self, head: Head, version: Version, snapshot: Snapshot) -> tuple[int, int]:
        entries = entries_of(head)
        by_version = {entry.version: entry for entry in entries}
        base = base_of(by_version, version)
        try:
            changes = _Changes(snapshot, by_version[base] if base else None, self._tables, head.last_file)
            tables = changes.send(self._checkout)
        except IndexCorruptError as error:
            if not entries:
                raise
            _log.warning("publishing every row again: %s", error.developer_message)
            return self._add(replace(head, versions=[]), version, snapshot)
        entry = Entry(version, tables, changes.meta)
        others = [each for each in entries if each.version.key != version.key]
        listed = [asdict(each) for each in (entry, *others)]
        if not self._tables.exchange(head, Head(head.generation + 1, changes.last_file, listed)):
            raise OvertakenError("another publisher")
        return len(changes.added), changes.sent_bytes

    def _tidy(self, head: Head, left: Sequence[Entry]) -> bool:
        """Commit the versions that are left, then let go of what none of them needs."""
        last = Head(head.generation + 1, head.last_file, [asdict(entry) for entry in left])
        if not self._tables.exchange(head, last):
            return False
        needed: dict[str, set[int]] = defaultdict(set)
        for entry in left:
            for name, number in entry.tables.items():
                needed[name].add(number)
        moved = self._tables.tidy(needed)
        listed = [asdict(replace(entry, tables=_moved(entry.tables, moved))) for entry in left]
        self._tables.exchange(last, Head(last.generation + 1, last.last_file, listed))
        return True


def _moved(tables: dict[str, int], moved: dict[str, tuple[int, int]]) -> dict[str, int]:
    """Return versions of tables, those that were put together at their new version."""
    return {
        name: moved[name][1] if name in moved and moved[name][0] == version else version
        for name, version in tables.items()
    }


def _attempts() -> Iterator[int]:
    """Yield each attempt; pause in between for a random time, so that two publishers do not meet again."""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(random.uniform(0, _PAUSE_S))  # an object store cannot tell when the other is done
        yield attempt


class _Changes:
    """What the index of a publisher has that the version it goes on from has not, and the other way round."""

    def __init__(
        self, snapshot: Snapshot, base: Entry | None, tables: WritableTables, last_file: int
    ) -> None:
        self._base, self._tables, self._snapshot = base.tables if base else {}, tables, snapshot
        published = list(VersionRows(tables, self._base).numbered()) if base else []
        digests = snapshot.edges.digests()
        local = [NumberedFile(0, file, digests.get(file.id, 0)) for file in snapshot.files.files]
        held = {each.content: each for each in published}
        wanted = {each.content for each in local}
        self._gone = [each.number for each in published if each.content not in wanted]
        missing = (each for each in local if each.content not in held)
        self.added = [each._replace(number=last_file + place) for place, each in enumerate(missing, 1)]
        self.last_file = last_file + len(self.added)
        meta = snapshot.meta()
        self.meta = {name: meta[name] for name in _META if name in meta}
        self.sent_bytes = 0

    def send(self, checkout: Path | None) -> dict[str, int]:
        """Bring the tables from the base to this version; return the versions that hold it."""
        base = self._base
        commits = commits_to_publish(checkout) if checkout else {}
        listed = VersionRows(self._tables, base).all(COMMITS_TABLE, ("number",)) if base else ()
        held = {number for (number,) in listed}
        if base and not (self._gone or self.added or commits.keys() ^ held):
            return base
        draft = Draft(self._tables, base)
        draft.delete(COMMITS_TABLE, sorted(held - commits.keys()))
        for table in BY_FILE if self._gone else ():
            draft.delete(table, self._gone)
        snapshot, new = self._snapshot, {n: name for n, name in commits.items() if n not in held}
        batches = commit_batches(checkout, new) if checkout else ()
        of_commits = ((COMMITS_TABLE, table_of(COMMITS_TABLE, batch)) for batch in batches)
        of_files = file_batches(self.added, snapshot.record, snapshot.edges.of_file)
        for table, rows in chain(of_commits, of_files):
            self.sent_bytes += rows.nbytes
            draft.add(table, rows)
        self._replace_whole_tables(draft)
        return draft.finish()

    def _replace_whole_tables(self, draft: Draft) -> None:
        # Times are a machine's own.
        skips = [(*row[:-1], row[-1] and 0) for row in self._snapshot.skips.shared()]
        words = [reader.frequencies().row(corpus) for corpus, reader in self._snapshot.keywords.items()]
        draft.add(SKIPS_TABLE, table_of(SKIPS_TABLE, skips), instead=True)
        draft.add(WORDS_TABLE, table_of(WORDS_TABLE, words), instead=True)
