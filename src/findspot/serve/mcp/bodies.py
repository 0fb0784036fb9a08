"""HTTP requests, looked at before the transport reads them.

Halves of surrogate pairs are replaced, as on standard input. And of one id there is one request at a time in
a session: the transport finds the stream of an answer by the id of its question, so of two questions with
the same id one would get the other's answer, and the other none.
"""

from __future__ import annotations

import json
from typing import Any

from mcp_types import INVALID_REQUEST
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from findspot.serve.mcp.framing import with_whole_characters

_SESSION = b"mcp-session-id"
_LAST_EVENT = b"last-event-id"


class Bodies:
    """Makes bodies readable, and refuses a request whose id is still being answered in its session."""

    def __init__(self, app: ASGIApp, max_body_bytes: int) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._busy: set[tuple[bytes, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(_without_resumption(scope), receive, send)
            return
        heard, body = await self._listen(receive)
        session = _session(scope)
        identity = _identity(body) if session is not None else None
        if session is None or identity is None:
            await self._app(scope, _again(heard, receive), send)
            return
        key = (session, str(identity))
        if key in self._busy:
            await _refusal(identity)(scope, receive, send)
        else:
            self._busy.add(key)
            try:
                await self._app(scope, _again(heard, receive), send)
            finally:
                self._busy.discard(key)

    async def _listen(self, receive: Receive) -> tuple[list[Message], bytes]:
        """Return the body, up to the size that is taken at all; one that is larger is refused further in."""
        heard: list[Message] = []
        size = 0
        while size <= self._max_body_bytes:
            heard.append(await receive())
            size += len(heard[-1].get("body", b""))
            if not heard[-1].get("more_body", False):
                body = b"".join(message.get("body", b"") for message in heard)
                return _readable(heard, body)
        return heard, b""


def _readable(heard: list[Message], body: bytes) -> tuple[list[Message], bytes]:
    """Return what was heard, as one message with a readable body; a client that left before its end stays
    gone.
    """
    if any(message["type"] != "http.request" for message in heard):
        return heard, b""
    body = with_whole_characters(body)
    return [{"type": "http.request", "body": body, "more_body": False}], body


def _without_resumption(scope: Scope) -> Scope:
    """Streams cannot be resumed here: whoever asks for it gets a new one, where the transport would fail."""
    if scope["type"] != "http":
        return scope
    return {**scope, "headers": [header for header in scope["headers"] if header[0] != _LAST_EVENT]}


def _session(scope: Scope) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == _SESSION), None)


def _identity(body: bytes) -> Any:
    """Return the id of a request; None for anything else."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return message.get("id") if isinstance(message, dict) and "method" in message else None


def _again(heard: list[Message], receive: Receive) -> Receive:
    waiting = iter(heard)

    async def replayed() -> Message:
        return next(waiting, None) or await receive()

    return replayed


def _refusal(identity: Any) -> JSONResponse:
    error = {"code": INVALID_REQUEST, "message": "A request with this id is still being answered"}
    return JSONResponse({"jsonrpc": "2.0", "id": identity, "error": error}, 400)
