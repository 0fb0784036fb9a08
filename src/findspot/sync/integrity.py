"""The check of the whole index against the disk: at the start, now and then, after trouble.

It is the ordinary update of the whole project: sizes and times of writing first, hashes where in
doubt. Readers never wait for it.
"""

from __future__ import annotations

import time

from findspot.sync.strategy import Clock

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
