"""One watcher per project, in whichever process: it starts, takes over, restarts and gives way."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from findspot.core.errors import (
    CancelledError,
    FindspotError,
    IndexBusyError,
    IndexNotFoundError,
    IndexStoppedError,
)
from findspot.core.files import stat_of
from findspot.core.locks import writer_lock
from findspot.core.log import get_logger
from findspot.core.progress import CancelToken
from findspot.core.roots import Roots
from findspot.core.settings import Settings, SyncSettings
from findspot.discover.admission import Policy, policy_of
from findspot.discover.outer_rules import state_above
from findspot.store.store_protocol import Store
from findspot.sync.changed_paths import EVERYTHING, DirtyFiles
from findspot.sync.strategies import Clock, Lazy, OnCommit, Realtime, Stats, Strategy, strategy_in_force
from findspot.sync.watcher import Watcher

RETRY_S = 5.0
"""After a check that could not be finished."""


class Integrity:
    """When the next check is due."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._next = clock()

    @property
    def due(self) -> bool:
        return self._clock() >= self._next

    def done(self, interval_hours: int) -> None:
        self._next = self._clock() + interval_hours * 3_600

    def failed(self, retry_s: float = RETRY_S) -> None:
        self._next = self._clock() + retry_s


_log = get_logger("sync")

LOCK_NAME = "watcher.lock"

TAKE_OVER_S = 1.0
"""How often a process that does not watch looks whether nobody does."""

_SETTINGS_S = 1.0
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
"""After trouble, each pause is twice as long as the one before it."""

_UNWANTED = (IndexNotFoundError, IndexStoppedError)
"""The index was deleted, or its building was stopped: watching ends until somebody asks for it again."""

MANY = 500
"""For more paths than this, walking the whole project is the shorter way."""


class Watched(Protocol):
    """What is kept fresh."""

    root: Path
    store: Store

    @property
    def settings(self) -> Settings: ...

    @property
    def roots(self) -> Roots: ...

    @property
    def wanted(self) -> bool:
        """Whether there is an index to keep fresh."""

    def refresh(self, paths: frozenset[str] | None, cancel: CancelToken) -> None:
        """Bring paths, or the whole project, up to date; raises `_UNWANTED` where there is nothing to do."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the watching stands in this process."""

    watching: bool
    polling: str = ""
    """Why it polls, if it does."""
    last_error: str = ""
    restarts: int = 0
    strategy: Stats | None = None


class Supervisor:
    """A thread that watches a project while no other process does."""

    def __init__(self, watched: Watched, *, polling: bool = False) -> None:
        self._watched = watched
        self._polling = polling
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._standing = Standing(watching=False)
        self._strategy: Strategy | None = None
        self._integrity = Integrity()
        self._working = threading.Lock()
        self._cancel = CancelToken()
        self._others = 0
        self._pause_s = 0.0
        self._paused_until = 0.0
        self._thread = threading.Thread(target=self._run, name="findspot-sync", daemon=True)
        self._thread.start()

    @property
    def standing(self) -> Standing:
        strategy = self._strategy
        with self._changed:
            found = self._standing
        return Standing(
            found.watching,
            found.polling,
            found.last_error,
            found.restarts,
            strategy.stats() if strategy else None,
        )

    @property
    def integrity_due(self) -> bool:
        """Whether the whole index is still to be compared with the disk."""
        return self._integrity.due

    def wait_until(self, settled: Callable[[Standing], bool], timeout_s: float) -> bool:
        """Wait for a standing; False when it did not come in time."""
        deadline = time.monotonic() + timeout_s
        while not settled(self.standing):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            with self._changed:
                self._changed.wait(min(left, 0.05))
        return True

    def note(self, paths: frozenset[str]) -> None:
        """Queue paths that a search found changed."""
        if (strategy := self._strategy) is not None:
            strategy.on_event(paths)

    @contextlib.contextmanager
    def giving_way(self) -> Iterator[None]:
        """Keep off the index while the user's own update runs; what was begun is stopped."""
        with self._changed:
            self._others += 1
        self._cancel.cancel()
        try:
            with self._working:
                """What was begun is over. Two updates of users are for the writer's lock to tell apart."""
            yield
        finally:
            with self._changed:
                self._others -= 1

    def stop(self) -> None:
        """Stop watching; another process takes over."""
        self._stop.set()
        self._cancel.cancel()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if self._watched.wanted and self._watched.roots.are_there:
                    self._integrity = Integrity()
                    with writer_lock(self._lock, make_folder=False):
                        self._watch()
                self._stop.wait(TAKE_OVER_S)
            except (IndexBusyError, *_UNWANTED):  # another process watches, or there is nothing to watch
                self._stop.wait(TAKE_OVER_S)
            except Exception as error:  # noqa: BLE001 - a watcher that fails is started again
                self._note_crash(error)
                self._stop.wait(self._pause_s)
            finally:
                self._set(watching=False)

    @property
    def _lock(self) -> Path:
        return self._watched.store.folder / LOCK_NAME

    def _watch(self) -> None:
        """Watch until stopped, or until the index or the project is gone."""
        mark = _identity(self._lock)
        settings = self._watched.settings
        self._strategy = strategy = self._make(settings.sync, None)
        roots = self._watched.roots
        watcher = Watcher(roots, self._policy, self._stop, polling=self._polling)
        looked = time.monotonic()
        above = state_above(roots)
        _log.info("%s: watching, strategy %s", self._watched.root, strategy.name)
        try:
            with contextlib.closing(watcher.batches()) as batches:
                for paths in batches:
                    strategy.on_event(paths)
                    if time.monotonic() - looked >= _SETTINGS_S:
                        looked = time.monotonic()
                        if not self._still_ours(mark) or self._watched.roots != roots:
                            return
                        settings, strategy = self._adopt(settings, strategy)
                        if self._watched.store.damaged:  # found by a search: the next run rebuilds it
                            self._integrity = Integrity()
                        if above != (above := state_above(roots)):
                            strategy.on_event({EVERYTHING})
                    self._set(watching=True, polling=watcher.message)
                    self._work(strategy, settings)
        finally:
            strategy.stop()
            self._strategy = None
            _log.info("%s: no longer watched", self._watched.root)

    def _work(self, strategy: Strategy, settings: Settings) -> None:
        """Whatever is due, unless the user's own update runs or trouble was a moment ago."""
        if self._others or time.monotonic() < self._paused_until:
            return
        with self._working:
            self._cancel = CancelToken()
            if self._others or self._stop.is_set():
                return
            try:
                if self._integrity.due:
                    self._watched.refresh(None, self._cancel)
                    self._integrity.done(settings.sync.integrity_interval_hours)
                if strategy.run_due() or self._pause_s:
                    self._set(last_error="")
                self._pause_s = 0.0
            except _UNWANTED:
                raise
            except CancelledError:
                return
            except FindspotError as error:
                self._back_off(error)

    def _back_off(self, error: FindspotError) -> None:
        busy = isinstance(error, IndexBusyError)
        self._pause_s = _FIRST_PAUSE_S if busy else _longer(self._pause_s)
        self._paused_until = time.monotonic() + self._pause_s
        if not busy:
            _log.warning("changes could not be indexed: %s", error.developer_message)
            self._set(last_error=f"{error.user_message} ({error.developer_message})")

    def _note_crash(self, error: Exception) -> None:
        if isinstance(error, FindspotError):  # such as a home that cannot be written
            _log.warning("not watching: %s", error.developer_message)
        else:
            _log.exception("the watcher failed and is started again")
        self._pause_s = _longer(self._pause_s)
        with self._changed:
            restarts = self._standing.restarts + 1
        self._set(last_error=f"The watcher failed: {type(error).__name__}", restarts=restarts)

    def _adopt(self, before: Settings, strategy: Strategy) -> tuple[Settings, Strategy]:
        """Follow the configuration: another strategy takes over what waits."""
        settings = self._watched.settings
        if settings.sync != before.sync or strategy.name != strategy_in_force(
            settings.sync.strategy, self._watched.roots
        ):
            strategy.stop()
            self._strategy = strategy = self._make(settings.sync, strategy)
            _log.info("%s: watching, strategy %s", self._watched.root, strategy.name)
        if settings.discover != before.discover or settings.chunk != before.chunk:
            strategy.on_event({EVERYTHING})
        return settings, strategy

    def _make(self, sync: SyncSettings, before: Strategy | None) -> Strategy:
        name = strategy_in_force(sync.strategy, self._watched.roots)
        dirty = DirtyFiles(self._watched.store.folder, keep=name != Realtime.name)
        if before is not None:
            dirty.add(before.waiting)
        strategy: Strategy
        if name == Lazy.name:
            strategy = Lazy(dirty, self._apply, sync.lazy_idle_s)
        elif name == OnCommit.name:
            strategy = OnCommit(dirty, self._apply, self._watched.roots)
        else:
            strategy = Realtime(dirty, self._apply)
        strategy.start()
        return strategy

    def _apply(self, paths: frozenset[str]) -> None:
        whole = EVERYTHING in paths or len(paths) > MANY
        self._watched.refresh(None if whole else paths, self._cancel)

    def _policy(self) -> Policy:
        return policy_of(self._watched.settings)

    def _still_ours(self, mark: tuple[int, int] | None) -> bool:
        """Return whether project, index and lock are those that we began with."""
        store = self._watched.store
        return store.exists and self._watched.roots.are_there and _identity(self._lock) == mark

    def _set(self, **changes: object) -> None:
        with self._changed:
            after = replace(self._standing, **changes)  # type: ignore[arg-type]
            if after != self._standing:
                self._standing = after
                self._changed.notify_all()


def _longer(pause_s: float) -> float:
    return min(max(2 * pause_s, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)


def _identity(path: Path) -> tuple[int, int] | None:
    info = stat_of(path)
    return (info.st_dev, info.st_ino) if info else None
