"""How much one token may ask at a time, so that one client cannot keep the others waiting."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_BURST_S = 2
"""An assistant asks several things at once and then thinks: two seconds' worth may come in one go."""


class TooMuchError(Exception):
    """The token's limit is reached; it may ask again after so many seconds."""

    def __init__(self, limit: str, wait_s: float) -> None:
        super().__init__(limit)
        self.limit = limit
        self.wait_s = max(1, math.ceil(wait_s))


@dataclass(slots=True)
class _Account:
    left: float
    at: float
    open: int = 0


class Limits:
    """Requests a second and at once, counted by token; for use by one event loop."""

    def __init__(self, per_second: int, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._at_once = at_once
        self._clock = clock
        self._accounts: dict[str, _Account] = {}

    @contextmanager
    def request(self, name: str) -> Iterator[None]:
        """Provide one request of a token, from its beginning to its end."""
        now, most = self._clock(), float(self._per_second * _BURST_S)
        account = self._accounts.setdefault(name, _Account(most, now))
        account.left = min(most, account.left + (now - account.at) * self._per_second)
        account.at = now
        if account.open >= self._at_once:
            raise TooMuchError("concurrency", 1)
        if account.left < 1:
            raise TooMuchError("rate", (1 - account.left) / self._per_second)
        account.left -= 1
        account.open += 1
        try:
            yield
        finally:
            account.open -= 1
