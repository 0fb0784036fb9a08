"""The store of a reader without the project's files: a copy of a published index that is only read.

A search server in an empty folder answers from it. The copy is a default store in `cache/`. It is brought to
the newest fitting version at most once a minute per machine, and answers whatever the address does meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from findspot.core.errors import (
    FindspotError,
    IndexBusyError,
    IndexCorruptError,
    IndexFormatError,
    InvalidArgumentError,
    StoreRefusedError,
    StoreUnavailableError,
)
from findspot.core.files import remove_folder
from findspot.core.log import get_logger
from findspot.core.paths import Roots, stat_of
from findspot.core.sqlite import remove_database
from findspot.publishing.choosing import nearest, read_checkout
from findspot.publishing.published import PublishedIndex, Version
from findspot.store.lance.lance_store import CACHE, is_filled
from findspot.store.lance.lance_writer import EPOCH, ORIGIN
from findspot.store.records import DerivedDamagedError
from findspot.store.snapshot import Snapshot
from findspot.store.sqlite_store import SqliteStore
from findspot.store.store_protocol import Figures
from findspot.store.writer import Writer

_log = get_logger("store")

LOOK_EVERY_S = 60.0
"""How old the last look at the address may be, of whichever process of this machine."""

LEAVE_ALONE_S = 30.0
"""How long an address that is away is not asked again: finding that out takes seconds each time."""

PATIENCE_S = 10.0
"""How long a search waits for a slow address; after that the copy will do, until the look is over."""

_LOOKED = "looked"
"""The file in the copy's folder whose time of writing says when the address was last asked."""

_FETCHED = "fetched.sqlite"

PROJECT = "{project}"
"""Replaced in an address by the name of the project's folder: one setting then serves several projects."""

_SAMPLE = 1_000
"""Files that are looked for, to tell whether the project's files are here."""

_VERSION = "origin_version"
"""The row of the copy's `meta` that says which version it holds."""


class ReadOnlyError(InvalidArgumentError):
    """A change to an index that can only be read here."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"This folder has none of the files of the published index {address}. "
            "Searches answer from that index, and nothing is indexed here.",
            hint="Run `findspot store use default` to index this folder by itself.",
        )


class CopyFiller:
    """Brings a copy to what is published; `trouble` says why the copy may be older."""

    def __init__(self, copy: SqliteStore, root: Path, source: PublishedIndex) -> None:
        self.copy = copy
        self.address = source.address
        self.trouble = ""
        self._root = root
        self._source = source
        self._guard = threading.Lock()
        self._ask_at = float("-inf")
        self._look: _Look | None = None

    @property
    def version(self) -> Version | None:
        """The version that the copy holds; None before there is one."""
        with contextlib.suppress(FindspotError, ValueError, TypeError):
            return Version(**json.loads(self.copy.meta().get(_VERSION, "")))
        return None

    def refresh(self) -> None:
        """Bring the copy to the newest version that fits, where that is due."""
        filled = is_filled(self.copy)
        if not self._is_due(filled):
            return
        if filled:
            self._refresh_patiently()
        else:
            self._bring()

    def _is_due(self, filled: bool) -> bool:
        if time.monotonic() < self._ask_at:
            return not filled
        looked = stat_of(self.copy.folder / _LOOKED)
        return not (filled and looked and 0 <= time.time() - looked.st_mtime < LOOK_EVERY_S)

    def _refresh_patiently(self) -> None:
        """Bring the copy up to date, but let nobody who has one wait long for a slow address."""
        with self._guard:
            if self._look and self._look.is_alive():
                return
            look = self._look = _Look(self._bring)
            look.start()
        if not look.finished(PATIENCE_S):
            self._fall_back("Its address does not answer in time.", f"{self.address} is slow")

    def _bring(self) -> None:
        try:
            self._fetch_newest()
        except IndexBusyError:  # whoever has the copy's lock is filling it
            if not is_filled(self.copy):
                raise
        except IndexFormatError:
            raise
        except (StoreUnavailableError, StoreRefusedError, IndexCorruptError) as error:
            if not is_filled(self.copy):
                raise
            self._fall_back(error.user_message, error.developer_message)
            self._ask_at = time.monotonic() + LEAVE_ALONE_S
            return
        self._ask_at = float("-inf")
        with contextlib.suppress(OSError):
            (self.copy.folder / _LOOKED).touch()

    def _fall_back(self, trouble: str, detail: str) -> None:
        self.trouble = f"The copy on this machine answers: {trouble[0].lower()}{trouble[1:]}"
        _log.warning("answering from the copy: %s", detail)

    def _fetch_newest(self) -> None:
        version = nearest(self._source.versions(), read_checkout(self._root))
        if version is None:
            if not is_filled(self.copy):
                raise self.copy.lock.not_found()
            self._fall_back("Nothing is published at its address any more.", self.address)
            return
        if version != self.version:
            self._take(version)
        self.trouble = ""

    def _take(self, version: Version) -> None:
        from findspot.publishing.published_tables import PublishedTables

        note = {_VERSION: json.dumps(asdict(version))}
        if isinstance(self._source, PublishedTables):
            self._source.follow(version, self.copy, note)
            return
        path = self.copy.folder.parent / _FETCHED
        remove_database(path)
        try:
            self._source.fetch(version, path)
            self.copy.maintenance.take(path)
        finally:
            remove_database(path)
        with self.copy.writer() as writer:
            writer.set_meta(**note, **{ORIGIN: version.commit, EPOCH: version.commit})
            writer.commit()


class SharedCopy:
    """A copy of a published index, which can only be read."""

    kind = "shared"
    read_only = True
    damaged = False
    """A damaged copy is filled again at once."""

    def __init__(self, folder: Path, root: Path, source: PublishedIndex) -> None:
        self.folder = folder
        self.address = source.address
        self.copy = SqliteStore(folder / CACHE, str(root))
        self.filler = CopyFiller(self.copy, root, source)
        self.maintenance = SharedCopyMaintenance(self)
        self._source = source
        self._empty_until = float("-inf")

    @property
    def exists(self) -> bool:
        if is_filled(self.copy):
            return True
        if time.monotonic() < self._empty_until:
            return False
        try:
            versions = self._source.versions()
        except FindspotError:  # a reader gets the reason with its first question
            return True
        if not versions:
            self._empty_until = time.monotonic() + LEAVE_ALONE_S
        return bool(versions)

    @property
    def local(self) -> SqliteStore:
        return self.copy

    @property
    def being_written(self) -> bool:
        return self.copy.being_written

    @property
    def notice(self) -> str:
        version = self.filler.version
        made = f", commit {version.commit[:7]} of {version.branch}" if version and version.commit else ""
        note = f"From the published index {self.address}{made}, not compared with files here."
        return f"{note} {self.filler.trouble}".strip()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open what the copy holds, after a look at the address where one is due."""
        self.filler.refresh()
        try:
            with self.copy.snapshot() as snapshot:
                yield snapshot
        except DerivedDamagedError:
            raise
        except IndexCorruptError:
            with contextlib.suppress(IndexBusyError):
                self.copy.maintenance.delete()  # the next snapshot fetches it again
            raise

    def writer(self, wait_s: float = 0.0, *, create: bool = True) -> AbstractContextManager[Writer]:
        """Refuse: only `findspot publish` changes a published index."""
        raise ReadOnlyError(self.address)

    def meta(self) -> dict[str, str]:
        """Return what the index says about itself."""
        self.filler.refresh()
        return self.copy.meta()

    def figures(self) -> Figures:
        """Return what the index says about itself, and its files and chunks by corpus."""
        self.filler.refresh()
        return self.copy.figures()

    def parts(self) -> dict[str, int]:
        """Return the bytes of the copy."""
        size = sum(self.copy.parts().values())
        return {"copy": size} if size else {}

    def close(self) -> None:
        """Close what is open; the store can still be used and opens it again."""
        self.copy.close()

    def has_common_file(self, roots: Roots) -> bool | None:
        """Return whether a file of the published index is here; None before there is a copy of it."""
        if not is_filled(self.copy):
            return None
        with self.copy.snapshot() as snapshot:
            files = snapshot.files.files
        step = max(1, len(files) // _SAMPLE)
        return any(os.path.lexists(roots / file.path) for file in files[::step])


class SharedCopyMaintenance:
    """What is done to a copy as a whole; nothing of it reaches what is published."""

    def __init__(self, store: SharedCopy) -> None:
        self._store = store

    def repair(self) -> None:
        """Rebuild the derived parts of the copy."""
        self._store.copy.maintenance.repair()

    def set_aside(self) -> Path:
        """Drop the copy, if there is one: it can be fetched again."""
        copy = self._store.copy
        if copy.folder.exists():
            copy.maintenance.delete()
        return copy.folder

    def delete(self) -> None:
        """Remove the copy and its folder."""
        self._store.copy.maintenance.delete()
        remove_folder(self._store.folder)

    def tidy(self) -> None:
        """Give back the room that deletions have left in the copy."""
        self._store.filler.refresh()
        self._store.copy.maintenance.tidy()

    def copy_to(self, path: Path) -> None:
        """Write everything that the copy holds to one database file."""
        self._store.filler.refresh()
        self._store.copy.maintenance.copy_to(path)

    def take(self, path: Path) -> None:
        """Refuse: only `findspot publish` changes a published index."""
        raise ReadOnlyError(self._store.address)


class _Look(threading.Thread):
    """One look at an address, which whoever waits for it may leave alone."""

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
