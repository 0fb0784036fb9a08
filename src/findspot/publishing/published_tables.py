"""A published index in LanceDB tables on an object store.

All versions share the tables: a file of one content is stored once, under a number of its own. The head lists
the versions, each with the versions of the tables that hold its rows. Publishing restores the tables to the
version that has most in common, replaces the rows of the files that differ, and exchanges the head. What a
killed publisher left is undone by the next one, and of two at once the first to exchange the head goes on.

`PublishedTables` reads. `Publisher` writes, and only `findspot publish` opens one.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from findspot.core.errors import IndexBusyError, IndexCorruptError, InvalidArgumentError
from findspot.core.log import get_logger
from findspot.core.model import FETCHING, Progress
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.sqlite import connect_logged, migrate, transaction
from findspot.publishing.choosing import likely_near
from findspot.publishing.published import Sent, Version
from findspot.store.database import MIGRATIONS, write_meta
from findspot.store.index_rows import SkipRows, insert_file
from findspot.store.lance.lance_commits import OwnCommit, foreign_head, open_commit
from findspot.store.lance.lance_format import (
    CHUNK_TABLES,
    FILES_TABLE,
    REFERENCES_TABLE,
    SKIPS_TABLE,
    TABLES,
    Head,
    file_rows,
    first_head,
    new_name,
    skip_rows,
)
from findspot.store.lance.lance_store import follow
from findspot.store.lance.lance_tables import Draft, OvertakenError, Tables, WritableTables
from findspot.store.lance.lance_writer import digest_of, row_batches
from findspot.store.records import StoredFile
from findspot.store.snapshot import Snapshot
from findspot.store.sqlite_store import SqliteStore
from findspot.store.store_protocol import Store

_log = get_logger("publishing")

_META = ("model", "pipeline", "build", "created_at", "updated_at", "last_full_index")
"""What a version says about its index: nothing about the machine that made it."""

_TRIES = 6
_PAUSE_S = 0.5
"""Between tries while another publisher writes; each waits a random part of it."""

_UNTIDY = 40
"""Publications after which small fragments are put together."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A version, and where its rows are."""

    version: Version
    content: str
    epoch: str
    tables: dict[str, int]
    meta: dict[str, str]
    skips: str

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> _Entry:
        try:
            rest = {name: value for name, value in values.items() if name != "version"}
            return cls(Version(**values["version"]), **rest)
        except (TypeError, KeyError) as error:
            raise IndexCorruptError(f"head: {error}") from error

    @classmethod
    def of(cls, head: Head, version: Version) -> _Entry:
        return cls(version, head.commit, head.epoch, head.tables, head.meta, head.skips)

    def head(self, last: Head) -> Head:
        """Return the head that would name these rows and nothing else."""
        return replace(
            last,
            commit=self.content,
            epoch=self.epoch,
            tables=self.tables,
            meta=self.meta,
            skips=self.skips,
            versions=[],
        )


class PublishedTables:
    """The versions of one project's index in tables on an object store, to be read."""

    def __init__(self, address: str, options: Mapping[str, str] | None = None) -> None:
        """`options` of lancedb's client of an object store go before ours."""
        self.address = address
        self._options = options
        self._tables = Tables(address, options)

    def versions(self) -> Sequence[Version]:
        """Return all versions, the newest first; none where nothing was published yet."""
        return tuple(entry.version for entry in _entries(self._head()))

    def fetch(
        self,
        version: Version,
        path: Path,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> None:
        """Write a version's index to one database file, in the form that `Maintenance.copy_to` writes."""
        head = self._head_of(version)
        commit = open_commit(self._tables, head)
        files = commit.files()
        token = cancel or CancelToken()
        with contextlib.closing(connect_logged(path)) as db:
            migrate(db, MIGRATIONS)
            with transaction(db):
                done, total = 0, sum(file.size for file in files)
                for number, record in commit.records(files):
                    token.check()
                    insert_file(db, record, number)
                    done += record.file.size
                    progress(Progress(done >> 10, total >> 10, FETCHING))
                SkipRows(db).replace_shared(commit.skips())
                write_meta(db, head.meta)

    def follow(self, version: Version, copy: SqliteStore, note: dict[str, str]) -> None:
        """Bring a copy to a version, with a note about it; only what differs from what it holds is read."""
        head = self._head_of(version)
        follow(copy, self._tables, replace(head, meta={**head.meta, **note}))

    def add(self, version: Version, store: Store) -> Sent:
        """Add the index in a store as a version: send only what the nearest version at the address lacks."""
        return self._publisher.add(version, store)

    def remove(self, versions: Iterable[Version]) -> None:
        """Remove versions, and what only they used."""
        self._publisher.remove({version.key for version in versions})

    @cached_property
    def _publisher(self) -> Publisher:
        return Publisher(WritableTables(self.address, self._options))

    def _head(self) -> Head:
        return self._tables.head() or foreign_head(self._tables) or first_head({})

    def _head_of(self, version: Version) -> Head:
        head = self._head()
        for entry in _entries(head):
            if entry.version.key == version.key:
                return entry.head(head)
        raise InvalidArgumentError(f"{self.address} no longer has the version {version.commit[:7]}.")


def _attempts() -> Iterator[int]:
    """Yield each attempt; pause in between for a random time, so that two publishers do not meet again."""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(random.uniform(0, _PAUSE_S))  # an object store cannot tell when the other is done
        yield attempt


class Publisher:
    """Adds versions to tables and removes them."""

    def __init__(self, tables: WritableTables) -> None:
        self._tables = tables

    def add(self, version: Version, store: Store) -> Sent:
        """Add the index in a store as a version; another publisher's work is waited for, and followed."""
        with store.snapshot() as snapshot:
            for _ in _attempts():
                head = self._head() or self._begin()
                with contextlib.suppress(OvertakenError):
                    sent = self._add(head, version, snapshot)
                    with contextlib.suppress(IndexBusyError):
                        self.remove(set())  # small fragments are put together from time to time
                    return sent
        raise IndexBusyError("another publisher")

    def remove(self, keys: set[tuple[str, str, str, str]]) -> None:
        """Remove versions, and the rows that no other version needs."""
        for _ in _attempts():
            head = self._head()
            if head is None:
                return
            left = [entry for entry in _entries(head) if entry.version.key not in keys]
            if len(left) == len(head.versions) and head.untidy < _UNTIDY:
                return
            with contextlib.suppress(OvertakenError):
                if self._tidy(head, left):
                    return
        raise IndexBusyError("another publisher")

    def _add(self, head: Head, version: Version, snapshot: Snapshot) -> Sent:
        try:
            changes = _Changes(snapshot, self._nearest(head, version, snapshot), head.last_file)
            entry = self._send(head, version, changes)
        except IndexCorruptError as error:
            if not head.versions:
                raise
            _log.warning("publishing every row again: %s", error.developer_message)
            return self._add(replace(head, versions=[]), version, snapshot)
        if not self._exchange(head, entry, changes.last_file):
            raise OvertakenError("another publisher")
        return Sent(len(changes.added), changes.sent_bytes)

    def _head(self) -> Head | None:
        try:
            return self._tables.head()
        except IndexCorruptError as error:
            error.hint = f"Remove what is at {self._tables.location}, or publish to another address."
            raise

    def _begin(self) -> Head:
        if foreign_head(self._tables) is not None:
            raise InvalidArgumentError(
                f"The tables at {self._tables.location} belong to another program.",
                hint="Publish to an address of its own.",
            )
        return self._tables.begin(first_head({}))

    def _nearest(self, head: Head, version: Version, snapshot: Snapshot) -> tuple[_Entry, list[StoredFile]]:
        """Return the version that has most files in common, and its files; an empty one where none fits."""
        entries = {entry.version: entry for entry in _entries(head)}
        near = [entries[candidate] for candidate in likely_near(entries, version)]
        candidates = {entry.content: entry for entry in near}
        read = [(entry, self._files(head, entry)) for entry in candidates.values()]
        nothing = replace(_Entry.of(first_head({}), version), content="")
        wanted = {(file.path, file.sha256) for file in snapshot.files.files}
        return max(
            read,
            key=lambda each: len(wanted & {(file.path, file.sha256) for file in each[1]}),
            default=(nothing, []),
        )

    def _files(self, head: Head, entry: _Entry) -> list[StoredFile]:
        return OwnCommit(self._tables, entry.head(head)).files()

    def _send(self, head: Head, version: Version, changes: _Changes) -> _Entry:
        """Write what differs from the nearest version, and return where the rows of this one are."""
        base = changes.base
        entry = replace(base, version=version, meta=changes.meta, skips=changes.skips_digest)
        if changes.is_empty:
            return entry
        draft = Draft(self._tables, base.head(head) if base.content else replace(head, tables={}))
        changes.write(draft)
        epoch = base.epoch if base.content else new_name()
        return replace(entry, content=new_name(), epoch=epoch, tables=dict(draft.versions))

    def _exchange(self, head: Head, entry: _Entry, last_file: int) -> bool:
        others = [each for each in head.versions if _Entry.read(each).version.key != entry.version.key]
        new = replace(
            entry.head(head),
            generation=head.generation + 1,
            last_file=last_file,
            untidy=head.untidy + 1,
            versions=[asdict(entry), *others],
        )
        return self._tables.exchange(head, new)

    def _tidy(self, head: Head, entries: Sequence[_Entry]) -> bool:
        """Commit the versions that are left, then let go of what none of them needs."""
        last = replace(head, generation=head.generation + 1, versions=[asdict(entry) for entry in entries])
        if not self._tables.exchange(head, last):
            return False
        needed = {name: {each.tables[name] for each in entries if name in each.tables} for name in TABLES}
        draft = Draft(self._tables, last)
        draft.compact(needed)
        compacted = [
            replace(each, tables=dict(draft.versions)) if each.tables == last.tables else each
            for each in entries
        ]
        tidy = replace(
            last,
            generation=last.generation + 1,
            tables=dict(draft.versions),
            untidy=0,
            versions=[asdict(each) for each in compacted],
        )
        return self._tables.exchange(last, tidy)


class _Changes:
    """What the index of a publisher has that the nearest version has not, and the other way round."""

    def __init__(self, snapshot: Snapshot, nearest: tuple[_Entry, list[StoredFile]], last_file: int) -> None:
        self.base, published = nearest
        self._snapshot = snapshot
        held = {_content(file): file for file in published}
        local = {_content(file): file for file in snapshot.files.files}
        self.gone = [file for content, file in held.items() if content not in local]
        missing = sorted(file for content, file in local.items() if content not in held)
        self.added = [(last_file + place, file) for place, file in enumerate(missing, 1)]
        """With the numbers that the tables will know them by."""
        self.last_file = last_file + len(self.added)
        self.skips = [
            (*row[:-1], row[-1] and 0) for row in snapshot.skips.shared()
        ]  # times are a machine's own
        self.skips_digest = digest_of(self.skips)
        meta = snapshot.meta()
        self.meta = {name: meta[name] for name in _META if name in meta}
        self.sent_bytes = 0

    @property
    def is_empty(self) -> bool:
        same_skips = self.skips_digest == self.base.skips
        return bool(self.base.content) and same_skips and not (self.gone or self.added)

    def write(self, draft: Draft) -> None:
        """Bring tables that are at the nearest version to this one."""
        gone = [file.id for file in self.gone]
        for corpus, table in CHUNK_TABLES.items():
            draft.delete(table, "file_id", [file.id for file in self.gone if file.corpus == corpus])
        draft.delete(REFERENCES_TABLE, "file_id", gone)
        draft.delete(FILES_TABLE, "id", gone)
        for table, batch in row_batches(self.added, self._snapshot.record):
            self._append(draft, table, batch)
        if self.added:
            numbered = (file._replace(id=number, mtime_ns=0) for number, file in self.added)
            self._append(draft, FILES_TABLE, file_rows(numbered))
        if self.skips_digest != self.base.skips:
            draft.empty(SKIPS_TABLE)
            self._append(draft, SKIPS_TABLE, skip_rows(self.skips))

    def _append(self, draft: Draft, table: str, rows: Any) -> None:
        self.sent_bytes += rows.nbytes
        draft.append(table, rows)


def _content(file: StoredFile) -> tuple[object, ...]:
    """Return what two files have in common whose rows are the same."""
    return file.path, file.sha256, file.corpus, file.language, file.chunks


def _entries(head: Head) -> list[_Entry]:
    """Return the versions that a head lists; a head without any is one version of no known commit."""
    if head.versions or not head.tables:
        return [_Entry.read(values) for values in head.versions]
    meta = head.meta
    made = (meta.get("updated_at", ""), 0, 0, meta.get("model", ""), meta.get("pipeline", ""))
    return [_Entry.of(head, Version("", "", *made))]
