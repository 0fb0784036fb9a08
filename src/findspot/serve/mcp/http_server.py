"""MCP over HTTP: who is let in, how much each may ask, and the server behind that."""

from __future__ import annotations

import contextlib
import math
import re
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from anyio import to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS
from sse_starlette.sse import AppStatus
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from findspot import __version__
from findspot.core.config import is_loopback
from findspot.core.errors import InvalidArgumentError
from findspot.core.files import read_named
from findspot.core.log import get_logger, keep_log
from findspot.core.paths import expanded, home_folder
from findspot.engine import Engine
from findspot.serve.listening import listen, serve
from findspot.serve.mcp.access import (
    IN_SCOPE,
    OPEN,
    Grant,
    Grants,
    Terms,
    TokenRefusedError,
    grant_of,
    granted_all,
    is_metadata_path,
)
from findspot.serve.mcp.sdk import Context, connection_memory, on_disconnect
from findspot.serve.mcp.server import make_server, settings_here
from findspot.serve.mcp.tool import Registry
from findspot.serve.mcp.tools import all_tools
from findspot.text.snippet import cut

_log = get_logger("access")

PATH, HEALTH, CARD = "/mcp", "/health", "/mcp/server-card"
MAX_SESSIONS = 1_000

_COUNTED = "findspot.counted"
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")

TOKEN_SESSIONS = 100
"""Sessions that one token may have open: a tenth of the server's, so that it cannot take them all."""

_SESSION_WAIT_S = 60
_BURST_S = 2
"""An assistant asks several things at once and then thinks: two seconds' worth may come in one go."""

_BEARER = b"bearer "
_DOTS_OF_JWT = 2
_REASON_CHARS = 200
"""Of why a token was refused, as the log has it: it may quote the token's own words."""


class Names:
    """The hosts and origins that are ours: no page of another may reach the server through a browser."""

    def __init__(self, hosts: Iterable[str]) -> None:
        address = f"(?:{'|'.join(map(re.escape, (*_LOOPBACK_NAMES, *hosts)))})(?::[0-9]+)?"
        self._host = re.compile(address)
        self._origin = re.compile(f"https?://{address}")

    def refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not self._host.fullmatch(headers.get("Host", "")):
            return Response("Invalid Host header", 421)
        if not all(map(self._origin.fullmatch, headers.getlist("Origin"))):
            return Response("Invalid Origin header", 403)
        return None


def _card(scope: Scope, *, guarded: bool) -> JSONResponse:
    """Return what the server is and how it is reached, for clients that do not know it yet (SEP-2127)."""
    remote: dict[str, Any] = {"type": "streamable-http", "supportedProtocolVersions": KNOWN_PROTOCOL_VERSIONS}
    remote["url"] = f"{scope['scheme']}://{Headers(scope=scope).get('host', '')}{PATH}"
    if guarded:
        remote["headers"] = [{"name": "Authorization", "isRequired": True, "isSecret": True}]
    card = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "io.github.findspot/findspot",
        "version": __version__,
        "description": "Local-first code and documentation search for AI coding assistants and their users.",
        "remotes": [remote],
    }
    open_to_all = {"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=3600"}
    return JSONResponse(card, headers=open_to_all, media_type="application/mcp-server-card+json")


class LimitReachedError(Exception):
    """A token has reached a limit; it may ask again after some seconds."""

    def __init__(self, limit: str, wait_s: float) -> None:
        super().__init__(limit)
        self.limit = limit
        self.wait_s = max(1, math.ceil(wait_s))


class Limits:
    """Limits requests per second and at once, per token; for use by one event loop."""

    def __init__(self, per_second: int, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval_s = 1 / per_second
        self._at_once = at_once
        self._clock = clock
        self._due: dict[str, float] = {}
        """When a token would ask next if its requests came evenly; it may be early by a burst."""
        self._open: Counter[str] = Counter()

    @contextlib.contextmanager
    def request(self, name: str) -> Iterator[None]:
        """Count a request of a token while it runs; raise if the token has reached a limit."""
        now = self._clock()
        due = max(now, self._due.get(name, now)) + self._interval_s
        if self._open[name] >= self._at_once:
            raise LimitReachedError("concurrency", 1)
        if due - now > _BURST_S:
            raise LimitReachedError("rate", due - now - _BURST_S)
        self._due[name] = due
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1


class Gate:
    """The MCP server as an ASGI application, behind its tokens; without any, every request is let in."""

    def __init__(
        self,
        registry: Registry,
        engine: Engine,
        hosts: Iterable[str] = (),
        grants: Grants | None = None,
        *,
        limits: Limits | None = None,
        terms: Terms = OPEN,
    ) -> None:
        """Take the names of the server beyond those of this machine."""
        self._engine = engine
        self.stopping = threading.Event()
        """To be set when the server is about to end: work that stops then is only interrupted."""
        self._names = Names(hosts)
        self._grants = grants
        self._limits = limits
        self._open_sessions: Counter[str] = Counter()
        guarded = replace(terms, guarded=grants is not None)
        self.server = make_server(registry, engine, guarded, ending=self.stopping)
        self.server.middleware.append(self._count_sessions)
        self._sessions = StreamableHTTPSessionManager(self.server, max_sessions=MAX_SESSIONS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        issuer = self._grants.issuer if self._grants else None
        if scope["type"] != "http":
            await self._live(receive, send)
        elif scope["path"] == HEALTH:
            await JSONResponse({"status": "ok", "version": __version__})(scope, receive, send)
        elif scope["path"] == CARD and scope["method"] == "GET":
            await _card(scope, guarded=self._grants is not None)(scope, receive, send)
        elif issuer is not None and is_metadata_path(scope["path"]):
            await JSONResponse(issuer.settings.metadata)(scope, receive, send)
        elif (refusal := self._names.refusal(scope)) is not None:
            await refusal(scope, receive, send)
        elif self._grants is None:
            await self._pass(scope, receive, send, None)
        else:
            await self._identify(self._grants, scope, receive, send)

    async def _identify(self, grants: Grants, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in whoever has a token of the file, or one that the issuer has signed."""
        token, issuer = _token(scope), grants.issuer
        grant, why, status = grants.of(token), "a valid bearer token is required", HTTPStatus.UNAUTHORIZED
        challenge = [f'resource_metadata="{issuer.settings.metadata_address}"'] if issuer else []
        if grant is None and issuer is not None and token.count(b".") == _DOTS_OF_JWT:
            try:
                grant = grants.of_identity(await to_thread.run_sync(issuer.identity, token))
                if grant is None:
                    raise TokenRefusedError("your groups have no project here", HTTPStatus.FORBIDDEN)
            except TokenRefusedError as error:
                why, status = str(error), error.status
                _log.info("a token was refused: %s", cut(repr(why), _REASON_CHARS))
                challenge.insert(0, 'error="invalid_token"')
        if grant is not None:
            await self._pass(scope, receive, send, grant)
            return
        headers = {"Retry-After": "10"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
        if status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = f"Bearer {', '.join(challenge)}".strip()
        await JSONResponse({"error": why}, status, headers)(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, grant: Grant | None) -> None:
        if grant is not None:
            scope[IN_SCOPE] = grant
        limits = self._limits if grant is not None and scope["method"] == "POST" else None
        try:
            with limits.request(grant.name) if limits and grant else contextlib.nullcontext():
                if limits and grant and self._open_sessions[grant.name] >= TOKEN_SESSIONS:
                    _refuse_session(scope)
                await self._answer(scope, receive, send)
        except LimitReachedError as error:
            wait = {"Retry-After": str(error.wait_s)}
            refusal = JSONResponse({"error": f"too many requests ({error.limit})"}, 429, wait)
            await refusal(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (grant := scope.get(IN_SCOPE)) is not None:
            # By it, the SDK ties sessions to the token that opened them.
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=grant.name, scopes=[]))
            if grant.repositories:
                repositories = await to_thread.run_sync(self._engine.repositories)
                scope[IN_SCOPE] = grant.located(repositories)
        if scope["path"] not in (PATH, f"{PATH}/"):
            await Response("Not Found", 404)(scope, receive, send)
        else:
            # No stream is resumed: the transport fails at a request that asks for it.
            headers = [header for header in scope["headers"] if header[0] != b"last-event-id"]
            await self._sessions.handle_request({**scope, "headers": headers}, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._sessions.run():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await self._engine.end_servers()
        await send({"type": "lifespan.shutdown.complete"})

    async def _count_sessions(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Middleware: count a session from its first request until its end."""
        memory = connection_memory(ctx)
        if ctx.method == "initialize" and _COUNTED not in memory:
            grant = grant_of(ctx)
            name = memory[_COUNTED] = grant.name if grant else ""
            self._open_sessions[name] += 1
            on_disconnect(ctx, lambda: self._open_sessions.subtract([name]))
        return await call_next(ctx)


def _refuse_session(scope: Scope) -> None:
    """Raise for a request that the protocol's library takes for the first of a session."""
    headers = Headers(scope=scope)
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    is_modern = version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
    if not is_modern and MCP_SESSION_ID_HEADER not in headers:
        raise LimitReachedError("sessions", _SESSION_WAIT_S)


def _token(scope: Scope) -> bytes:
    """Return the one bearer token of a request; nothing where there is none, or more than one."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1 or not given[0].lower().startswith(_BEARER):
        return b""
    return bytes(given[0][len(_BEARER) :])


DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765
_SHUTDOWN_S = 3
_TOKEN_BYTES = 32
_MAX_TOKEN_BYTES = 4_096
_NEW_TOKEN = """\
Clients must send this header: Authorization: Bearer {token}
The token is new for this run. To keep one, set FINDSPOT_HTTP_TOKEN or use --token-file.
"""


def run(
    address: str,
    terms: Terms,
    beside: Callable[[Engine], contextlib.AbstractContextManager[None]],
    *,
    token_file: str | None,
    tokens: str | None,
    no_token: bool,
) -> None:
    """Serve until a signal comes; the address goes to standard error once it is bound.

    `beside` is what else the process does with the engine. Without any option about tokens, one is made.
    """
    keep_log(home_folder() / "logs", settings_here().log.level)
    settings = settings_here().http
    host, port = parse_address(address)
    if no_token and not is_loopback(f"[{host}]" if ":" in host else host):
        raise InvalidArgumentError(
            f"Serving on {host} needs a token: other machines could read your code.",
            hint="Leave out --no-token, or serve on 127.0.0.1.",
        )
    listed = tokens or settings.tokens_file
    grants, new_token = (None, None) if no_token else _grants(settings.token, token_file, listed)
    limits = Limits(settings.requests_per_second, settings.concurrent_requests) if listed else None
    engine = Engine(watching=True)
    with listen(host, port, "`findspot serve --http HOST:PORT`") as listener:
        shown = host if ":" not in host else f"[{host}]"
        sys.stderr.write(f"Findspot serves at http://{shown}:{listener.getsockname()[1]}{PATH}\n")
        if new_token:
            sys.stderr.write(_NEW_TOKEN.format(token=new_token))
        sys.stderr.flush()
        hosts = (shown, *settings.allowed_hosts)
        app = Gate(all_tools(), engine, hosts, grants, limits=limits, terms=terms)
        AppStatus.enable_automatic_graceful_drain = False  # it would end the streams of running calls, too
        try:
            with beside(engine):
                serve(app, listener, shutdown_s=_SHUTDOWN_S, lifespan=True, on_exit=app.stopping.set)
        finally:
            engine.close()


def _grants(token: str | None, token_file: str | None, listed: str | None) -> tuple[Grants, str | None]:
    """Return who is let in, and the token that was made for this run."""
    new = None
    if token_file:
        token = _read_token(expanded(token_file))
    if not token and not listed:
        token = new = secrets.token_urlsafe(_TOKEN_BYTES)
    fixed = [granted_all("token", token)] if token else []
    return Grants(fixed, expanded(listed) if listed else None), new


def _read_token(file: Path) -> str:
    try:
        token = read_named(file, _MAX_TOKEN_BYTES).decode("ascii").strip()
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(f"The token file {file} cannot be read: {error}.") from None
    if not token or not token.isprintable() or " " in token:
        raise InvalidArgumentError(
            f"The token file {file} does not hold a token.",
            hint="Write one line of letters and digits into it.",
        )
    return token


def parse_address(address: str) -> tuple[str, int]:
    """Return the host and port of `HOST:PORT`, `HOST`, `PORT` or `[::1]:PORT`, with defaults."""
    spelled = f":{address}" if address.isdecimal() else address
    if ":" in spelled.partition(":")[2] and not spelled.startswith("["):
        spelled = f"[{spelled}]"
    try:
        parts = urlsplit(f"//{spelled}")
        host, port = parts.hostname or DEFAULT_HOST, parts.port
        host.encode("idna")
        if parts.netloc != spelled:
            raise ValueError("a path")
    except ValueError:
        raise InvalidArgumentError(f"'{address}' is not an address. Use HOST:PORT.") from None
    return host, DEFAULT_PORT if port is None else port
