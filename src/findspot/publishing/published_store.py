"""The store of a reader without the project's files: a published index, searched where it lies."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from findspot.core.errors import (
    FindspotError,
    IndexCorruptError,
    IndexNotFoundError,
    InvalidArgumentError,
    StoreRefusedError,
    StoreUnavailableError,
)
from findspot.core.files import remove_folder
from findspot.core.git import read_checkout
from findspot.core.log import get_logger
from findspot.publishing.choosing import nearest
from findspot.publishing.published import PROJECT, Entry, PublishedIndex, Version
from findspot.store.lance.lance_snapshot import PublishedSnapshot
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Figures
from findspot.store.writer import Writer

_log = get_logger("store")

LOOK_EVERY_S = 60.0
"""How old the last look at the address may be."""
LEAVE_ALONE_S = 30.0
"""How long an address that is away is not asked again: finding that out takes seconds each time."""
_SAMPLE = 1_000
"""Files that are looked for, to tell whether the project's files are here."""


class ReadOnlyError(InvalidArgumentError):
    """A change to an index that can only be read here."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"This folder has none of the files of the published index {address}. "
            "Searches answer from that index, and nothing is indexed here.",
            hint="Run `findspot store use default` to index this folder by itself.",
        )


def published_address(root: Path, address: str) -> str:
    """Return the address from which the project of a root can read; an error where nothing is published."""
    published = PublishedIndex(address.replace(PROJECT, root.name))
    if not published.versions():
        raise InvalidArgumentError(
            f"Nothing is published at {published.address}.", hint=f"Run `findspot publish {address}` first."
        )
    return address if "://" in address else published.address


class PublishedStore:
    """A published index, which can only be read: the newest version that fits, looked for once a minute."""

    kind = "published"
    read_only = True
    damaged = False
    being_written = False

    def __init__(self, folder: Path, root: Path, source: PublishedIndex) -> None:
        self.folder, self.address = folder, source.address
        self._root, self._source = root, source
        self._guard = threading.Lock()
        self._look_at = float("-inf")
        self._trouble = ""
        self._opened: tuple[Entry, PublishedSnapshot] | None = None

    @property
    def exists(self) -> bool:
        try:
            return self.current() is not None
        except IndexNotFoundError:
            return False
        except FindspotError:  # a reader gets the reason with its first question
            return True

    @property
    def version(self) -> Version | None:
        return self._opened[0].version if self._opened else None

    @property
    def notice(self) -> str:
        version = self.version
        made = f", commit {version.commit[:7]} of {version.branch}" if version else ""
        note = f"From the published index {self.address}{made}, not compared with files here."
        return f"{note} {self._trouble}".strip()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        try:
            yield self.current()
        except IndexCorruptError:
            self.close()  # rows that are gone, because a newer version replaced this one
            raise

    def writer(self, wait_s: float = 0.0, *, create: bool = True) -> AbstractContextManager[Writer]:
        """Refuse: only `findspot publish` changes a published index."""
        raise ReadOnlyError(self.address)

    def meta(self) -> dict[str, str]:
        return self.current().meta()

    def figures(self) -> Figures:
        snapshot = self.current()
        return snapshot.meta(), snapshot.files.counts()

    def parts(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        self._opened, self._look_at = None, float("-inf")

    def has_common_file(self, root: Path) -> bool | None:
        """Return whether a file of the published index is here; None where that cannot be known."""
        try:
            files = self.current().files.files
        except FindspotError:
            return None
        step = max(1, len(files) // _SAMPLE)
        return any(os.path.lexists(root / file.path) for file in files[::step])

    def current(self) -> PublishedSnapshot:
        """Return the version that answers, after a look at the address where one is due."""
        opened = self._opened
        if opened is not None and time.monotonic() < self._look_at:
            return opened[1]
        if not self._guard.acquire(blocking=opened is None):
            return opened[1] if opened else self.current()
        try:
            if self._opened is None or time.monotonic() >= self._look_at:
                self._look()
            if self._opened is None:
                missing = IndexNotFoundError(str(self._root), self.address)
                missing.user_message = f"Nothing is published at {self.address}."
                missing.hint = "Run `findspot publish` for that address first."
                raise missing
            return self._opened[1]
        finally:
            self._guard.release()

    def _look(self) -> None:
        """Open the newest version that fits, unless it is open; an address that is away changes nothing."""
        try:
            found = {entry.version: entry for entry in self._source.entries()}
            version = nearest(found, read_checkout(self._root))
            if version is not None and version != self.version:
                generation = self._opened[1].generation + 1 if self._opened else 1
                self._opened = found[version], self._source.snapshot(found[version], generation)
            self._trouble = "" if version else "Nothing is published at its address any more."
            self._look_at = time.monotonic() + LOOK_EVERY_S
        except (StoreUnavailableError, StoreRefusedError, IndexCorruptError) as error:
            if self._opened is None:
                raise
            self._trouble = f"It may be out of date: {error.user_message[0].lower()}{error.user_message[1:]}"
            _log.warning("answering from an older version: %s", error.developer_message)
            self._look_at = time.monotonic() + LEAVE_ALONE_S

    def delete(self) -> None:
        self.close()
        remove_folder(self.folder)
