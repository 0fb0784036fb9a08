"""The socket that a server of ours listens at, and how many connections it takes from whom."""

from __future__ import annotations

import asyncio
import errno
import math
import os
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from findspot.core.errors import InvalidArgumentError

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
"""Connections at a time, as far as the process may have so many files open."""

_OTHER_DESCRIPTORS = 320
"""What indexes, logs and worker processes may have open apart from connections."""


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
    return _Listener(listener.family, listener.type, listener.proto, listener.detach())


def serve(
    app: ASGIApp,
    listener: socket.socket,
    *,
    shutdown_s: int,
    lifespan: bool,
    on_exit: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> None:
    """Serve until a signal comes, and call `on_exit` then; silent connections are closed.

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
    """Return how many connections the limit of open files leaves room for."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MAX_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = max(files - _OTHER_DESCRIPTORS, files // 2)
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, room)


class _Listener(socket.socket):
    """Leaves connections waiting while the process has no descriptor left.

    The event loop would log each of its attempts, which fills a pipe that nobody reads.
    """

    def accept(self) -> tuple[socket.socket, Any]:
        try:
            return super().accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise BlockingIOError from None
            raise


class Connection(H11Protocol):
    """One connection of a client, closed if it keeps the server waiting."""

    _timer: asyncio.TimerHandle | None = None
    """Runs while the server waits for the client, which needs no token for that."""
    _timed_s: float | None = None
    _waits_since = math.inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._make_room()
        self._watch()

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

    def shutdown(self) -> None:
        """Let requests that run be answered, but for streams on which a client only listens."""
        super().shutdown()
        if self.scope and self.scope["method"] == "GET" and "text/event-stream" in str(self.headers):
            self.transport.close()

    def _make_room(self) -> None:
        """Close who has kept the server waiting longest if all places are taken: nobody is kept out so."""
        if len(self.connections) >= (self.config.limit_concurrency or MAX_CONNECTIONS):
            everyone = (each for each in self.connections if isinstance(each, Connection))
            slowest = min(everyone, key=lambda each: each._waits_since)
            if slowest._waits_since < math.inf:
                self.connections.discard(slowest)
                slowest.transport.abort()

    def _watch(self) -> None:
        """Time each wait for the client as a whole, however much comes meanwhile; no answer is timed."""
        allowed_s = self._allowed_s()
        if allowed_s == self._timed_s:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timed_s = allowed_s
        self._waits_since = math.inf if allowed_s is None else self.loop.time()
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
