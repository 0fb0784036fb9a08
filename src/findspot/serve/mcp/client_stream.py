"""One connection of a client: MCP messages, one per line, over a stream.

The SDK's own transport drops what it cannot read without an answer, and cancels running calls as soon as the
input ends. Here each line gets the answer that the protocol asks for, and calls may finish after the client
has closed its side.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from findspot.core.log import get_logger
from findspot.door.pipe import LEAVING, LEFT, key_of
from findspot.text.json_text import readable

_SHAPE = (
    "Invalid request: 'jsonrpc' must be \"2.0\", 'method' a string, 'id' a string or a whole number, and "
    "'params' an object"
)

Read = types.JSONRPCMessage | None
"""A message; None for a blank line, and for what is never answered: broken notifications and responses."""


class NoMessageError(Exception):
    """What was sent is not a message; `answer` says so."""

    def __init__(self, identity: str | int | None, code: int, message: str) -> None:
        super().__init__(message)
        error = types.ErrorData(code=code, message=message)
        self.answer = types.JSONRPCError(jsonrpc="2.0", id=identity, error=error)


def read_message(line: bytes) -> Read:
    """Return the message of one line; raise where it has to be answered with an error."""
    if not line.strip():
        return None
    try:
        value = json.loads(readable(line))
    except (ValueError, RecursionError) as error:
        raise NoMessageError(None, types.PARSE_ERROR, f"Parse error: {error}") from None
    if not isinstance(value, dict):
        reason = "Invalid request: not an object; send each message of a batch by itself"
        raise NoMessageError(None, types.INVALID_REQUEST, reason)
    identity = value.get("id")
    is_id = isinstance(identity, str | int) and not isinstance(identity, bool)
    if is_id or "id" not in value or "method" not in value:
        with contextlib.suppress(ValidationError):
            return types.jsonrpc_message_adapter.validate_python(value, by_name=False)
        if "result" in value or "error" in value or "id" not in value:
            return None
    raise NoMessageError(identity if is_id else None, types.INVALID_REQUEST, _SHAPE)


_log = get_logger("mcp")

FINISH_S = 30.0
"""How long calls may go on after the input has ended."""

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Of a message; the connection of a client that sends more is closed."""

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
        try:
            await server.run(self._incoming, self._outgoing, server.create_initialization_options())
        finally:
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()

    async def leave(self) -> None:
        """Have the pipe at the other end turn to another process; what it asked so far is answered."""
        with contextlib.suppress(anyio.BrokenResourceError):
            await self._outgoing.write(json.dumps({"findspot": LEAVING}))


class Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """What the client sends; a line that is not a message is answered here."""

    def __init__(self, reader: asyncio.StreamReader, outgoing: Outgoing, at_end: Callable[[], None]) -> None:
        self._reader = reader
        self._at_end = at_end
        self._outgoing = outgoing

    async def aclose(self) -> None:
        """Leave the closing to the connection."""

    async def receive(self) -> SessionMessage | Exception:
        while line := await self._line():
            if line.rstrip() == _LEFT_LINE:
                self._outgoing.call_when_idle(self._reader.feed_eof)
                continue
            try:
                message = read_message(line)
            except NoMessageError as error:
                _log.warning("a message could not be read: %s", error)
                with contextlib.suppress(anyio.BrokenResourceError):  # the client is gone
                    await self._outgoing.write_message(error.answer)
                continue
            if isinstance(message, types.JSONRPCRequest):
                return SessionMessage(message, self._outgoing.expect_answer(message.id))
            if message is not None:
                return SessionMessage(message)
        self._at_end()
        idle = anyio.Event()
        self._outgoing.call_when_idle(idle.set)
        with anyio.move_on_after(FINISH_S):
            await idle.wait()
        raise anyio.EndOfStream

    async def _line(self) -> bytes:
        try:
            return await self._reader.readline()
        except (OSError, ValueError):  # the other end broke off, or its line is too long
            return b""


class Outgoing(ObjectSendStream[SessionMessage]):
    """What the server sends, and which requests of the client are not answered yet."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._running: set[str] = set()
        self._when_idle: Callable[[], None] | None = None

    async def aclose(self) -> None:
        """Leave the closing to the connection."""

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            self._running.discard(key_of(message.id))
        await self.write_message(message)
        self._look_whether_idle()

    def expect_answer(self, identity: str | int) -> ServerMessageMetadata:
        """Count a request as running until it is answered, or settled without an answer."""
        self._running.add(key_of(identity))

        async def unanswered() -> None:
            self._running.discard(key_of(identity))
            self._look_whether_idle()

        return ServerMessageMetadata(on_request_unanswered=unanswered)

    async def write_message(self, message: types.JSONRPCMessage) -> None:
        await self.write(message.model_dump_json(by_alias=True, exclude_unset=True))

    async def write(self, line: str) -> None:
        try:
            self._writer.write(line.encode() + b"\n")
            await self._writer.drain()
        except OSError:
            self._running.clear()  # whoever is gone waits for nothing
            self._look_whether_idle()
            raise anyio.BrokenResourceError from None

    def call_when_idle(self, action: Callable[[], None]) -> None:
        """Call an action once no request waits for an answer."""
        self._when_idle = action
        self._look_whether_idle()

    def _look_whether_idle(self) -> None:
        if self._when_idle is not None and not self._running:
            self._when_idle()
