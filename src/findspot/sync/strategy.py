"""When changes reach the index: what every strategy can do, and what they share."""

from __future__ import annotations

import abc
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from findspot.sync.dirty import DirtyFiles

Apply = Callable[[frozenset[str]], None]
"""Brings paths up to date; `EVERYTHING` among them means the whole project."""

Clock = Callable[[], float]
"""Seconds that never go back."""


@dataclass(frozen=True, slots=True)
class Stats:
    """How a strategy stands."""

    name: str
    active: bool
    pending: int
    events: int
    flushes: int


class Strategy(abc.ABC):
    """Notes what changed and decides when it is due; `flush` does not wait for that."""

    name: ClassVar[str]

    def __init__(self, dirty: DirtyFiles, apply: Apply, clock: Clock = time.monotonic) -> None:
        self._dirty = dirty
        self._apply = apply
        self._clock = clock
        self._flushing = threading.Lock()
        self._active = False
        self._events = 0
        self._flushes = 0

    @abc.abstractmethod
    def due(self) -> frozenset[str]:
        """Return the paths whose time has come."""

    def initialise(self) -> None:
        """Take up what an earlier process left."""
        self._noted(self._dirty.paths)

    def start(self) -> None:
        self.initialise()
        self._active = True

    def stop(self) -> None:
        """Take no more events; what waits stays noted."""
        self._active = False

    def on_event(self, paths: Iterable[str]) -> None:
        """Note changes; they are indexed when they are due."""
        paths = frozenset(paths)
        if self._active and paths:
            self._events += len(paths)
            self._dirty.add(paths)
            self._noted(paths)

    def run_due(self) -> bool:
        """Index what is due; False when nothing is."""
        due = self.due()
        if due:
            self._index(due)
        return bool(due)

    def flush(self) -> None:
        """Index everything that waits, now."""
        self._index(self._dirty.paths)

    @property
    def waiting(self) -> frozenset[str]:
        """Paths that are not in the index yet."""
        return self._dirty.paths

    def stats(self) -> Stats:
        return Stats(self.name, self._active, len(self._dirty.paths), self._events, self._flushes)

    def _noted(self, paths: frozenset[str]) -> None:  # noqa: B027 - not every strategy keeps something
        """What a strategy keeps of events beside their paths."""

    def _index(self, paths: frozenset[str]) -> None:
        with self._flushing:
            taken = self._dirty.take(paths)
            if not taken:
                return
            try:
                self._apply(taken)
            except BaseException:
                self._dirty.give_back()
                raise
            self._dirty.done()
            self._flushes += 1
