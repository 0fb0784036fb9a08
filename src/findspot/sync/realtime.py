"""`realtime`: a file is indexed as soon as it has been left alone for half a second."""

from __future__ import annotations

from findspot.sync.strategy import Strategy

STABLE_S = 0.5
"""A file that was written this long ago is taken to be finished."""

PATIENCE_S = 5.0
"""A file that is written all the time is indexed this often nevertheless."""


class Realtime(Strategy):
    name = "realtime"

    def initialise(self) -> None:
        self._first: dict[str, float] = {}
        self._last: dict[str, float] = {}
        super().initialise()

    def due(self) -> frozenset[str]:
        now = self._clock()
        ripe = [
            path
            for path, last in self._last.items()
            if now - last >= STABLE_S or now - self._first[path] >= PATIENCE_S
        ]
        return frozenset(ripe)

    def _noted(self, paths: frozenset[str]) -> None:
        now = self._clock()
        for path in paths:
            self._first.setdefault(path, now)
            self._last[path] = now

    def _index(self, paths: frozenset[str]) -> None:
        times = {path: self._first.pop(path, None) for path in paths}
        for path in paths:
            self._last.pop(path, None)
        try:
            super()._index(paths)
        except BaseException:  # they are tried again after a while
            self._noted(frozenset(times))
            raise
