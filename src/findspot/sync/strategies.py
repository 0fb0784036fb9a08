"""When changes reach the index: as they happen, when nothing happens, or with a commit."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from findspot.core.settings import SyncSettings
from findspot.discover.checkouts import checkout_around, head_commit
from findspot.sync.changed_paths import DirtyFiles

Apply = Callable[[frozenset[str]], None]
"""Brings paths up to date; `EVERYTHING` among them means the whole project."""

Clock = Callable[[], float]
"""Seconds that never go back."""


STABLE_S = 0.5
"""A file that was written this long ago is taken to be finished."""

CALM_S = 1.0
"""A file that was not indexed for so long is taken at its next write, as a person's save. A file that is
written more often has to rest first."""

AT_ONCE = 10
"""More files than this are no save but a checkout or a build, which goes on for a while."""

PATIENCE_S = 5.0
"""A file that is written all the time is indexed this often nevertheless."""

_LOOK_S = 0.5
"""How often HEAD is looked at: a few calls that cost microseconds."""


class Strategy(abc.ABC):
    """Notes what changed and decides when it is due."""

    name: ClassVar[str]

    def __init__(self, dirty: DirtyFiles, apply: Apply, clock: Clock = time.monotonic) -> None:
        self._dirty, self._apply, self._clock = dirty, apply, clock
        self.updates = 0

    @abc.abstractmethod
    def due(self) -> frozenset[str]:
        """Return the paths whose time has come."""

    def start(self) -> None:
        """Take up what an earlier process left."""
        self._note(self._dirty.paths)

    def on_event(self, paths: Iterable[str]) -> None:
        """Note changes; they are indexed when they are due."""
        paths = frozenset(paths)
        if paths:
            self._dirty.add(paths)
            self._note(paths)

    def run_due(self) -> bool:
        """Index what is due; False when nothing is."""
        due = self.due()
        if due:
            self._index(due)
        return bool(due)

    @property
    def waiting(self) -> frozenset[str]:
        return self._dirty.paths

    @abc.abstractmethod
    def _note(self, paths: frozenset[str]) -> None:
        """Note what a strategy needs to know of events besides their paths."""

    def _index(self, paths: frozenset[str]) -> None:
        """Index paths; those that cannot be are tried again after a while."""
        try:
            with self._dirty.taking(paths) as taken:
                self._apply(taken)
        except BaseException:
            self._note(paths)
            raise
        self.updates += 1


class Realtime(Strategy):
    """Indexes saves at once, and what is written again and again when it has rested for half a second."""

    name = "realtime"

    def __init__(self, dirty: DirtyFiles, apply: Apply, clock: Clock = time.monotonic) -> None:
        super().__init__(dirty, apply, clock)
        self._first: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._indexed: dict[str, float] = {}

    def due(self) -> frozenset[str]:
        now = self._clock()
        few = len(self._last) <= AT_ONCE
        self._indexed = {path: at for path, at in self._indexed.items() if now - at < CALM_S}

        def is_due(path: str, last: float) -> bool:
            first = self._first[path]
            is_save = few and first == last and path not in self._indexed
            return is_save or now - last >= STABLE_S or now - first >= PATIENCE_S

        return frozenset(path for path, last in self._last.items() if is_due(path, last))

    def _note(self, paths: frozenset[str]) -> None:
        now = self._clock()
        for path in paths:
            self._first.setdefault(path, now)
            self._last[path] = now

    def _index(self, paths: frozenset[str]) -> None:
        for path in paths:
            self._first.pop(path, None)
            self._last.pop(path, None)
            self._indexed[path] = self._clock()
        super()._index(paths)


class Lazy(Strategy):
    """Indexes changes when nothing has happened for a while, or when somebody searches."""

    name = "lazy"

    def __init__(self, dirty: DirtyFiles, apply: Apply, idle_s: float, clock: Clock = time.monotonic) -> None:
        super().__init__(dirty, apply, clock)
        self._idle_s = idle_s
        self._last = clock()

    def due(self) -> frozenset[str]:
        idle = self._clock() - self._last >= self._idle_s
        return self._dirty.paths if idle else frozenset()

    def _note(self, paths: frozenset[str]) -> None:
        self._last = self._clock()


class OnCommit(Strategy):
    """Indexes changes when HEAD comes to another commit: by a commit, a checkout, a merge or a rebase.

    It looks at the repository's refs; it touches no hook and runs no program.
    """

    name = "git"

    def __init__(self, dirty: DirtyFiles, apply: Apply, root: Path, clock: Clock = time.monotonic) -> None:
        super().__init__(dirty, apply, clock)
        self._root = root
        self._head = self._look()
        self._moved_at: float | None = None
        self._looked = clock()

    def due(self) -> frozenset[str]:
        now = self._clock()
        if now - self._looked >= _LOOK_S:
            self._looked = now
            before, self._head = self._head, self._look()
            if self._head != before:
                self._moved_at = now
        is_due = self._moved_at is not None and now - self._moved_at >= STABLE_S
        return self._dirty.paths if is_due else frozenset()

    def _note(self, paths: frozenset[str]) -> None:
        """Events do not matter: commits do."""

    def _look(self) -> str | None:
        checkout = checkout_around(self._root)
        return head_commit(checkout) if checkout else None

    def _index(self, paths: frozenset[str]) -> None:
        super()._index(paths)
        self._moved_at = None


def start_strategy(
    folder: Path, sync: SyncSettings, root: Path, apply: Apply, waiting: Iterable[str] = ()
) -> Strategy:
    """Start the strategy that the settings choose; it takes over the paths that wait."""
    name = strategy_in_force(sync.strategy, root)
    dirty = DirtyFiles(folder, keep=name != Realtime.name)
    dirty.add(waiting)
    strategy: Strategy = Realtime(dirty, apply)
    if name == Lazy.name:
        strategy = Lazy(dirty, apply, sync.lazy_idle_s)
    elif name == OnCommit.name:
        strategy = OnCommit(dirty, apply, root)
    strategy.start()
    return strategy


def strategy_in_force(wanted: str, root: Path) -> str:
    """Return the strategy that is followed: without a repository there are no commits to wait for."""
    return Realtime.name if wanted == OnCommit.name and checkout_around(root) is None else wanted


def strategy_note(wanted: str, root: Path) -> str | None:
    """Return what a user should know where the strategy is not the one that they chose."""
    if strategy_in_force(wanted, root) == wanted:
        return None
    return (
        f"The strategy is '{OnCommit.name}', but {root} is in no git repository: "
        f"changes are indexed as they happen ('{Realtime.name}')."
    )
