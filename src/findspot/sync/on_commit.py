"""`git`: changes wait for a commit, a checkout or whatever else moves HEAD.

The repository's refs are looked at; the user's hooks are not touched, and no program is run.
"""

from __future__ import annotations

import os
import re
import stat
import time
from pathlib import Path

from findspot.core.roots import Roots
from findspot.sync.dirty import DirtyFiles
from findspot.sync.realtime import STABLE_S
from findspot.sync.strategy import Apply, Clock, Strategy

_POINTER = re.compile(r"gitdir:\s*(.+?)\s*$")
_REF = re.compile(r"ref:\s*(refs/[\w./-]+)\s*$")
_MAX_BYTES = 4_096
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

_LOOK_S = 0.5
"""How often the refs are looked at: a few calls that cost microseconds."""

Position = tuple[tuple[int, int, int] | None, ...]
"""What the files that HEAD depends on look like."""


class OnCommit(Strategy):
    name = "git"

    def __init__(
        self, dirty: DirtyFiles, apply: Apply, root: Path | Roots, clock: Clock = time.monotonic
    ) -> None:
        super().__init__(dirty, apply, clock)
        self._roots = Roots.of(root)
        self._position: Position = ()
        self._moved_at: float | None = None
        self._looked = clock()

    def initialise(self) -> None:
        self._position = self._look()

    def due(self) -> frozenset[str]:
        now = self._clock()
        if now - self._looked >= _LOOK_S:
            self._looked = now
            position = self._look()
            if position != self._position:
                self._position, self._moved_at = position, now
        if self._moved_at is None or now - self._moved_at < STABLE_S:
            return frozenset()
        self._moved_at = None
        return self._dirty.paths

    def _look(self) -> Position:
        return tuple(state for folder in self._roots.folders for state in head_position(folder))

    def _index(self, paths: frozenset[str]) -> None:
        try:
            super()._index(paths)
        except BaseException:  # they belong to a commit, and are tried again after a while
            self._moved_at = self._clock()
            raise


def head_position(root: Path) -> Position:
    """Changes whenever HEAD does: by a commit, a checkout, a merge, a rebase or a reset."""
    folder = git_folder(root)
    if folder is None:
        return ()
    head = folder / "HEAD"
    watched = [head, folder / "logs" / "HEAD", folder / "packed-refs"]
    ref = _REF.match(_read(head))
    if ref and ".." not in ref[1]:
        watched.append(folder / ref[1])
    return tuple(_state(path) for path in watched)


def git_folder(root: Path) -> Path | None:
    """Where git keeps the HEAD of this working tree; a linked worktree's lies elsewhere."""
    here = root / ".git"
    if here.is_dir():
        return here
    pointer = _POINTER.match(_read(here))
    return Path(os.path.normpath(root / pointer[1])) if pointer else None


def _read(path: Path) -> str:
    """The beginning of a small file; a link or a FIFO in its place is nothing."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return ""
        with os.fdopen(os.open(path, os.O_RDONLY | _CAREFULLY), "rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino
