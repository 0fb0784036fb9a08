"""Paths that changed: as the file system reports them, and as they wait for the index across restarts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
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
    """Paths that wait for the index; with `keep`, on disk before anything else happens to them.

    One thread changes them. Others may look: each change replaces the set.
    """

    def __init__(self, folder: Path, *, keep: bool) -> None:
        self._file = folder / FILE_NAME
        self._keep = keep
        self._waiting = read_dirty(folder)
        self._taken: frozenset[str] = frozenset()

    @property
    def paths(self) -> frozenset[str]:
        return self._waiting | self._taken

    def add(self, paths: Iterable[str]) -> None:
        more = self._waiting.union(paths)
        if more != self._waiting:
            self._waiting = more if len(more) <= MAX_PATHS else frozenset({EVERYTHING})
            self._write()

    @contextlib.contextmanager
    def taking(self, paths: Iterable[str]) -> Iterator[frozenset[str]]:
        """Provide paths to index, and everything if that waits; they wait on if it fails.

        They stay on disk until then. What changes meanwhile stays.
        """
        self._taken = self._waiting.intersection((*paths, EVERYTHING))
        self._waiting -= self._taken
        try:
            yield self._taken
        except BaseException:
            self._waiting |= self._taken
            self._taken = frozenset()
            raise
        self._taken = frozenset()
        self._write()

    def _write(self) -> None:
        waiting = self.paths if self._keep else ()
        try:
            if waiting:
                write_json(self._file, {"version": 1, "files": sorted(waiting)})
            else:
                self._file.unlink(missing_ok=True)
        except (OSError, FindspotError) as error:  # a full disk must not stop the watching
            _log.warning("%s cannot be written: %s", FILE_NAME, error)


def read_dirty(folder: Path) -> frozenset[str]:
    """Return the paths that an index folder remembers; none where the list cannot be read."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return frozenset(path for path in read_json(folder / FILE_NAME)["files"] if isinstance(path, str))
    return frozenset()
