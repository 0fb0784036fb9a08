"""Files that changed and are not in the index yet, remembered across restarts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from pathlib import Path

from findspot.core.errors import FindspotError
from findspot.core.files import read_json, write_json
from findspot.core.log import get_logger
from findspot.sync.events import EVERYTHING

_log = get_logger("sync")

FILE_NAME = "dirty-files.json"

MAX_PATHS = 20_000
"""More changes than this are a new project: it is looked at as a whole."""


class DirtyFiles:
    """Paths that wait for the index; with `keep`, on disk before anything else happens to them."""

    def __init__(self, folder: Path, *, keep: bool) -> None:
        self._file = folder / FILE_NAME
        self._keep = keep
        self._guard = threading.Lock()
        self._paths = read_dirty(folder)
        self._taken: frozenset[str] = frozenset()

    @property
    def paths(self) -> frozenset[str]:
        with self._guard:
            return frozenset(self._paths) | self._taken

    def add(self, paths: Iterable[str]) -> None:
        with self._guard:
            before = len(self._paths)
            self._paths.update(paths)
            if len(self._paths) > MAX_PATHS:
                self._paths = {EVERYTHING}
            if len(self._paths) != before:
                self._write()

    def take(self, paths: Iterable[str]) -> frozenset[str]:
        """Hand out paths to be indexed; they stay on disk until they are."""
        with self._guard:
            self._taken = frozenset(self._paths.intersection(paths))
            self._paths -= self._taken
            return self._taken

    def done(self) -> None:
        """What was taken is in the index; what changed again meanwhile still waits."""
        with self._guard:
            self._taken = frozenset()
            self._write()

    def give_back(self) -> None:
        """What was taken still waits."""
        with self._guard:
            self._paths |= self._taken
            self._taken = frozenset()

    def _write(self) -> None:
        waiting = self._paths | self._taken if self._keep else set()
        try:
            if waiting:
                write_json(self._file, {"version": 1, "files": sorted(waiting)})
            else:
                self._file.unlink(missing_ok=True)
        except (OSError, FindspotError) as error:  # a full disk must not stop the watching
            _log.warning("%s cannot be written: %s", FILE_NAME, error)


def read_dirty(folder: Path) -> set[str]:
    """Return the paths that an index folder remembers; what cannot be read is nothing."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return {path for path in read_json(folder / FILE_NAME)["files"] if isinstance(path, str)}
    return set()
