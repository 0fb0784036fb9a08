"""One watcher per project, in whichever process: it starts, takes over, restarts and gives way."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
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
from findspot.core.locks import writer_lock
from findspot.core.log import get_logger
from findspot.core.paths import is_folder, stat_of
from findspot.core.progress import CancelToken
from findspot.core.settings import Settings
from findspot.discover.ignore import state_above
from findspot.store.store_protocol import Store
from findspot.sync.changed_paths import EVERYTHING
from findspot.sync.strategies import Strategy, start_strategy, strategy_in_force
from findspot.sync.watcher import Watcher

_log = get_logger("sync")

LOCK_NAME = "watcher.lock"

TAKE_OVER_S = 1.0
"""How often a process that does not watch looks whether nobody does."""

_SETTINGS_S = 1.0
_BUSY_S, _PAUSE_S = 1.0, 10.0
"""How long nothing is indexed after a failure; an index that another process writes is free sooner."""

_UNWANTED = (IndexNotFoundError, IndexStoppedError)
"""The index was deleted, or its building was stopped: watching ends until somebody asks for it again."""

MANY = 500
"""For more paths than this, walking the whole project is the shorter way."""


class Watched(Protocol):
    """A project that may have an index, which is kept fresh."""

    root: Path

    @property
    def store(self) -> Store: ...
    @property
    def settings(self) -> Settings: ...

    @property
    def wanted(self) -> bool:
        """Whether there is an index to keep fresh."""

    def refresh(self, paths: frozenset[str] | None, cancel: CancelToken) -> None:
        """Bring paths, or the whole project, up to date; raises `_UNWANTED` where there is nothing to do."""

    def resolve_some(self, cancel: CancelToken) -> bool:
        """Resolve the references of some files that an update left pending; return whether more are."""


@dataclass(frozen=True, slots=True)
class WatcherStatus:
    """How the watching of a project goes in this process."""

    watching: bool
    polling: str = ""
    """Why it polls, if it does."""
    last_error: str = ""
    restarts: int = 0
    strategy: str = ""
    pending: int = 0
    """Paths that changed and are not in the index yet."""
    updates: int = 0
    checked: bool = False
    """Whether the whole index was compared with the disk."""


class Supervisor:
    """A thread that watches a project while no other process does."""

    def __init__(self, watched: Watched, *, delay_s: float = 0.0) -> None:
        """Begin after `delay_s`: comparing the index with the disk takes the processor from whoever asks."""
        self._watched = watched
        self._delay_s = delay_s
        self._stop = threading.Event()
        self._guard = threading.Lock()
        self._status = WatcherStatus(watching=False)
        self._strategy: Strategy | None = None
        self._check_at = time.monotonic()
        """When the whole index is compared with the disk: at the start, now and then, after damage."""
        self._references_wait = True
        """Whether files may be pending whose references an update did not resolve."""
        self._working = threading.Lock()
        self._cancel = CancelToken()
        self._others = 0
        self._pause_until = 0.0
        self._thread = threading.Thread(target=self._run, name="findspot-sync", daemon=True)
        self._thread.start()

    @property
    def status(self) -> WatcherStatus:
        """How the watching goes now."""
        strategy = self._strategy
        status = replace(self._status, checked=time.monotonic() < self._check_at)
        if strategy is None:
            return status
        pending = len(strategy.waiting)
        return replace(status, strategy=strategy.name, pending=pending, updates=strategy.updates)

    @property
    def waiting(self) -> frozenset[str]:
        """The paths that changed and are not in the index yet."""
        strategy = self._strategy
        return strategy.waiting if strategy is not None else frozenset()

    @contextlib.contextmanager
    def giving_way(self) -> Iterator[None]:
        """Keep off the index while the user's own update runs; what was begun is stopped."""
        with self._guard:
            self._others += 1
        self._cancel.cancel()
        try:
            with self._working:
                pass  # what was begun is over; the writer's lock keeps two updates of users apart
            yield
        finally:
            with self._guard:
                self._others -= 1

    def stop(self) -> None:
        """Stop watching; another process takes over."""
        self._stop.set()
        self._cancel.cancel()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        self._stop.wait(self._delay_s)
        while not self._stop.is_set():
            try:
                if self._watched.wanted and is_folder(self._watched.root):
                    self._check_at = time.monotonic()
                    with writer_lock(self._lock, make_folder=False):
                        self._watch()
                self._stop.wait(TAKE_OVER_S)
            except (IndexBusyError, *_UNWANTED):  # another process watches, or there is nothing to watch
                self._stop.wait(TAKE_OVER_S)
            except Exception as error:  # noqa: BLE001 - a watcher that fails is started again
                self._note_crash(error)
                self._stop.wait(_PAUSE_S)
            finally:
                self._set(watching=False)

    @property
    def _lock(self) -> Path:
        return self._watched.store.folder / LOCK_NAME

    def _start(self, settings: Settings, waiting: Iterable[str] = ()) -> Strategy:
        folder, root = self._watched.store.folder, self._watched.root
        self._strategy = strategy = start_strategy(folder, settings.sync, root, self._apply, waiting)
        _log.info("%s: watching, strategy %s", root, strategy.name)
        return strategy

    def _watch(self) -> None:
        """Watch until stopped, or until the index or the project is gone."""
        mark, settings, root = _identity(self._lock), self._watched.settings, self._watched.root
        strategy = self._start(settings)
        watcher = Watcher(root, lambda: self._watched.settings.discover, self._stop)
        looked = time.monotonic()
        above = state_above(root)
        try:
            with contextlib.closing(watcher.batches()) as batches:
                for paths in batches:
                    strategy.on_event(paths)
                    if time.monotonic() - looked >= _SETTINGS_S:
                        looked = time.monotonic()
                        if not self._still_ours(mark):
                            return
                        settings, strategy = self._adopt(settings, strategy)
                        if self._watched.store.damaged:  # found by a search: the next run rebuilds it
                            self._check_at = time.monotonic()
                        if above != (above := state_above(root)):
                            strategy.on_event({EVERYTHING})
                    self._set(watching=True, polling=watcher.message)
                    self._work(strategy, settings)
        finally:
            self._strategy = None
            _log.info("%s: no longer watched", root)

    def _work(self, strategy: Strategy, settings: Settings) -> None:
        """Index what is due, unless the user's own update runs or a pause after trouble is on."""
        if self._others or time.monotonic() < self._pause_until:
            return
        with self._working:
            self._cancel = CancelToken()
            if self._others or self._stop.is_set():
                return
            try:
                if time.monotonic() >= self._check_at:
                    self._watched.refresh(None, self._cancel)
                    self._check_at = time.monotonic() + settings.sync.integrity_interval_hours * 3_600
                ran = strategy.run_due()
                if ran or self._pause_until:
                    self._set(last_error="")
                if ran:
                    self._references_wait = True
                elif self._references_wait:  # a few at a time: what is saved meanwhile comes first
                    self._references_wait = self._watched.resolve_some(self._cancel)
                self._pause_until = 0.0
            except _UNWANTED:
                raise
            except CancelledError:
                return
            except FindspotError as error:
                self._back_off(error)

    def _back_off(self, error: FindspotError) -> None:
        busy = isinstance(error, IndexBusyError)
        self._pause_until = time.monotonic() + (_BUSY_S if busy else _PAUSE_S)
        if not busy:
            _log.warning("changes could not be indexed: %s", error.developer_message)
            self._set(last_error=f"{error.user_message} ({error.developer_message})")

    def _note_crash(self, error: Exception) -> None:
        if isinstance(error, FindspotError):  # such as a home that cannot be written
            _log.warning("not watching: %s", error.developer_message)
        else:
            _log.exception("the watcher failed and is started again")
        failed = f"The watcher failed: {type(error).__name__}"
        self._set(last_error=failed, restarts=self._status.restarts + 1)

    def _adopt(self, before: Settings, strategy: Strategy) -> tuple[Settings, Strategy]:
        """Follow the configuration: another strategy takes over what waits."""
        settings = self._watched.settings
        name = strategy_in_force(settings.sync.strategy, self._watched.root)
        if settings.sync != before.sync or strategy.name != name:
            strategy = self._start(settings, strategy.waiting)
        if settings.discover != before.discover or settings.chunk != before.chunk:
            strategy.on_event({EVERYTHING})
        return settings, strategy

    def _apply(self, paths: frozenset[str]) -> None:
        whole = EVERYTHING in paths or len(paths) > MANY
        self._watched.refresh(None if whole else paths, self._cancel)

    def _still_ours(self, mark: tuple[int, int] | None) -> bool:
        store = self._watched.store
        return store.exists and is_folder(self._watched.root) and _identity(self._lock) == mark

    def _set(self, **changes: object) -> None:
        """Change the status, which this thread alone does."""
        self._status = replace(self._status, **changes)  # type: ignore[arg-type]


def _identity(path: Path) -> tuple[int, int] | None:
    info = stat_of(path)
    return (info.st_dev, info.st_ino) if info else None
