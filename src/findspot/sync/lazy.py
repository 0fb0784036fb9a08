"""`lazy`: changes wait until nothing has happened for a while, or until somebody searches."""

from __future__ import annotations

import time

from findspot.sync.dirty import DirtyFiles
from findspot.sync.strategy import Apply, Clock, Strategy


class Lazy(Strategy):
    name = "lazy"

    def __init__(self, dirty: DirtyFiles, apply: Apply, idle_s: float, clock: Clock = time.monotonic) -> None:
        super().__init__(dirty, apply, clock)
        self._idle_s = idle_s
        self._last = clock()

    def due(self) -> frozenset[str]:
        idle = self._clock() - self._last >= self._idle_s
        return self._dirty.paths if idle else frozenset()

    def _noted(self, paths: frozenset[str]) -> None:
        self._last = self._clock()
