"""The socket that a server of ours listens at, and how many connections it takes from whom."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from findspot.core.errors import InvalidArgumentError
from findspot.core.log import get_logger

_log = get_logger("http")

BACKLOG = 512
"""Connections that may wait to be taken: many clients may come at once."""

HEAD_S = 10.0
"""How long a connection may take to send the head of a request."""

BODY_S = 30.0
"""How long it may then take to send the body, and how long it may leave an answer unread."""

REST_S = 2.0
"""How long it may take to send the rest of a body that was answered before its end.

Closing at once would take the answer along.
"""

MAX_CONNECTIONS = 2_000
"""Connections whose requests are answered; those beyond get 503."""

_BEYOND = 64
"""Connections beyond the limit that are told so; more are closed."""

_SHARE_OF_ONE_ADDRESS = 0.5
"""Of all connections, so that one address cannot take them all."""

_OTHER_DESCRIPTORS = 256
"""What indexes, logs and worker processes may have open apart from connections."""

_LOG_EVERY_S = 60.0


def listen(host: str, port: int, way_out: str) -> socket.socket:
    """Return a listening socket whose connections send at once what is written to them.

    The event loop sets that only where a socket names its protocol, which `create_server` leaves out: an
    answer's body then waits, after its head, for an acknowledgement that the other side holds back for 40 ms.
    `way_out` names another address in the error for one that cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        message, hint = f"Cannot listen on {host}:{port}: {why}.", f"Choose another: {way_out}."
        if error.errno == errno.EADDRINUSE:
            message = f"Another program uses port {port} of {host}, perhaps another Findspot."
            hint = f"End that program, or choose another port: {way_out}."
        raise InvalidArgumentError(message, hint=hint) from None
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return _Listener(listener)


def serve(
    app: ASGIApp,
    listener: socket.socket,
    *,
    shutdown_s: int,
    lifespan: bool,
    on_exit: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> None:
    """Serve until a signal comes, and call `on_exit` then; silent and excess connections are closed.

    In a thread, where no signal comes, `stop` ends it.
    """
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=connection_limit(),
        timeout_graceful_shutdown=shutdown_s,
        lifespan="on" if lifespan else "off",
    )
    _Server(config, on_exit, stop).run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that calls a function before it ends."""

    def __init__(
        self, config: uvicorn.Config, on_exit: Callable[[], None], stop: threading.Event | None
    ) -> None:
        super().__init__(config)
        self._stop = stop
        self._on_exit = on_exit

    async def on_tick(self, counter: int) -> bool:
        is_stopped = self._stop is not None and self._stop.is_set()
        return await super().on_tick(counter) or is_stopped

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._on_exit()
        super().handle_exit(sig, frame)


def connection_limit() -> int:
    """Raise the limit of open files as far as allowed; return how many connections it leaves room for."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MAX_CONNECTIONS
    needed = MAX_CONNECTIONS + _BEYOND + _OTHER_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < needed:
        new_soft = needed if hard == unlimited else min(needed, hard)
        with contextlib.suppress(OSError, ValueError):  # then the limit that there is has to do
            resource.setrlimit(resource.RLIMIT_NOFILE, (new_soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == unlimited:
        return MAX_CONNECTIONS
    return min(MAX_CONNECTIONS, max(soft - _BEYOND - _OTHER_DESCRIPTORS, soft // 2))


class _Listener(socket.socket):
    """Closes connections that come when the process has no descriptor left for them.

    The event loop would try again and again, and log each time, while they keep waiting: 300 silent
    connections would then keep everybody out (`tests/trust/test_http_door.py`).
    """

    def __init__(self, listener: socket.socket) -> None:
        super().__init__(listener.family, listener.type, listener.proto, fileno=listener.detach())
        self._spare = os.open(os.devnull, os.O_RDONLY)
        self._logged = float("-inf")

    def accept(self) -> tuple[socket.socket, Any]:
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self._turn_away()
            raise BlockingIOError from None

    def close(self) -> None:
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        super().close()

    def _turn_away(self) -> None:
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
            with contextlib.suppress(OSError):
                super().accept()[0].close()
        if time.monotonic() - self._logged > _LOG_EVERY_S:  # while one is free: a log is a file too
            self._logged = time.monotonic()
            _log.error("out of file descriptors, connections are turned away; raise the limit (ulimit -n)")
        with contextlib.suppress(OSError):
            self._spare = os.open(os.devnull, os.O_RDONLY)


class Connection(H11Protocol):
    """One connection of a client; closed where it keeps the server waiting, or its address has too many."""

    _timer: asyncio.TimerHandle | None = None
    """Runs while the server waits for the client, which needs no token for that."""
    _timed_s: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._finds_place():
            self._watch()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    def _finds_place(self) -> bool:
        """Return whether there is a place; if not, who has kept the server waiting longest loses theirs.

        That is one of the same address, or of the one with most of such connections: who is slow on purpose
        keeps nobody out.
        """
        limit = self.config.limit_concurrency or MAX_CONNECTIONS
        everyone = [other for other in self.connections if isinstance(other, Connection)]
        same = [other for other in everyone if other._address == self._address]
        is_share_taken = len(same) > max(1, int(limit * _SHARE_OF_ONE_ADDRESS))
        if not is_share_taken and len(everyone) < limit:
            return True
        waiting = [other for other in (same if is_share_taken else everyone) if other._timer is not None]
        if not waiting:
            return not is_share_taken and len(everyone) <= limit + _BEYOND
        count = Counter(other._address for other in waiting)
        slowest = max(waiting, key=lambda other: (count[other._address], -other._waits_until))
        self.connections.discard(slowest)
        slowest.transport.abort()
        return True

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def _waits_until(self) -> float:
        return self._timer.when() if self._timer else math.inf

    def _watch(self) -> None:
        """Time each wait for the client as a whole, however much comes meanwhile; no answer is timed."""
        allowed_s = self._allowed_s()
        if allowed_s == self._timed_s:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timed_s = allowed_s
        self._timer = None if allowed_s is None else self.loop.call_later(allowed_s, self.transport.abort)

    def _allowed_s(self) -> float | None:
        """Return how long the client may take for what it has to do next; None while it has nothing to do."""
        if self.flow.write_paused:
            return BODY_S
        if self.conn.their_state is h11.IDLE:
            return HEAD_S
        if self.conn.their_state is h11.SEND_BODY:
            return REST_S if self.cycle.response_complete else BODY_S
        return None
