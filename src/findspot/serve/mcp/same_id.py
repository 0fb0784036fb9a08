"""One request of an id at a time in an HTTP session.

The transport finds the stream of an answer by the id of its question, so of two questions with the
same id one would get the other's answer, and the other none.
"""

from __future__ import annotations

import json
from typing import Any

from mcp_types import INVALID_REQUEST
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SESSION = b"mcp-session-id"


class OneIdAtATime:
    """Refuses a request whose id is still being answered in its session."""

    def __init__(self, app: ASGIApp, max_body_bytes: int) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._busy: set[tuple[bytes, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = _session(scope)
        if session is None:
            await self._app(scope, receive, send)
            return
        heard, body = await self._listen(receive)
        identity = _identity(body)
        key = (session, str(identity))
        if identity is None:
            await self._app(scope, _again(heard, receive), send)
        elif key in self._busy:
            await _refusal(identity)(scope, receive, send)
        else:
            self._busy.add(key)
            try:
                await self._app(scope, _again(heard, receive), send)
            finally:
                self._busy.discard(key)

    async def _listen(self, receive: Receive) -> tuple[list[Message], bytes]:
        """The body, up to the size that is taken at all; one that is larger is refused further in."""
        heard: list[Message] = []
        size = 0
        while size <= self._max_body_bytes:
            heard.append(await receive())
            size += len(heard[-1].get("body", b""))
            if not heard[-1].get("more_body", False):
                return heard, b"".join(message.get("body", b"") for message in heard)
        return heard, b""


def _session(scope: Scope) -> bytes | None:
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    return next((value for name, value in scope["headers"] if name == _SESSION), None)


def _identity(body: bytes) -> Any:
    """The id of a request; None for anything else."""
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
