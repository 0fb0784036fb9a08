"""What a request passes on its way in: its token and the token's limits; and two pages about the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from findspot import __version__
from findspot.serve.mcp.access import IN_SCOPE, Grant, Grants
from findspot.serve.mcp.limits import Limits, TooMuchError
from findspot.serve.mcp.metrics import CONTENT_TYPE, Meter

HEALTH, METRICS = "/health", "/metrics"
TOKEN_SESSIONS = 100
"""Sessions that one token may have open: a tenth of the server's, so that it cannot take them all."""

_SESSION_WAIT_S = 60

_BEARER = b"bearer "


class Gate:
    """The server behind its tokens; without any, everyone is let in who gets this far."""

    def __init__(
        self,
        app: ASGIApp,
        meter: Meter,
        metrics: Callable[[], Awaitable[str]],
        security: TransportSecuritySettings,
        *,
        grants: Grants | None = None,
        limits: Limits | None = None,
        sessions: Callable[[str], int] = lambda _: 0,
    ) -> None:
        self._app = app
        self._meter = meter
        self._metrics = metrics
        self._security = TransportSecurityMiddleware(security)
        self._grants = grants
        self._limits = limits
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == HEALTH:
            await JSONResponse({"status": "ok", "version": __version__})(scope, receive, send)
        elif self._grants is None:
            await self._pass(scope, receive, send, None)
        elif (grant := self._grants.of(_token(scope))) is not None:
            await self._pass(scope, receive, send, grant)
        else:
            self._meter.refused("token")
            challenge = {"WWW-Authenticate": "Bearer"}
            refusal = JSONResponse({"error": "a valid bearer token is required"}, 401, challenge)
            await refusal(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, grant: Grant | None) -> None:
        if grant is not None:
            scope[IN_SCOPE] = grant
            # By this the protocol's library ties sessions to the token that opened them.
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=grant.name, scopes=[]))
        if scope["path"] == METRICS:
            await (await self._figures(scope, grant))(scope, receive, send)
        elif grant is None or self._limits is None or scope["method"] != "POST":
            await self._app(scope, receive, send)
        else:
            try:
                with self._limits.request(grant.name):
                    if _opens_session(scope) and self._sessions(grant.name) >= TOKEN_SESSIONS:
                        raise TooMuchError("sessions", _SESSION_WAIT_S)
                    await self._app(scope, receive, send)
            except TooMuchError as much:
                self._meter.refused(much.limit)
                wait = {"Retry-After": str(much.wait_s)}
                refusal = JSONResponse({"error": f"too many requests ({much.limit})"}, 429, wait)
                await refusal(scope, receive, send)

    async def _figures(self, scope: Scope, grant: Grant | None) -> Response:
        """Figures name projects: they are for tokens that may see all of them."""
        if grant is not None and not grant.everything:
            return JSONResponse({"error": "not found"}, 404)
        refusal = await self._security.validate_request(Request(scope))
        return refusal or Response(await self._metrics(), media_type=CONTENT_TYPE)


def _opens_session(scope: Scope) -> bool:
    """Return whether the protocol's library takes a request for the first of a session."""
    headers = Headers(scope=scope)
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    of_sessions = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
    return of_sessions and MCP_SESSION_ID_HEADER not in headers


def _token(scope: Scope) -> bytes:
    """Return the one bearer token of a request; nothing where there is none, or more than one."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1 or not given[0].lower().startswith(_BEARER):
        return b""
    return bytes(given[0][len(_BEARER) :])
