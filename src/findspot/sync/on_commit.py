"""`git`: changes wait for a commit, a checkout or whatever else moves HEAD.

The repository's refs are looked at; the user's hooks are not touched, and no program is run.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from findspot.core.files import read_below
from findspot.core.roots import Roots
from findspot.discover.repository import common_folder, git_folder
from findspot.discover.root import checkout_around
from findspot.sync.dirty import DirtyFiles
from findspot.sync.realtime import STABLE_S, Realtime
from findspot.sync.strategy import Apply, Clock, Strategy

_REF = re.compile(r"ref:\s*(refs/[\w./-]+)\s*$")
_MAX_BYTES = 4_096

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


def strategy_in_force(wanted: str, roots: Roots) -> str:
    """Return the strategy that is followed: without a repository there are no commits to wait for."""
    return Realtime.name if wanted == OnCommit.name and without_git(roots) else wanted


def without_git(roots: Roots) -> list[Path]:
    """Return the roots that are in no repository."""
    return [folder for folder in roots.folders if checkout_around(folder) is None]


def head_position(root: Path) -> Position:
    """Return what changes whenever HEAD does: by a commit, a checkout, a merge, a rebase or a reset."""
    checkout = checkout_around(root)
    git = git_folder(checkout) if checkout else None
    if git is None:
        return ()
    common = common_folder(git)
    watched = [git / "HEAD", git / "logs" / "HEAD", common / "packed-refs"]
    ref = _REF.match(_head(git))
    if ref and ".." not in ref[1]:
        watched.append(common / ref[1])
    return tuple(_state(path) for path in watched)


def _head(git: Path) -> str:
    try:
        return read_below(git, "HEAD", _MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino
