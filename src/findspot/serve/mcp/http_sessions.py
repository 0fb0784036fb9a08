"""Sessions over HTTP: the SDK's, with an answer that is one JSON body wherever no stream is needed.

The SDK answers each request of a session with a stream of events, which takes seven tasks and three writes.
Here a request whose first message is its answer gets a plain JSON body. A stream is opened when something
else comes first (progress, a question to the user), or when nothing has come for a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.auth.middleware.bearer_auth import (
    AuthorizationContext,
)
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import (
    CONTENT_TYPE_SSE,
    MCP_SESSION_ID_HEADER,
    REQUEST_STREAM_BUFFER_SIZE,
    EventMessage,
    StreamableHTTPServerTransport,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from pydantic import ValidationError
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_SESSION = MCP_SESSION_ID_HEADER.encode()

STREAM_AFTER_S = 1.0
"""How long a request is waited for before its answer becomes a stream, which carries signs of life."""


class Sessions(StreamableHTTPSessionManager):
    """All sessions of the server."""

    def __init__(
        self,
        server: Server[Any],
        security: TransportSecuritySettings,
        *,
        max_sessions: int,
        max_body_bytes: int,
    ) -> None:
        super().__init__(
            server,
            security_settings=security,
            max_sessions=max_sessions,
            max_request_body_size=max_body_bytes,
        )

    @property
    def by_client(self) -> Counter[str]:
        """How many sessions are open, by the name of their token; without tokens, by an empty name."""
        owners = Counter(owner["client_id"] for owner in self._session_owners.values())
        owners[""] = len(self._server_instances) - len(self._session_owners)
        return owners

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        if self.max_sessions is not None and len(self._server_instances) >= self.max_sessions:
            return None
        session = uuid4().hex
        transport = self._server_instances[session] = _Session(
            session, security_settings=self.security_settings, idle_timeout=self.session_idle_timeout
        )
        if requestor is not None:
            self._session_owners[session] = requestor
        return transport


class _Session(StreamableHTTPServerTransport):
    """One session, whose answers are JSON where they can be."""

    async def _handle_post_request(
        self, scope: Scope, request: Request, receive: Receive, send: Send
    ) -> None:
        message = _request_in(await request.body()) if self._check_content_type(request) else None
        if message is None or message.method == "initialize":
            await super()._handle_post_request(scope, request, receive, send)
        elif await self._validate_accept_header(
            request, scope, send
        ) and await self._validate_request_headers(request, send):
            await self._answer(message, scope, request, receive, send)

    async def _answer(
        self, message: types.JSONRPCRequest, scope: Scope, request: Request, receive: Receive, send: Send
    ) -> None:
        assert self._read_stream_writer is not None
        identity = str(message.id)
        version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, types.DEFAULT_NEGOTIATED_VERSION)
        streams = anyio.create_memory_object_stream[EventMessage](REQUEST_STREAM_BUFFER_SIZE)
        self._request_streams[identity] = streams
        asked = self._create_session_message(message, request, identity, version)
        try:
            try:
                await self._read_stream_writer.send(asked)
                response = await self._response(streams[1])
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                response = self._create_error_response(
                    "Session terminated before the request completed",
                    HTTPStatus.INTERNAL_SERVER_ERROR,
                    types.INTERNAL_ERROR,
                )
            await response(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._clean_up_memory_streams(identity)

    async def _response(self, messages: MemoryObjectReceiveStream[EventMessage]) -> Response:
        first: EventMessage | None = None
        with anyio.move_on_after(STREAM_AFTER_S):
            first = await messages.receive()
        if first is not None and _is_last(first):
            return self._create_json_response(first.message)
        headers = {
            "Cache-Control": "no-cache, no-transform",
            "Content-Type": CONTENT_TYPE_SSE,
            MCP_SESSION_ID_HEADER: self.mcp_session_id or "",
        }
        return EventSourceResponse(self._events(first, messages), headers=headers)

    async def _events(
        self, first: EventMessage | None, messages: MemoryObjectReceiveStream[EventMessage]
    ) -> AsyncIterator[dict[str, Any]]:
        if first is not None:
            yield self._create_event_data(first)
        async for event in messages:
            yield self._create_event_data(event)
            if _is_last(event):
                return


def session_of(scope: Scope) -> bytes | None:
    """Return the id of the session that a request names."""
    return next((value for name, value in scope["headers"] if name == _SESSION), None)


def _request_in(body: bytes) -> types.JSONRPCRequest | None:
    try:
        message = types.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:
        return None
    return message if isinstance(message, types.JSONRPCRequest) else None


def _is_last(event: EventMessage) -> bool:
    return isinstance(event.message, types.JSONRPCResponse | types.JSONRPCError)


def at_path(sessions: Sessions, path: str) -> ASGIApp:
    """Return the sessions as an application that answers at one path."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(sessions.run(), receive, send)
        elif scope["path"] in (path, f"{path}/"):
            await sessions.handle_request(scope, receive, send)
        else:
            await Response("Not Found", 404)(scope, receive, send)

    return app


async def _live(running: Any, receive: Receive, send: Send) -> None:
    """Run until the server ends."""
    await receive()
    async with running:
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
