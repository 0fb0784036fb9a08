"""Paths that changed: as the file system reports them, and as they wait for the index across restarts."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path

from findspot.core.errors import FindspotError
from findspot.core.files import read_json, write_json
from findspot.core.log import get_logger
from findspot.core.paths import GITIGNORE, home_folder, is_denied, own_paths, path_below
from findspot.core.settings import PROJECT_FILE
from findspot.discover.checkouts import GIT
from findspot.discover.ignore import OWN_IGNORE
from findspot.discover.root_folder import nfc

_log = get_logger("sync")

FILE_NAME = "dirty-files.json"

MAX_PATHS = 20_000
"""More changes than this: the whole project is looked at."""

EVERYTHING = ""
"""The path of the root: the whole project is to be looked at."""

_RULES = frozenset({GITIGNORE, OWN_IGNORE, PROJECT_FILE})
"""Files that decide about other files."""


def changed_path(root: Path, reported: str) -> str | None:
    """Return the path that has to be looked at; None for what can never be in the index.

    The deny list comes first: most of what happens in a project happens in build folders, caches
    and the swap files of editors.
    """
    spelled = path_below(root, Path(os.path.normpath(reported)))
    if not spelled:
        return spelled
    *folders, name = nfc(spelled).split("/")
    own = own_paths(home_folder(), root)
    if any(not each or f"{nfc(spelled)}/".startswith(f"{each}/") for each in own):
        return None
    if any(is_denied(folder, True) for folder in folders):
        return None
    if name == GIT and folders:
        return "/".join(folders)  # the folder became a project of its own, or part of this one
    if is_denied(name, False, prefix="/".join((*folders, ""))):
        return None
    if is_denied(name, True) and os.path.isdir(reported):  # noqa: PTH112
        return None
    if name in _RULES or not name.isascii():
        # The rules of a folder hold below it. Another name that differs only in its Unicode form may be in or
        # out because of this one.
        return "/".join(folders)
    return "/".join((*folders, name))


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
        """Take paths to index them, and everything if that waits; they stay on disk until `done`."""
        with self._guard:
            self._taken = frozenset(self._paths.intersection((*paths, EVERYTHING)))
            self._paths -= self._taken
            return self._taken

    def done(self) -> None:
        """Drop the paths that are now in the index; those that changed meanwhile stay."""
        with self._guard:
            self._taken = frozenset()
            self._write()

    def give_back(self) -> None:
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
    """Return the paths that an index folder remembers; none where the list cannot be read."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return {path for path in read_json(folder / FILE_NAME)["files"] if isinstance(path, str)}
    return set()
