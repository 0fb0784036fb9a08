"""One connection of a client: MCP messages, one per line, over a stream.

The SDK's own transport drops what it cannot read without an answer, and cancels running calls as soon as the
input ends. Here each line gets the answer that the protocol asks for, and calls may finish after the client
has closed its side.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from findspot.core.log import get_logger
from findspot.door.pipe import LEAVING, LEFT, key_of
from findspot.serve.mcp.framing import NoMessageError, read_message

_log = get_logger("mcp")

FINISH_S = 30.0
"""How long calls may go on after the input has ended."""

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Of a message; the connection of a client that sends more is closed."""

_CHUNK_BYTES = 1 << 16

RequestId = str | int

_LEFT_LINE = json.dumps({"findspot": LEFT}).encode()


class Connection:
    """A client, from its first message until it is gone."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, at_end: Callable[[], None]
    ) -> None:
        """Take what to call at the end of the input, before running calls are stopped."""
        self._writer = writer
        self._outgoing = Outgoing(writer)
        self._incoming = Incoming(reader, self._outgoing, at_end)

    async def serve(self, server: Server[Any]) -> None:
        """Answer the client."""
        try:
            await server.run(self._incoming, self._outgoing, server.create_initialization_options())
        finally:
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()

    async def leave(self) -> None:
        """Have the pipe at the other end turn to another process; what it asked so far is answered."""
        with contextlib.suppress(anyio.BrokenResourceError):
            await self._outgoing.tell_pipe(LEAVING)


class Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """What the client sends; a line that is not a message is answered here."""

    def __init__(self, reader: asyncio.StreamReader, outgoing: Outgoing, at_end: Callable[[], None]) -> None:
        self._closed = False
        self._lines = _lines(reader)
        self._at_end = at_end
        self._outgoing = outgoing
        self._end = reader.feed_eof

    async def aclose(self) -> None:
        self._closed = True

    async def receive(self) -> SessionMessage | Exception:
        while not self._closed:
            line = await anext(self._lines, None)
            if line is None:
                self._at_end()
                idle = anyio.Event()
                self._outgoing.call_when_idle(idle.set)
                with anyio.move_on_after(FINISH_S):
                    await idle.wait()
                break
            if line == _LEFT_LINE:
                self._outgoing.call_when_idle(self._end)
                continue
            try:
                message = read_message(line)
            except NoMessageError as error:
                _log.warning("a message could not be read: %s", error)
                with contextlib.suppress(anyio.BrokenResourceError):  # the client is gone
                    await self._outgoing.write(error.answer)
                continue
            if message is not None:
                return self._received(message)
        raise anyio.EndOfStream

    def _received(self, message: types.JSONRPCMessage) -> SessionMessage:
        if isinstance(message, types.JSONRPCRequest):
            return SessionMessage(message, self._outgoing.expect_answer(message.id))
        return SessionMessage(message)


class Outgoing(ObjectSendStream[SessionMessage]):
    """What the server sends."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._closed = False
        self._writer = writer
        self.running: set[str] = set()
        """Requests of the client that are not answered yet."""
        self._when_idle: Callable[[], None] | None = None

    async def aclose(self) -> None:
        self._closed = True

    async def send(self, item: SessionMessage, /) -> None:
        if self._closed:
            raise anyio.ClosedResourceError
        message = item.message
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            self.running.discard(key_of(message.id))
        await self.write(message)
        self._look_whether_idle()

    def expect_answer(self, identity: RequestId) -> ServerMessageMetadata:
        """Count a request as running until it is answered, or settled without an answer."""
        self.running.add(key_of(identity))

        async def unanswered() -> None:
            self.running.discard(key_of(identity))
            self._look_whether_idle()

        return ServerMessageMetadata(on_request_unanswered=unanswered)

    async def write(self, message: types.JSONRPCMessage) -> None:
        await self._write(message.model_dump_json(by_alias=True, exclude_unset=True))

    async def _write(self, line: str) -> None:
        try:
            self._writer.write(line.encode() + b"\n")
            await self._writer.drain()
        except OSError:
            self.running.clear()  # whoever is gone waits for nothing
            self._look_whether_idle()
            raise anyio.BrokenResourceError from None

    async def tell_pipe(self, word: str) -> None:
        """Say something that is for the pipe alone."""
        await self._write(json.dumps({"findspot": word}))

    def call_when_idle(self, action: Callable[[], None]) -> None:
        """Call an action once no request waits for an answer."""
        self._when_idle = action
        self._look_whether_idle()

    def _look_whether_idle(self) -> None:
        if self._when_idle is not None and not self.running:
            self._when_idle()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    size = 0
    while data := await _read(reader):
        size += len(data)
        begun.append(data)
        if b"\n" in data:
            *whole, rest = b"".join(begun).split(b"\n")
            begun, size = [rest], len(rest)
            for line in whole:
                yield line
        elif size > MAX_LINE_BYTES:
            return
    if size:
        yield b"".join(begun)


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(_CHUNK_BYTES)
    except OSError:  # the other end broke off
        return b""
