"""Serving on standard input and output, and how that ends.

SIGTERM and SIGINT end the server: running work is asked to stop and awaited, and the process ends with
code 0. Closed input ends it the same way, once the running calls are answered.

The SDK's own transport passes each message through one more task and queue in either direction, drops what
it cannot read without an answer, and cancels running calls as soon as the input ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import Self

import anyio
import mcp_types as types
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from findspot.core.config import home_folder
from findspot.core.log import get_logger, keep_log
from findspot.core.setting_keys import CATALOGUE_TOOLSET
from findspot.serve.mcp.access import Terms
from findspot.serve.mcp.framing import BATCH_VERSION, Frame, read_frame
from findspot.serve.mcp.pipes import Lines, Writer
from findspot.serve.mcp.server import make_server, settings_here
from findspot.serve.mcp.tool_call import Library
from findspot.serve.mcp.tools import all_tools
from findspot.serve.mcp.tools.cortex import require_chunks

_log = get_logger("mcp")

FINISH_S = 30.0
"""How long calls may go on after the input has ended."""

_CHECK_S = 0.25
"""How often the end of the input looks whether the client is gone or a signal came."""

RequestId = str | int


_FIRST_ANSWERS_S = 0.5

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _Stream:
    """What the SDK needs of both directions, apart from messages."""

    def __init__(self) -> None:
        self._closed = False

    async def aclose(self) -> None:
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class Batch:
    """The answers to one batch, written together once the last one is there."""

    def __init__(self, requests: Iterable[RequestId], errors: Iterable[types.JSONRPCError]) -> None:
        self._open = Counter(map(_key, requests))
        self._answers = [_dumped(error) for error in errors]

    def awaits(self, identity: RequestId) -> bool:
        return self._open[_key(identity)] > 0

    def settle(self, identity: RequestId, answer: types.JSONRPCMessage | None) -> None:
        """Note that a request is done; `answer` is None where it was cancelled."""
        self._open[_key(identity)] -= 1
        if answer is not None:
            self._answers.append(_dumped(answer))

    @property
    def complete(self) -> bool:
        return self._open.total() == 0

    @property
    def text(self) -> str | None:
        """The array of answers; None where nothing is to be answered."""
        return f"[{','.join(self._answers)}]" if self._answers else None


class Incoming(_Stream):
    """What the client sends; a line that is not a message is answered here."""

    def __init__(self, lines: Lines, outgoing: Outgoing, at_end: Callable[[], None]) -> None:
        """Take what to call at the end of the input, before running calls are stopped."""
        super().__init__()
        self._lines = lines
        self._at_end = at_end
        self._outgoing = outgoing
        self._waiting: deque[SessionMessage] = deque()
        self._batches = False
        self._last_chance: float | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while not self._closed:
            if self._waiting:
                return self._waiting.popleft()
            line = await self._lines.next()
            if line is None:
                self._at_end()
                return await self._after_the_end()
            frame = read_frame(line, batches=self._batches)
            for error in frame.errors:
                _log.warning("a message could not be read: %s", error.error.message)
            await self._take(frame)
        raise StopAsyncIteration

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def _take(self, frame: Frame) -> None:
        if frame.is_batch:
            asked = [m.id for m in frame.messages if isinstance(m, types.JSONRPCRequest)]
            await self._outgoing.expect_batch(Batch(asked, frame.errors))
        else:
            await self._outgoing.refuse(frame.errors)
        self._waiting.extend(map(self._received, frame.messages))

    def _received(self, message: types.JSONRPCMessage) -> SessionMessage:
        if isinstance(message, types.JSONRPCRequest):
            if message.method == "initialize":
                self._batches = (message.params or {}).get("protocolVersion") == BATCH_VERSION
            return SessionMessage(message, self._outgoing.expect_answer(message.id))
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            self._outgoing.questions.pop(message.id, None)
        return SessionMessage(message)

    async def _after_the_end(self) -> SessionMessage:
        """Let running calls finish, within a bound; the server's questions can no longer be answered."""
        if self._last_chance is None:
            self._last_chance = anyio.current_time() + FINISH_S
        while anyio.current_time() < self._last_chance and not self._is_abandoned():
            if self._outgoing.questions:
                identity, _ = self._outgoing.questions.popitem()
                gone = types.ErrorData(code=types.CONNECTION_CLOSED, message="The input has ended")
                return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=identity, error=gone))
            if not self._outgoing.running.total():
                break
            await self._outgoing.change(_CHECK_S)
        raise StopAsyncIteration

    def _is_abandoned(self) -> bool:
        return self._lines.was_ended or self._outgoing.is_abandoned


class Outgoing(_Stream):
    """What the server sends; once the client is gone, its input is over as well."""

    def __init__(self, writer: Writer, lines: Lines) -> None:
        super().__init__()
        self._writer = writer
        self._lines = lines
        self._batches: list[Batch] = []
        self._changed = anyio.Event()
        self.running: Counter[str] = Counter()
        """Requests of the client that are not answered yet."""
        self.questions: dict[RequestId, None] = {}
        """Requests to the client that it has not answered."""

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody can read an answer any more."""
        return self._writer.is_abandoned

    async def send(self, item: SessionMessage, /) -> None:
        if self._closed:
            raise anyio.ClosedResourceError
        message = item.message
        if isinstance(message, types.JSONRPCRequest):
            self.questions[message.id] = None
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            await self._answer(message.id, message)
        else:
            await self._write(_dumped(message).encode())
        self._announce()

    def expect_answer(self, identity: RequestId) -> ServerMessageMetadata:
        """Count a request as running until it is answered, or settled without an answer."""
        self.running[_key(identity)] += 1

        async def unanswered() -> None:
            await self._answer(identity, None)
            self._announce()

        return ServerMessageMetadata(on_request_unanswered=unanswered)

    async def expect_batch(self, batch: Batch) -> None:
        """Collect the answers to these requests; a batch without requests is answered at once."""
        self._batches.append(batch)
        await self._write_complete(batch)

    async def refuse(self, errors: Iterable[types.JSONRPCError]) -> None:
        """Answer what was not a message."""
        with contextlib.suppress(anyio.BrokenResourceError):  # the client is gone; its input is ended
            for error in errors:
                await self._write(_dumped(error).encode())

    async def change(self, timeout_s: float) -> None:
        """Wait until something was sent or settled, but not longer than that."""
        with anyio.move_on_after(timeout_s):
            await self._changed.wait()

    async def _answer(self, identity: RequestId, answer: types.JSONRPCMessage | None) -> None:
        self.running -= Counter([_key(identity)])
        batch = next((batch for batch in self._batches if batch.awaits(identity)), None)
        if batch is not None:
            batch.settle(identity, answer)
            await self._write_complete(batch)
        elif answer is not None:
            await self._write(_dumped(answer).encode())

    async def _write_complete(self, batch: Batch) -> None:
        if batch.complete:
            self._batches.remove(batch)
            if batch.text is not None:
                await self._write(batch.text.encode())

    async def _write(self, message: bytes) -> None:
        try:
            await self._writer.write(message + b"\n")
        except OSError:
            self._lines.end()
            raise anyio.BrokenResourceError from None

    def _announce(self) -> None:
        woken, self._changed = self._changed, anyio.Event()
        woken.set()


def _dumped(message: types.JSONRPCMessage) -> str:
    return message.model_dump_json(by_alias=True, exclude_unset=True)


def _key(identity: RequestId) -> str:
    """Return the same for `1` and `"1"`, which clients confuse, as the SDK sees it."""
    return str(identity)


def run(terms: Terms) -> None:
    """Serve until the input ends or a signal comes."""
    keep_log(home_folder() / "logs", settings_here().log.level)
    lines, writer = Lines(_take_stdin()), Writer(_take_stdout())
    _end_on_signal(lines)
    library = Library()
    try:
        toolsets = terms.toolsets or settings_here().serve.toolsets
        if toolsets == ("cortex",):
            require_chunks(library)
        elif toolsets != (CATALOGUE_TOOLSET,):
            _prepare_soon(library)
        anyio.run(_serve, lines, writer, library, terms)
    finally:
        writer.close()
        library.close()


def _prepare_soon(library: Library) -> None:
    """Load the project we are in once the client has been greeted: loading the engine takes a moment."""
    timer = threading.Timer(_FIRST_ANSWERS_S, library.prepare_here)
    timer.daemon = True
    timer.start()


async def _serve(lines: Lines, writer: Writer, library: Library, terms: Terms) -> None:
    server = make_server(all_tools(), library, terms=terms)
    options = server.create_initialization_options()
    outgoing = Outgoing(writer, lines)
    incoming = Incoming(lines, outgoing, library.ending.set)
    await server.run(incoming, outgoing, options)


def _take_stdin() -> int:
    """Keep the input to ourselves: what we start in turn finds an empty one."""
    private = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return private


def _take_stdout() -> int:
    """Keep the output to ourselves: what others print goes to standard error."""
    private = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    return private


def _end_on_signal(lines: Lines) -> None:
    def end(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one does not wait
        lines.end()

    for number in _STOP_SIGNALS:
        signal.signal(number, end)
