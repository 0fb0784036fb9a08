"""The local copy of an index in LanceDB: a default store, brought to the last commit before it is read."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from findspot.core.errors import (
    IndexBusyError,
    IndexCorruptError,
    IndexFormatError,
    IndexNotFoundError,
    StoreRefusedError,
    StoreUnavailableError,
)
from findspot.core.log import get_logger
from findspot.store.index_lock import IndexLock
from findspot.store.lance.lance_commits import foreign_head, open_commit
from findspot.store.lance.lance_format import Head
from findspot.store.lance.lance_tables import Tables
from findspot.store.lance.lance_writer import EPOCH, ORIGIN, STAMP, CopyWriter
from findspot.store.sqlite_store import SqliteStore, WriterKind

_log = get_logger("store")

C = TypeVar("C", bound=CopyWriter)

CACHE = "cache"

FILL_WAIT_S = 60.0
"""How long a writer, or a reader that has nothing yet, waits for someone who fills the copy."""

_ASK_EVERY_S = 2.0
"""How old an answer from an object store may be: each look at its head is a request."""

_LEAVE_ALONE_S = 30.0
"""How long a store that is away is not asked again: finding that out takes seconds each time."""

PATIENCE_S = 10.0
"""How long a search waits for a slow store; after that the copy will do, until the look is over."""


class LocalCopy:
    """The local copy of an index in LanceDB; `trouble` says why it may be older than the tables."""

    def __init__(self, folder: Path, project_path: str, tables: Tables, lock: IndexLock) -> None:
        self.store = SqliteStore(folder / CACHE, project_path)
        self.trouble = ""
        self._tables = tables
        self._lock = lock
        self._guard = threading.Lock()
        self._current_stamp: str | None = None
        """The stamp under which the copy was last found to be current."""
        self._ask_at = float("-inf")
        self._look: _Look | None = None

    @property
    def is_filled(self) -> bool:
        """Whether the copy holds anything of the index: a copy that was only begun answers nothing."""
        with contextlib.suppress(IndexCorruptError, IndexNotFoundError):
            return self.store.exists and EPOCH in self.store.meta()
        return False

    def open_writer(self, stack: contextlib.ExitStack, kind: WriterKind[C], wait_s: float) -> C:
        """Open a writer of the copy; one that is damaged, or of a newer version, is rebuilt."""
        try:
            return stack.enter_context(self.store.writer_of(kind, wait_s))
        except IndexCorruptError as error:
            _log.warning("filling the local copy again: %s", error.developer_message)
            self.store.maintenance.delete()
            return stack.enter_context(self.store.writer_of(kind, wait_s))

    def refresh(self) -> None:
        """Bring the copy to the last commit, where it is not."""
        stamp = self._tables.stamp()
        if not self._is_due(stamp):
            return
        if self._tables.remote and self.is_filled:
            self._refresh_patiently()
        else:
            self._bring(stamp)

    def close(self) -> None:
        """Close the copy, and compare it with the tables at the next opportunity."""
        self.store.close()
        with self._guard:
            self._current_stamp, self._ask_at = None, float("-inf")

    def _is_due(self, stamp: str | None) -> bool:
        with self._guard:
            if stamp is None:
                return not self._tables.remote or time.monotonic() >= self._ask_at
            if stamp == self._current_stamp:
                return not self.store.exists
        if not self.store.exists:
            return True
        try:
            current = self.store.meta().get(STAMP) == stamp
        except IndexCorruptError:
            return True
        if current:
            self._note_current(stamp)
        return not current

    def _refresh_patiently(self) -> None:
        """Bring the copy up to date, but let nobody who has one wait long for a slow store."""
        with self._guard:
            if self._look and self._look.is_alive():
                return
            look = self._look = _Look(partial(self._bring, None))
            look.start()
        if not look.finished(PATIENCE_S):
            slow = f"{self._tables.location} is slow"
            self._fall_back("The store of this index does not answer in time.", slow)

    def _bring(self, stamp: str | None) -> None:
        wait_s = _ASK_EVERY_S
        try:
            self._fill(stamp)
            self.trouble = ""
        except IndexBusyError:
            # Whoever has the copy's lock is filling it.
            if not self.is_filled:
                raise
        except IndexFormatError:
            raise
        except (StoreUnavailableError, StoreRefusedError, IndexCorruptError) as error:
            # Damage is for the indexer to repair: it has the files.
            if not self._tables.remote or not self.is_filled:
                raise
            self._fall_back(error.user_message, error.developer_message)
            wait_s = _LEAVE_ALONE_S
        with self._guard:
            self._ask_at = time.monotonic() + wait_s

    def _fall_back(self, trouble: str, detail: str) -> None:
        self.trouble = trouble
        _log.warning("answering from the local copy: %s", detail)

    def _fill(self, stamp: str | None) -> None:
        head = self._last_head()
        if self._holds(head):
            self._note_current(stamp)
            if stamp is None:
                return
        try:
            self._follow(head, stamp)
        except IndexCorruptError:
            newer = self._last_head()
            if newer.commit == head.commit:
                raise
            self._follow(newer, None)  # the versions that were being read are gone
        self._note_current(stamp)

    def _last_head(self) -> Head:
        head = self._tables.head() or foreign_head(self._tables)
        if head is None:
            if self.store.exists:
                self.store.maintenance.delete()
            raise self._lock.not_found()
        return head

    def _holds(self, head: Head) -> bool:
        with contextlib.suppress(IndexCorruptError, IndexNotFoundError):
            return self.store.exists and self.store.meta().get(ORIGIN) == head.commit
        return False

    def _follow(self, head: Head, stamp: str | None) -> None:
        with contextlib.ExitStack() as stack:
            writer = self.open_writer(stack, CopyWriter, 0.0 if self.is_filled else FILL_WAIT_S)
            writer.follow(head, open_commit(self._tables, head), stamp)

    def _note_current(self, stamp: str | None) -> None:
        with self._guard:
            self._current_stamp = stamp


class _Look(threading.Thread):
    """One look at an object store, which whoever waits for it may leave alone."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001 - a thread has no caller; whoever waits gets the error
            self._error = error

    def finished(self, within_s: float) -> bool:
        self.join(within_s)
        if self._error:
            raise self._error
        return not self.is_alive()
