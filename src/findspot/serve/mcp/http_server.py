"""MCP over HTTP: who is let in, how much each may ask, and the server behind that."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import INVALID_REQUEST, PROTOCOL_VERSION_META_KEY, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS
from sse_starlette.sse import AppStatus
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from findspot import __version__
from findspot.core.config import is_loopback
from findspot.core.errors import InvalidArgumentError
from findspot.core.files import read_named
from findspot.core.log import keep_log
from findspot.core.paths import expanded, home_folder
from findspot.core.settings import HttpSettings
from findspot.serve.library import Library
from findspot.serve.listening import cannot_listen, inherited_listener, listen, serve
from findspot.serve.mcp.access import IN_SCOPE, OPEN, Grant, Grants, Terms, granted_all
from findspot.serve.mcp.framing import read_frame, with_whole_characters
from findspot.serve.mcp.http_backend import CLIENT, MAX_BODY_BYTES, MESSAGE, PATH, Backend
from findspot.serve.mcp.limits import LimitReachedError, Limits
from findspot.serve.mcp.metrics import CONTENT_TYPE
from findspot.serve.mcp.oidc import IssuerUnavailableError, TokenRefusedError, is_metadata_path
from findspot.serve.mcp.resources import Offers
from findspot.serve.mcp.served_projects import PROJECTS, READY, page_file
from findspot.serve.mcp.server import OFFERS, settings_here
from findspot.serve.mcp.tool import Registry
from findspot.serve.mcp.tools import all_tools

_LAST_EVENT, _SESSION = b"last-event-id", MCP_SESSION_ID_HEADER.encode()
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")

HEALTH, METRICS = "/health", "/metrics"

TOKEN_SESSIONS = 100
"""Sessions that one token may have open: a tenth of the server's, so that it cannot take them all."""

_SESSION_WAIT_S = 60

_BEARER = b"bearer "
_DOTS_OF_JWT = 2

_MOST_DROPPED_BYTES = 64 * 1024 * 1024
"""A client that sends more than that is not listened to until it has finished."""


class Bodies:
    """Makes bodies readable, and refuses a request whose id is still being answered in its session.

    What a body says goes along with the request, for those who have to know what it is about.

    Halves of surrogate pairs are replaced, as on standard input. The transport finds the stream of an answer
    by the id of its question: of two questions with the same id one would get the other's answer.
    """

    def __init__(self, app: ASGIApp, max_body_bytes: int) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._busy: set[tuple[bytes, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(_without_resumption(scope), receive, send)
            return
        messages, body = await self._read_body(receive)
        message = scope[MESSAGE] = _parsed(body)
        if body and scope["path"] == PATH and (refusal := _refused(scope, body, message)) is not None:
            await refusal(scope, receive, send)
            return
        session = _session_of(scope)
        identity = message.get("id") if isinstance(message, dict) and "method" in message else None
        if session is None or identity is None:
            await self._app(scope, _replayed(messages, receive), send)
            return
        key = (session, str(identity))
        if key in self._busy:
            error = _error(identity, INVALID_REQUEST, "A request with this id is still being answered")
            await error(scope, receive, send)
        else:
            self._busy.add(key)

            async def send_answer(message: Message) -> None:
                if message["type"] == "http.response.body" and not message.get("more_body", False):
                    self._busy.discard(key)  # before the client can know, and use the id again
                await send(message)

            try:
                await self._app(scope, _replayed(messages, receive), send_answer)
            finally:
                self._busy.discard(key)

    async def _read_body(self, receive: Receive) -> tuple[list[Message], bytes]:
        """Return the body, up to the largest size accepted; the transport refuses a larger one.

        The rest is read and dropped: closing a connection before that takes the answer along.
        """
        messages: list[Message] = []
        size = 0
        while size <= self._max_body_bytes:
            messages.append(await receive())
            size += len(messages[-1].get("body", b""))
            if not messages[-1].get("more_body", False):
                body = b"".join(message.get("body", b"") for message in messages)
                return _readable(messages, body)
        dropped = messages[-1]
        while dropped.get("more_body", False) and size <= _MOST_DROPPED_BYTES:
            dropped = await receive()
            size += len(dropped.get("body", b""))
        return messages, b""


def _replayed(messages: list[Message], receive: Receive) -> Receive:
    """Return a `receive` that returns these messages first, then those that follow."""
    remaining = iter(messages)

    async def receive_again() -> Message:
        return next(remaining, None) or await receive()

    return receive_again


def _readable(messages: list[Message], body: bytes) -> tuple[list[Message], bytes]:
    """Return the body as one readable message; nothing changes for a client that left before its end."""
    if any(message["type"] != "http.request" for message in messages):
        return messages, b""
    body = with_whole_characters(body)
    return [{"type": "http.request", "body": body, "more_body": False}], body


def _without_resumption(scope: Scope) -> Scope:
    """Return a request that does not ask to resume a stream, at which the transport would fail."""
    if scope["type"] != "http":
        return scope
    return {**scope, "headers": [header for header in scope["headers"] if header[0] != _LAST_EVENT]}


def _parsed(body: bytes) -> Any:
    """Return what a body holds; None if it cannot be read."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _refused(scope: Scope, body: bytes, message: Any) -> JSONResponse | None:
    """Return the error for what is no message, in the words of standard output, or of an unknown version."""
    if isinstance(message, list):
        return _error(None, INVALID_REQUEST, "Invalid request: send each message of a batch by itself")
    if errors := read_frame(body, batches=False).errors:
        return _error(errors[0].id, errors[0].error.code, errors[0].error.message)
    version = Headers(scope=scope).get(MCP_PROTOCOL_VERSION_HEADER)
    if version is None or version in KNOWN_PROTOCOL_VERSIONS or PROTOCOL_VERSION_META_KEY in _meta(message):
        return None
    known = ", ".join(KNOWN_PROTOCOL_VERSIONS)
    why = f"Unsupported protocol version in the header MCP-Protocol-Version. Supported: {known}"
    return _error(message.get("id"), UNSUPPORTED_PROTOCOL_VERSION, why)


def _meta(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _error(identity: Any, code: int, message: str) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}, 400)


_ADDRESS = re.compile(r"(?:[a-z-]+://)?(?:\[[0-9a-f:.]+\]|[^\[\]:@/?#\\]+)(?::[0-9]+)?", re.IGNORECASE)


def _forged(scope: Scope) -> Response | None:
    """Return the refusal of a Host or Origin that is more than a name and a port.

    The SDK compares no more than their beginning, up to the port.
    """
    headers = Headers(scope=scope)
    for name, status in (("Host", 421), ("Origin", 403)):
        if not all(_ADDRESS.fullmatch(value) for value in headers.getlist(name)):
            return Response(f"Invalid {name} header", status)
    return None


class Gate:
    """The server behind its tokens; without any, every request is let in."""

    def __init__(
        self,
        backend: Backend,
        security: TransportSecuritySettings,
        *,
        grants: Grants | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._backend = backend
        self._app = Bodies(backend, MAX_BODY_BYTES)
        self._meter = backend.meter
        self._security = TransportSecurityMiddleware(security)
        self._grants = grants
        self._limits = limits
        self.end_streams = backend.end_streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif (forged := _forged(scope)) is not None:
            await forged(scope, receive, send)
        elif scope["path"] == HEALTH:
            await JSONResponse({"status": "ok", "version": __version__})(scope, receive, send)
        elif (file := page_file(scope["path"])) is not None:
            await file(scope, receive, send)
        elif scope["path"] == READY:
            await self._ready(scope, receive, send)
        elif self._grants is None:
            await self._pass(scope, receive, send, None)
        elif is_metadata_path(scope["path"]) and (issuer := self._grants.issuer) is not None:
            await JSONResponse(issuer.settings.metadata)(scope, receive, send)
        else:
            await self._identify(self._grants, scope, receive, send)

    async def _ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say whether the server is ready; only a token for everything gets the names of projects."""
        refusal = await self._security.validate_request(Request(scope)) if self._grants is None else None
        grant = self._grants.of(_token(scope)) if self._grants else None
        if grant is not None:
            scope[IN_SCOPE] = grant
        await (refusal or self._backend)(scope, receive, send)

    async def _identify(self, grants: Grants, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in whoever has a token of the file, or one that the issuer has signed."""
        token = _token(scope)
        grant, issuer = grants.of(token), grants.issuer
        refusal: Response | None = None
        if grant is None and issuer is not None and token.count(b".") == _DOTS_OF_JWT:
            try:
                grant = grants.of_identity(await issuer.identity(token))
                refusal = None if grant else self._refusal("group", 403, "your groups have no project here")
            except TokenRefusedError as error:
                refusal = self._refusal(error.code, 401, str(error), issuer.settings.metadata_address)
            except IssuerUnavailableError as error:
                refusal = self._refusal("issuer_unavailable", 503, f"tokens cannot be checked: {error}")
        if grant is not None:
            await self._pass(scope, receive, send, grant)
            return
        if refusal is None:
            self._meter.refused("token")
            address = f' resource_metadata="{issuer.settings.metadata_address}"' if issuer else ""
            challenge = {"WWW-Authenticate": f"Bearer{address}"}
            refusal = JSONResponse({"error": "a valid bearer token is required"}, 401, challenge)
        await refusal(scope, receive, send)

    def _refusal(self, code: str, status: int, why: str, metadata: str = "") -> Response:
        """Return why a token of the issuer does not let its holder in."""
        self._meter.refused(f"oidc_{code}")
        headers = {"Retry-After": "10"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
        if metadata:
            headers["WWW-Authenticate"] = (
                f'Bearer error="invalid_token", error_description="{why}", resource_metadata="{metadata}"'
            )
        return JSONResponse({"error": why}, status, headers)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, grant: Grant | None) -> None:
        if grant is not None:
            scope[IN_SCOPE] = grant
        if scope["path"] == METRICS:
            await (await self._metrics_page(scope, grant))(scope, receive, send)
            return
        if scope["path"] == PROJECTS and (refused := await self._security.validate_request(Request(scope))):
            await refused(scope, receive, send)
            return
        limited = scope["method"] == "POST" or scope["path"] == PROJECTS
        limits = self._limits if grant is not None and limited else None
        scope[CLIENT] = _client(scope, grant.name if grant is not None and self._limits else None)
        try:
            with limits.request(scope[CLIENT]) if limits else contextlib.nullcontext():
                if limits and grant and scope["method"] == "POST" and _opens_session(scope):
                    self._check_sessions(grant)
                await self._app(scope, receive, send)
        except LimitReachedError as error:
            self._meter.refused(error.limit)
            wait = {"Retry-After": str(error.wait_s)}
            refusal = JSONResponse({"error": f"too many requests ({error.limit})"}, 429, wait)
            await refusal(scope, receive, send)

    def _check_sessions(self, grant: Grant) -> None:
        if self._backend.sessions_of(grant.name) >= TOKEN_SESSIONS:
            raise LimitReachedError("sessions", _SESSION_WAIT_S)

    async def _metrics_page(self, scope: Scope, grant: Grant | None) -> Response:
        """Return the metrics, which name projects: only for tokens that may see all of them."""
        if grant is not None and not grant.everything:
            return JSONResponse({"error": "not found"}, 404)
        refusal = await self._security.validate_request(Request(scope))
        return refusal or Response(await self._metrics(), media_type=CONTENT_TYPE)

    async def _metrics(self) -> str:
        issuer = self._grants.issuer if self._grants else None
        return await self._backend.metrics(issuer.fetches if issuer else {})


def _session_of(scope: Scope) -> bytes | None:
    """Return the id of the session that a request names."""
    return next((value for name, value in scope["headers"] if name == _SESSION), None)


def _client(scope: Scope, token: str | None) -> str:
    """Return who a request counts for: a token of the file, else a session, else an address."""
    if token is not None:
        return token
    session = _session_of(scope)
    return session.decode("latin-1") if session is not None else str((scope.get("client") or ("",))[0])


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


DEFAULT_ADDRESS = "127.0.0.1:8765"
_SHUTDOWN_S = 3
_HANDOVER_S = 20
"""How long calls may take to end while another process has taken over."""
_TOKEN_BYTES = 32
_MAX_TOKEN_BYTES = 4_096
_NEW_TOKEN = """\
Clients must send this header: Authorization: Bearer {token}
The token is new for this run. To keep one, set FINDSPOT_HTTP_TOKEN or use --token-file.
"""


@dataclass(frozen=True, slots=True)
class TokenChoice:
    """The options of the command line about tokens; without any, a token is made."""

    token: str | None = None
    token_file: str | None = None
    tokens_file: str | None = None
    without: bool = False


Beside = Callable[[Library], contextlib.AbstractContextManager[None]]
"""What else a process does with the library while it serves."""


def run(address: str, choice: TokenChoice, terms: Terms, beside: Beside | None = None) -> None:
    """Serve until a signal comes; the address goes to standard error once it is bound."""
    keep_log(home_folder() / "logs", settings_here().log.level)
    settings = settings_here().http
    host, port = parse_address(address)
    given = inherited_listener()
    if given is not None:
        host = given.getsockname()[0]
    if choice.without and not is_loopback(f"[{host}]" if ":" in host else host):
        raise InvalidArgumentError(
            f"Serving on {host} needs a token: other machines could read your code.",
            hint="Leave out --no-token, or serve on 127.0.0.1.",
        )
    token, is_new = _single_token(settings, choice)
    grants = _grants(settings, token, choice)
    several = bool(choice.tokens_file or settings.tokens_file)
    limits = Limits(settings.requests_per_second, settings.concurrent_requests) if several else None
    library = Library()
    with given or _listening(host, port) as listener:
        shown = host if ":" not in host else f"[{host}]"
        sys.stderr.write(f"Findspot serves at http://{shown}:{listener.getsockname()[1]}{PATH}\n")
        if is_new:
            sys.stderr.write(_NEW_TOKEN.format(token=token))
        sys.stderr.flush()
        hosts = (host, *settings.allowed_hosts)
        app = make_app(all_tools(), library, hosts, grants, limits=limits, terms=terms)
        AppStatus.enable_automatic_graceful_drain = False  # it would end the streams of running calls, too

        def end() -> None:
            library.ending.set()
            app.end_streams()

        try:
            with beside(library) if beside else contextlib.nullcontext():
                serve(
                    app,
                    listener,
                    shutdown_s=_SHUTDOWN_S if given is None else _HANDOVER_S,
                    lifespan=True,
                    drains=given is not None,
                    on_exit=end,
                )
        finally:
            library.close()


def make_app(
    registry: Registry,
    library: Library,
    hosts: tuple[str, ...] = (),
    grants: Grants | None = None,
    offers: Offers = OFFERS,
    *,
    limits: Limits | None = None,
    terms: Terms = OPEN,
) -> Gate:
    """Return a server as an ASGI application; `hosts` are its names beyond those of this machine."""
    security = _security(hosts)
    terms = replace(terms, guarded=grants is not None)
    return Gate(Backend(registry, library, security, offers, terms), security, grants=grants, limits=limits)


def _security(hosts: tuple[str, ...]) -> TransportSecuritySettings:
    """Return the hosts and origins that are accepted."""
    names = dict.fromkeys((*_LOOPBACK_NAMES, *hosts))
    return TransportSecuritySettings(
        allowed_hosts=[entry for name in names for entry in (name, f"{name}:*")],
        allowed_origins=[
            entry
            for scheme, served in (("http", names), ("https", hosts))  # behind a proxy that ends TLS
            for name in served
            for entry in (f"{scheme}://{name}", f"{scheme}://{name}:*")
        ],
    )


def _single_token(settings: HttpSettings, choice: TokenChoice) -> tuple[str | None, bool]:
    """Return the one token for everything, if there is one, and whether it was made here."""
    if choice.without:
        return None, False
    if choice.token_file:
        return _read_token(expanded(choice.token_file)), False
    known = choice.token or settings.token
    if known or choice.tokens_file or settings.tokens_file:
        return known, False
    return secrets.token_urlsafe(_TOKEN_BYTES), True


def _read_token(file: Path) -> str:
    try:
        token = read_named(file, _MAX_TOKEN_BYTES).decode("ascii").strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InvalidArgumentError(f"The token file {file} cannot be read: {why}.") from None
    if not token or not token.isprintable() or " " in token:
        raise InvalidArgumentError(
            f"The token file {file} does not hold a token.",
            hint="Write one line of letters and digits into it.",
        )
    return token


def _grants(settings: HttpSettings, token: str | None, choice: TokenChoice) -> Grants | None:
    """Return who is let in: the one token, those of a file, or both; None where nobody has to show one."""
    listed = None if choice.without else choice.tokens_file or settings.tokens_file
    if not token and not listed:
        return None
    fixed = [granted_all("token", token)] if token else []
    return Grants(fixed, expanded(listed) if listed else None)


def parse_address(address: str) -> tuple[str, int]:
    """Return the host and port of `HOST:PORT`, `HOST`, `PORT` or `[::1]:PORT`, with defaults."""
    default_host, _, default_port = DEFAULT_ADDRESS.rpartition(":")
    if address.isdecimal():
        host, port = default_host, address
    elif address.startswith("[") or address.count(":") < 2:
        host, _, port = address.rpartition(":") if not address.endswith("]") else (address, "", "")
        if ":" not in address:
            host, port = address, ""
    else:
        host, port = address, ""
    host, port = host.strip("[]") or default_host, port or default_port
    if not port.isdecimal() or int(port) > 65_535 or not _is_host(host):
        raise InvalidArgumentError(f"'{address}' is not an address. Use HOST:PORT.")
    return host, int(port)


def _is_host(name: str) -> bool:
    try:
        return bool(name.encode("idna"))
    except UnicodeError:
        return False


def _listening(host: str, port: int) -> socket.socket:
    try:
        return listen(host, port)
    except OSError as error:
        raise cannot_listen(host, port, error, "`findspot serve --http HOST:PORT`") from None
