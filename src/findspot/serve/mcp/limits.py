"""How much each client of a server may ask, and whose turn it is when they ask more than can be answered."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

_BURST_S = 2
"""An assistant asks several things at once and then thinks: two seconds' worth may come in one go."""

MAX_WAITING = 1_000
"""Calls of one client that may wait for their turn; tokens of a file have a lower limit of their own."""

LONG_CALL_S = 1.0
"""A call that takes longer gives its turn back and goes on: it may wait for a user, a model or an index."""


class LimitReachedError(Exception):
    """A token has reached a limit; it may ask again after some seconds."""

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
    """Limits requests per second and at once, per token; for use by one event loop."""

    def __init__(self, per_second: int, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._at_once = at_once
        self._clock = clock
        self._accounts: dict[str, _Account] = {}

    @contextmanager
    def request(self, name: str) -> Iterator[None]:
        """Count a request of a token while it runs; raise if the token has reached a limit."""
        now, most = self._clock(), float(self._per_second * _BURST_S)
        account = self._accounts.setdefault(name, _Account(most, now))
        account.left = min(most, account.left + (now - account.at) * self._per_second)
        account.at = now
        if account.open >= self._at_once:
            raise LimitReachedError("concurrency", 1)
        if account.left < 1:
            raise LimitReachedError("rate", (1 - account.left) / self._per_second)
        account.left -= 1
        account.open += 1
        try:
            yield
        finally:
            account.open -= 1


class Turns:
    """Lets some calls run at once, and the others wait; the waiting clients take turns, one call each.

    A client that asks a hundred things at once is thus as far ahead of another one as with a single call. For
    use by one event loop.
    """

    def __init__(self, at_once: int, max_waiting: int = MAX_WAITING) -> None:
        self._at_once = self._free = at_once
        self._max_waiting = max_waiting
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """Calls by client; the client whose turn is next comes first."""

    @property
    def running(self) -> int:
        """How many calls hold a turn."""
        return self._at_once - self._free

    @property
    def waiting(self) -> int:
        """How many calls wait for a turn."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, client: str, long_s: float = LONG_CALL_S) -> AsyncIterator[None]:
        """Wait for a turn of a client and hold it for a call; raise if too many of its calls wait."""
        await self._wait(client)
        ended = False

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._pass_on()

        timer = asyncio.get_running_loop().call_later(long_s, end)
        try:
            yield
        finally:
            timer.cancel()
            end()

    async def _wait(self, client: str) -> None:
        if self._free:
            self._free -= 1
            return
        calls = self._waiting.setdefault(client, deque())
        if len(calls) >= self._max_waiting:
            raise LimitReachedError("queue", 1)
        call = asyncio.get_running_loop().create_future()
        calls.append(call)
        try:
            await call
        except asyncio.CancelledError:
            if call.done() and not call.cancelled():  # its turn came at the same moment
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Give a turn to the next client that waits."""
        while self._waiting:
            client = next(iter(self._waiting))
            calls = self._waiting.pop(client)
            call = calls.popleft()
            if calls:
                self._waiting[client] = calls  # behind all others
            if not call.done():
                call.set_result(None)
                return
        self._free += 1
