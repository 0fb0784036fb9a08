"""JSON-RPC messages, one per line, as the streams that the MCP SDK works on."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage

    Item = SessionMessage | Exception
    Streams = tuple[MemoryObjectReceiveStream[Item], MemoryObjectSendStream[SessionMessage]]

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""The largest message that a server may send."""

SESSION_ENDED = -31_404
"""The error of a request that was not run, since its server does not know the session any more."""

CHUNK_BYTES = 1 << 16
_UNITS_PER_SECOND = 5_000
_BYTES_PER_UNIT = 10_000
"""What is read of a server per second: so many lines, or so many times this many bytes."""

_MAX_DEPTH = 190
"""The SDK reads a message of about 200 levels at most."""

_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
"""An escape in JSON; the group is half of a character, which programs leave that cut a text inside it."""

_ENDS_BYTES = 4_000
_HEAD_ID = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d+)\b(?!\s*,\s*"method")')
_TAIL_ID = re.compile(rb'"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


def new_streams() -> tuple[
    MemoryObjectSendStream[Item],
    MemoryObjectReceiveStream[Item],
    MemoryObjectSendStream[SessionMessage],
    MemoryObjectReceiveStream[SessionMessage],
]:
    """Return both ends of a stream of messages to the SDK, then of one from it."""
    incoming, read_stream = anyio.create_memory_object_stream["Item"](0)
    write_stream, outgoing = anyio.create_memory_object_stream["SessionMessage"](0)
    return incoming, read_stream, write_stream, outgoing


async def read_messages(
    output: asyncio.StreamReader, incoming: MemoryObjectSendStream[Item], pace: Pace
) -> None:
    """Pass messages on; what is not a message is left out, and an answer that is not one becomes an error."""
    from mcp.shared.message import SessionMessage

    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for line in _lines(output, MAX_MESSAGE_BYTES):
            await pace.spend(len(line))
            if not line.lstrip().startswith(b"{"):
                continue  # a greeting or a log line
            message = _message(line)
            if message is not None:
                await incoming.send(SessionMessage(message))
    incoming.close()
    with contextlib.suppress(OSError):
        while await output.read(CHUNK_BYTES):  # so that it is not stuck writing when it should end
            await pace.spend(CHUNK_BYTES)


async def _lines(output: asyncio.StreamReader, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the lines of a stream; of one that is too long, an error response to the request it answers."""
    line, size = bytearray(), 0
    while chunk := await output.read(CHUNK_BYTES):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            line += end
            size += len(end)
            yield bytes(line) if size <= max_bytes else _too_large(line, max_bytes)
            line, size = bytearray(), 0
        line += rest
        size += len(rest)
        if size > max_bytes:  # only both ends are needed, to find which request it answers
            line = line[:_ENDS_BYTES] + line[-_ENDS_BYTES:]


def _too_large(line: bytearray, max_bytes: int) -> bytes:
    return _error_answer(line, f"The answer is larger than {max_bytes >> 20} MB.")


def _error_answer(answer: bytes | bytearray, text: str) -> bytes:
    """Return an error response to the request that an unusable answer is for; nothing if it is for none."""
    answered = _HEAD_ID.search(answer) or _TAIL_ID.search(answer)
    if answered is None:
        return b""
    return b'{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"%s"}}' % (answered[1], text.encode())


def _message(line: bytes) -> JSONRPCMessage | None:
    from mcp_types import jsonrpc_message_adapter

    for mended in (bytes, readable, lambda answer: _error_answer(answer, "The answer is not valid.")):
        with contextlib.suppress(ValueError):
            return jsonrpc_message_adapter.validate_json(mended(line), by_name=False)
    return None


def readable(message: bytes) -> bytes:
    """Return a message as the SDK can read it: halves of characters are replaced by U+FFFD.

    An answer that is nested too deeply becomes an error response.
    """
    from pydantic_core import from_json

    text = message.decode("utf-8", "replace").encode()
    text = _ESCAPE.sub(lambda escape: b"\\ufffd" if escape[1] else escape[0], text)
    if text.count(b"[") + text.count(b"{") > _MAX_DEPTH:
        try:
            from_json(text)
        except ValueError as error:
            if "recursion limit" in str(error):
                return _error_answer(text, "The answer is nested too deeply.")
    return text


async def write_messages(
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    sink: asyncio.StreamWriter,
    incoming: MemoryObjectSendStream[Item],
) -> None:
    try:
        async for item in outgoing:
            sink.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await sink.drain()
    except OSError:
        incoming.close()  # the session sees the end instead of waiting for answers


class Pace:
    """Lets only so much pass per second."""

    def __init__(self) -> None:
        self._left, self._until = float(_UNITS_PER_SECOND), 0.0

    async def spend(self, size: int) -> None:
        now = anyio.current_time()
        if now >= self._until:
            self._left, self._until = float(_UNITS_PER_SECOND), now + 1
        self._left -= 1 + size / _BYTES_PER_UNIT
        if self._left <= 0:
            await anyio.sleep(self._until - now)
