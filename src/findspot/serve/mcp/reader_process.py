"""A process that answers requests for another one, and the process that starts such processes.

The fork server imports what every reader needs and loads the model, then forks a reader whenever it is asked
to. Readers share that memory, and a new one answers within milliseconds. The fork server has a single thread
and holds no index, which makes forking safe.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import logging
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from starlette.types import Message, Scope

from findspot.core.config import home_folder
from findspot.core.errors import FindspotError
from findspot.core.log import get_logger, keep_log
from findspot.embed.provider_registry import IN_THE_BOX
from findspot.serve.mcp.access import IN_SCOPE
from findspot.serve.mcp.frames import Channel, Kind, open_channel, receive_start, unpacked_grant
from findspot.serve.mcp.http_backend import Backend, Plan
from findspot.serve.mcp.server import settings_here
from findspot.serve.mcp.tool_call import Library
from findspot.serve.mcp.tools import all_tools

if TYPE_CHECKING:
    from findspot.project import Pause

_log = get_logger("http")

WRITER = 0
"""The number of the process that watches and indexes; the others answer."""

_REAP_S = 1.0
_ENDING_S = 10.0
_PAUSE_S = 10.0


def mark_of(number: int) -> str:
    """Return what the ids of a process begin with."""
    return f"p{number}-"


def fork_server() -> None:
    """Fork a process for each request on standard input, a socket, until its other end is closed."""
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to all processes of a terminal or service:
        signal.signal(number, signal.SIG_IGN)  # the one that takes connections says when to end
    control = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    keep_log(home_folder() / "logs", settings_here().log.level)
    watching = _Watching()
    library = _preloaded(watching)
    children: set[int] = set()
    while True:
        if select.select([control], [], [], _REAP_S)[0]:
            started = receive_start(control)
            if started is None:
                break
            (number, plan), end = started
            if (child := os.fork()) == 0:
                control.close()
                _run_child(_Reader(number, plan, library, watching), end)
            children.add(child)
            end.close()
        children -= _ended(children)
    _end(children)


class _Watching:
    """Asks the writer to watch projects and to pause; the process that forks readers asks nobody."""

    def __init__(self) -> None:
        self.send: Callable[[Kind, int, Path | None], object] = lambda *_: None
        self._numbers = itertools.count(1)
        self._asked: dict[int, threading.Event] = {}

    def __call__(self, root: Path) -> Pause:
        self.send(Kind.OPENED, 0, root)
        return partial(self._pause, root)

    def note_paused(self, number: int) -> None:
        if number in self._asked:
            self._asked[number].set()

    @contextlib.contextmanager
    def _pause(self, root: Path) -> Iterator[None]:
        """Pause the watching of a project; whether in time, the lock of its writer decides."""
        number, paused = next(self._numbers), threading.Event()
        self._asked[number] = paused
        self.send(Kind.PAUSE, number, root)
        try:
            paused.wait(_PAUSE_S)
            yield
        finally:
            del self._asked[number]
            self.send(Kind.RESUME, number, None)


def _preloaded(watching: _Watching) -> Library:
    """Import what a search needs, and open the built-in model, for all readers to share."""
    import findspot.project
    import findspot.serve.search_answers  # noqa: F401

    library = Library(watch_elsewhere=watching)
    with contextlib.suppress(FindspotError, OSError):
        library.open().embedder(IN_THE_BOX)
    gc.collect()
    gc.freeze()
    return library


def _ended(children: set[int]) -> set[int]:
    return {child for child in children if os.waitpid(child, os.WNOHANG)[0]}


def _end(children: set[int]) -> None:
    """Wait for processes, which end with their sockets; kill those that do not."""
    deadline = time.monotonic() + _ENDING_S
    while children and time.monotonic() < deadline:
        children -= _ended(children)
        time.sleep(0.02)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _run_child(reader: _Reader, end: socket.socket) -> None:
    """Answer in a forked process, and end it without what its parent would do at its end."""
    status = 1
    try:
        asyncio.run(reader.run(end))
        status = 0
    except Exception:  # noqa: BLE001 - it ends here, and another one takes its place
        _log.exception("a process of the server failed")
    finally:
        logging.shutdown()
        os._exit(status)


class _Reader:
    """Answers requests from a channel; the writer answers none, and watches the projects named to it."""

    def __init__(self, number: int, plan: Plan, preloaded: Library, watching: _Watching) -> None:
        self._number = number
        self._library = Library() if number == WRITER else preloaded
        self._library.mark = mark_of(number)
        self._watching = watching
        self._pauses: dict[int, contextlib.ExitStack] = {}
        watching.send = self._send_from_thread
        self._backend = Backend(all_tools(), self._library, plan)
        self._exchanges: dict[int, _Exchange] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, end: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._channel = await open_channel(end, self._receive, self._over.set)
        try:
            async with self._backend.running():
                await self._over.wait()
                self._library.ending.set()
        finally:
            await asyncio.to_thread(self._library.close)
            self._channel.close()

    def _receive(self, kind: Kind, number: int, head: Any, body: bytes) -> None:
        if kind is Kind.REQUEST:
            exchange = self._exchanges[number] = _Exchange(self._channel, number, body)
            self._start(self._answer(exchange, number, _scope(head)))
        elif kind is Kind.LEFT and number in self._exchanges:
            self._exchanges[number].left.set()
        elif kind is Kind.FIGURES:
            self._start(self._send_figures(number))
        elif kind is Kind.OPENED:
            open_project = self._watch if self._number == WRITER else self._library.prepare
            self._start(to_thread.run_sync(open_project, head))
        elif kind is Kind.PAUSE:
            self._start(self._pause(number, head))
        elif kind is Kind.PAUSED:
            self._watching.note_paused(number)
        elif kind is Kind.RESUME:
            self._start(self._resume(number))
        elif kind is Kind.STOP:
            self._over.set()

    def _start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, exchange: _Exchange, number: int, scope: Scope) -> None:
        try:
            await self._backend(scope, exchange.receive, exchange.send)
        except Exception:  # noqa: BLE001 - one request's trouble must not end the others
            _log.exception("a request failed")
        finally:
            del self._exchanges[number]
            exchange.finish()

    async def _send_figures(self, number: int) -> None:
        (figures,) = await self._backend.figures()
        self._channel.send(Kind.FIGURES, number, figures)

    def _watch(self, root: Path) -> None:
        with contextlib.suppress(FindspotError, OSError):
            self._library.open().project(root)

    async def _pause(self, number: int, root: Path) -> None:
        """Keep off an index until the process that asked for it has written."""
        pauses = self._pauses[number] = contextlib.ExitStack()

        def pause() -> None:
            with contextlib.suppress(FindspotError, OSError):
                pauses.enter_context(self._library.open().project(root).paused())

        await to_thread.run_sync(pause)
        self._channel.send(Kind.PAUSED, number)

    async def _resume(self, number: int) -> None:
        if number in self._pauses:
            await to_thread.run_sync(self._pauses.pop(number).close)

    def _send_from_thread(self, kind: Kind, number: int, head: Path | None) -> None:
        self._loop.call_soon_threadsafe(self._channel.send, kind, number, head)


def _scope(head: tuple[str, str, bytes, Any, Any, Any]) -> Scope:
    """Return a request as an application gets it."""
    method, path, query, headers, client, packed = head
    grant = unpacked_grant(packed)
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": client,
        "server": None,
        **({IN_SCOPE: grant} if grant is not None else {}),
    }


class _Exchange:
    """One request and its answer, as an application receives and sends them."""

    def __init__(self, channel: Channel, number: int, body: bytes) -> None:
        self.left = asyncio.Event()
        self._channel = channel
        self._number = number
        self._body: bytes | None = body
        self._head: tuple[int, list[tuple[bytes, bytes]]] | None = None
        self._state = "new"

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Pass the answer on; one that is complete after its head goes as a single message."""
        if message["type"] == "http.response.start":
            self._head = message["status"], [(bytes(n), bytes(v)) for n, v in message["headers"]]
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._state == "new" and not more:
            self._send(Kind.ANSWER, body)
        elif self._state == "new":
            self._send(Kind.START, body)
        else:
            self._send(Kind.PART if more else Kind.END, body)

    def finish(self) -> None:
        """End an answer that the application has not ended."""
        if self._state == "new":
            self._head = 500, []
            self._send(Kind.ANSWER, b"")
        elif self._state == "begun":
            self._send(Kind.END, b"")

    def _send(self, kind: Kind, body: bytes) -> None:
        head = self._head if kind in (Kind.ANSWER, Kind.START) else None
        self._channel.send(kind, self._number, head, body)
        self._state = "begun" if kind in (Kind.START, Kind.PART) else "ended"
