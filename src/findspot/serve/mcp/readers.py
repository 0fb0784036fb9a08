"""Several processes that answer behind one address: who gets which request, and what happens when one ends.

This process takes all connections, so that tokens, limits and turns are decided in one place. A request goes
to the process that knows its session, task, question or stored result, whose number begins their ids; any
other request goes to the process with the fewest requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from findspot.core.log import get_logger
from findspot.core.platforms import python_command, python_environment
from findspot.core.setting_keys import DOCUMENTS_TOOLSET
from findspot.serve.mcp.access import IN_SCOPE
from findspot.serve.mcp.frames import Channel, Kind, open_channel, packed_grant, send_start
from findspot.serve.mcp.http_backend import CLIENT, MESSAGE, Figures, Plan, takes_turn
from findspot.serve.mcp.http_sessions import session_of
from findspot.serve.mcp.limits import Turns
from findspot.serve.mcp.metrics import Load
from findspot.serve.mcp.reader_process import WRITER
from findspot.serve.mcp.tools import all_tools

_log = get_logger("http")

_FORK_SERVER = "from findspot.serve.mcp.reader_process import fork_server; fork_server()"
_MARK = re.compile(r"(?:findspot://results/)?p([0-9]{1,4})-")
_TURNS = 2
"""Calls at once in each process: one that computes, and one that reads or waits."""
_WATCH_AFTER_S = 0.2
"""Nobody looks sooner whether the client of a request is still there: most answers are sent by then."""
_QUICK_END_S = 2.0
_LONGEST_PAUSE_S = 30.0
_FIGURES_S = 5.0
_STOP_S = 10.0


class _Process:
    """One process that answers, or its place while it is being replaced."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.turns = Turns(_TURNS)
        self.channel: Channel | None = None
        self.waiting: dict[int, asyncio.Queue[tuple[Kind, Any, bytes] | None]] = {}
        """What is to be answered, and what has come of each answer; None where the process has ended."""
        self.chosen = 0
        """How often it was chosen for a request that belonged to none."""
        self.started_at = 0.0
        self.pause_s = 0.0

    def receive(self, kind: Kind, number: int, head: Any, body: bytes) -> None:
        if number in self.waiting:
            self.waiting[number].put_nowait((kind, head, body))

    def fail(self) -> None:
        """Tell everybody who waits for an answer that none will come."""
        self.channel = None
        for answers in self.waiting.values():
            answers.put_nowait(None)


class _Pauses:
    """Tells the writer which readers write, and to which index, so that it keeps off meanwhile."""

    def __init__(self, writer: _Process) -> None:
        self._writer = writer
        self._numbers = itertools.count(1)
        self._open: dict[int, tuple[_Process, int]] = {}
        """The pauses that the writer knows: who asked, and by which number."""

    def pass_on(self, process: _Process, kind: Kind, number: int, root: Path | None) -> None:
        if kind is Kind.PAUSE:
            ours = next(self._numbers)
            self._open[ours] = process, number
            self._tell_writer(Kind.PAUSE, ours, root)
        elif kind is Kind.PAUSED and number in self._open:
            asker, theirs = self._open[number]
            if asker.channel is not None:
                asker.channel.send(Kind.PAUSED, theirs)
        elif kind is Kind.RESUME:
            self._end(process, number)

    def end_of(self, process: _Process) -> None:
        """End the pauses of a process that has ended."""
        self._end(process, None)

    def _end(self, process: _Process, number: int | None) -> None:
        for ours, (asker, theirs) in list(self._open.items()):
            if asker is process and number in (None, theirs):
                del self._open[ours]
                self._tell_writer(Kind.RESUME, ours, None)

    def _tell_writer(self, kind: Kind, number: int, root: Path | None) -> None:
        if self._writer.channel is not None:
            self._writer.channel.send(kind, number, root)


class _ForkServer:
    """The process that forks the others; started again if somebody has ended it."""

    def start(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                python_command("-c", _FORK_SERVER), stdin=theirs.fileno(), env=python_environment()
            )

    def start_reader(self, values: tuple[int, Plan], end: socket.socket) -> None:
        try:
            send_start(self._control, values, end)
        except OSError:
            self._control.close()
            self._process.wait()
            self.start()
            send_start(self._control, values, end)

    def stop(self) -> None:
        """Wait until all processes have ended."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_S)


class Readers:
    """An ASGI application that hands requests to other processes."""

    def __init__(self, plan: Plan, number: int) -> None:
        self._plan = plan
        self._readers = {place: _Process(place) for place in range(1, number + 1)}
        self._writer = _Process(WRITER)
        self._pauses = _Pauses(self._writer)
        self._fork_server = _ForkServer()
        self._roots: set[Path] = set()
        self._requests = 0
        self._stopping = False
        self._streams: set[asyncio.Queue[tuple[Kind, Any, bytes] | None]] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._by_first = {tool.name for tool in all_tools().offered((DOCUMENTS_TOOLSET,))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._forward(scope, receive, send)

    async def figures(self) -> list[Figures]:
        """Return the figures of every process that answers in time."""

        async def ask(process: _Process, channel: Channel) -> Figures | None:
            with self._ask(process) as (number, answers), contextlib.suppress(TimeoutError):
                channel.send(Kind.FIGURES, number)
                async with asyncio.timeout(_FIGURES_S):
                    answer = await answers.get()
                    return answer[1] if answer is not None else None
            return None

        asked = (ask(process, process.channel) for process in self._readers.values() if process.channel)
        return [figures for figures in await asyncio.gather(*asked) if figures is not None]

    async def sessions_of(self, name: str) -> int:
        return sum(figures.sessions[name] for figures in await self.figures())

    def load(self) -> Load:
        readers = self._readers.values()
        missing = sum(reader.channel is None for reader in readers)
        running = sum(reader.turns.running for reader in readers)
        waiting = sum(reader.turns.waiting for reader in readers)
        return Load(len(readers) - missing, missing, running, waiting)

    def end_streams(self) -> None:
        """End the streams on which clients listen; calls that run are still answered."""
        self._stopping = True
        for stream in self._streams:
            stream.put_nowait((Kind.END, None, b""))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await asyncio.to_thread(self._fork_server.start)
        for process in (self._writer, *self._readers.values()):
            await self._start(process)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self, process: _Process) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._fork_server.start_reader((process.number, self._plan), theirs)
        process.started_at = asyncio.get_running_loop().time()

        def receive(kind: Kind, number: int, head: Any, body: bytes) -> None:
            if kind is Kind.OPENED:
                self._note_opened(head, process)
            elif kind in (Kind.PAUSE, Kind.PAUSED, Kind.RESUME):
                self._pauses.pass_on(process, kind, number, head)
            else:
                process.receive(kind, number, head, body)

        process.channel = await open_channel(ours, receive, lambda: self._replace(process))
        for root in self._roots:
            process.channel.send(Kind.OPENED, 0, root)

    def _note_opened(self, root: Path, opener: _Process) -> None:
        """Have a project that was opened first watched by the writer, and loaded by the other readers."""
        if root in self._roots:
            return
        self._roots.add(root)
        for process in (self._writer, *self._readers.values()):
            if process is not opener and process.channel is not None:
                process.channel.send(Kind.OPENED, 0, root)

    def _replace(self, process: _Process) -> None:
        """Start another process for one that has ended; after a pause if it did not live long."""
        process.fail()
        self._pauses.end_of(process)
        if self._stopping:
            return
        loop = asyncio.get_running_loop()
        lived_s = loop.time() - process.started_at
        quick = lived_s < _QUICK_END_S
        process.pause_s = min(_LONGEST_PAUSE_S, max(1.0, 2 * process.pause_s)) if quick else 0.0
        _log.error("process %d of the server ended and is replaced", process.number)

        async def start() -> None:
            await asyncio.sleep(process.pause_s)
            if not self._stopping:
                await self._start(process)

        task = loop.create_task(start())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _stop(self) -> None:
        """End all processes; what they still answer has been waited for."""
        self._stopping = True
        for task in self._background:
            task.cancel()
        for process in (self._writer, *self._readers.values()):
            if process.channel is not None:
                process.channel.send(Kind.STOP)
        await asyncio.to_thread(self._fork_server.stop)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        body = message.get("body", b"") if message["type"] == "http.request" else b""
        process = self._choose(scope)
        if process is None:
            await _unavailable("No process of the server can answer now")(scope, receive, send)
        elif takes_turn(scope):
            async with process.turns.turn(scope[CLIENT]):
                await self._exchange(process, scope, body, receive, send)
        else:
            await self._exchange(process, scope, body, receive, send)

    def _choose(self, scope: Scope) -> _Process | None:
        """Return the process that a request belongs to, else one with few requests; None if there is none."""
        running = [process for process in self._readers.values() if process.channel is not None]
        session = session_of(scope)
        if session is not None:
            chosen = self._marked(session.decode("latin-1"))
        elif (named := self._named(scope.get(MESSAGE))) is not None:
            chosen = named
        elif running:
            chosen = min(running, key=lambda process: (len(process.waiting), process.chosen))
            chosen.chosen += 1
        else:
            return None
        return chosen if chosen.channel is not None else None

    def _marked(self, identity: str) -> _Process:
        """Return the process whose mark an id begins with; the first for an id that nobody knows."""
        marked = _MARK.match(identity)
        return self._readers.get(int(marked[1]) if marked else 1) or self._readers[1]

    def _named(self, message: Any) -> _Process | None:
        """Return the process that knows what a message without a session refers to, if anything."""
        params = message.get("params") if isinstance(message, dict) else None
        if not isinstance(params, dict):
            return None
        answers = params.get("inputResponses")
        named = [params.get("taskId"), params.get("uri"), *(answers if isinstance(answers, dict) else ())]
        marked = [name for name in named if isinstance(name, str) and _MARK.match(name)]
        if marked:
            return self._marked(marked[0])
        return self._readers[1] if params.get("name") in self._by_first else None

    @contextlib.contextmanager
    def _ask(self, process: _Process) -> Iterator[tuple[int, asyncio.Queue[tuple[Kind, Any, bytes] | None]]]:
        self._requests = self._requests % 0xFFFF_FFFF + 1
        number, answers = self._requests, asyncio.Queue[tuple[Kind, Any, bytes] | None]()
        process.waiting[number] = answers
        try:
            yield number, answers
        finally:
            del process.waiting[number]

    async def _exchange(
        self, process: _Process, scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> None:
        if process.channel is None:
            await _unavailable("The process of this session has ended")(scope, receive, send)
            return
        head = (
            scope["method"],
            scope["path"],
            scope["query_string"],
            scope["headers"],
            scope["client"],
            packed_grant(scope.get(IN_SCOPE)),
        )
        with self._ask(process) as (number, answers):
            process.channel.send(Kind.REQUEST, number, head, body)
            is_stream = scope["method"] == "GET"
            if is_stream:
                self._streams.add(answers)
            try:
                async with _watched(receive, process, number, answers):
                    await _pass_on(answers, scope, receive, send)
            finally:
                self._streams.discard(answers)


@contextlib.asynccontextmanager
async def _watched(
    receive: Receive,
    process: _Process,
    number: int,
    answers: asyncio.Queue[tuple[Kind, Any, bytes] | None],
) -> AsyncIterator[None]:
    """Tell the process if the client leaves before its answer is complete."""
    watch: asyncio.Task[None] | None = None

    async def notice() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if process.channel is not None:
            process.channel.send(Kind.LEFT, number)

    def begin() -> None:
        nonlocal watch
        watch = asyncio.ensure_future(notice())

    timer = asyncio.get_running_loop().call_later(_WATCH_AFTER_S, begin)
    try:
        yield
    finally:
        timer.cancel()
        if watch is not None:
            watch.cancel()


async def _pass_on(
    answers: asyncio.Queue[tuple[Kind, Any, bytes] | None], scope: Scope, receive: Receive, send: Send
) -> None:
    """Send an answer as it comes from its process."""
    begun = False
    while True:
        answer = await answers.get()
        if answer is None and not begun:
            await _unavailable("The process that worked on this ended")(scope, receive, send)
            return
        kind, head, body = answer or (Kind.END, None, b"")
        if head is not None:
            await send({"type": "http.response.start", "status": head[0], "headers": head[1]})
            begun = True
        elif not begun:  # a stream that is ended before it has begun
            await _unavailable("The server is stopping")(scope, receive, send)
            return
        more = kind in (Kind.START, Kind.PART)
        part: Message = {"type": "http.response.body", "body": body, "more_body": more}
        await send(part)
        if not more:
            return


def _unavailable(what: str) -> JSONResponse:
    return JSONResponse({"error": f"{what}. Ask again."}, 503, {"Retry-After": "1"})
