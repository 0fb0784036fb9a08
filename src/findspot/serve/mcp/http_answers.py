"""Answers over HTTP: one JSON body wherever no stream is needed.

The SDK answers each request of a session with a stream of events. Here a stream whose first event is the
answer becomes a plain JSON body. It stays a stream if something else comes first (progress, a question to the
user), or when nothing has come for a second.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mcp.server.streamable_http import CONTENT_TYPE_JSON, CONTENT_TYPE_SSE
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Send

STREAM_AFTER_S = 1.0
"""How long an answer is waited for before the stream begins, which carries signs of life."""

_UNANSWERED = JSONRPCError(
    jsonrpc="2.0",
    id=None,
    error=ErrorData(code=INTERNAL_ERROR, message="Session terminated before the request completed"),
).model_dump_json(exclude_unset=True).encode()  # fmt: skip

_OF_STREAMS = ("cache-control", "connection", "x-accel-buffering")


@contextmanager
def sending(send: Send) -> Iterator[Send]:
    """Return what sends the answer to one request in place of `send`."""
    answer = _Answer(send)
    try:
        yield answer.send
    finally:
        answer.close()


class _Answer:
    """What the SDK answers to one request."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        """The head of a stream, until it is known whether it stays one."""
        self._is_sent = False
        self._sending = asyncio.Lock()
        self._timer: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        """Pass a message on; the head of a stream waits for its first event."""
        if message["type"] == "http.response.start" and _is_stream(message):
            self._start = message
            self._timer = asyncio.create_task(self._begin_later())
        elif self._start is not None and (data := _answer_in(message)) is not None:
            await self._send_json(self._start, data)
        elif self._start is not None and not message.get("more_body", False):
            await self._send_json({**self._start, "status": 500}, _UNANSWERED)
        elif not self._is_sent:
            await self._begin()
            async with self._sending:
                await self._send(message)

    def close(self) -> None:
        """End the wait for a first event: the request is over."""
        if self._timer is not None:
            self._timer.cancel()

    async def _begin_later(self) -> None:
        await asyncio.sleep(STREAM_AFTER_S)
        await self._begin()

    async def _begin(self) -> None:
        """Send the head of the stream, unless it was sent."""
        start, self._start = self._start, None
        if start is not None:
            async with self._sending:
                await self._send(start)

    async def _send_json(self, start: Message, data: bytes) -> None:
        """Send an answer as a body, in place of its stream; whatever else the stream has is nothing."""
        self._start, self._is_sent = None, True
        headers = MutableHeaders(raw=list(start["headers"]))
        for name in _OF_STREAMS:
            del headers[name]
        headers["Content-Type"], headers["Content-Length"] = CONTENT_TYPE_JSON, str(len(data))
        await self._send({**start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": data})


def _is_stream(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith(CONTENT_TYPE_SSE)


def _answer_in(message: Message) -> bytes | None:
    """Return the JSON of an event that is the answer to a request; None for any other event."""
    lines = message.get("body", b"").splitlines()
    data = b"".join(line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: "))
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return data if isinstance(value, Mapping) and value.keys() & {"result", "error"} else None
