"""A remote MCP server on a loopback port, over streamable HTTP or SSE, with an authorization server.

    with RemoteServer() as server:            # one tool, `add`; a login is needed
        server.url                            # of its entry
        browse(address)                       # what a person does in a browser: agree
        server.expire()                       # every access token is refused from now on

What a hostile server does is set by replacing parts of `answers`: path -> a response, or a function of
the request.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import socket
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource/mcp"
AUTHORIZATION_SERVER = "/.well-known/oauth-authorization-server"

HALF = "Party ½"
"""Stands for a text that ends inside a character: on its way out, `½` becomes half of one."""

Answer = Response | Callable[[Request], Response | None]


@dataclass
class Seen:
    """A request that the server got."""

    method: str
    path: str
    authorization: str | None
    form: dict[str, str]


@dataclass
class RemoteServer:
    """One MCP server and its authorization server, both at the same port, in a thread."""

    sse: bool = False
    needs_login: bool = True
    header: tuple[str, str] | None = None
    """A header without which every message is refused."""
    registers: bool = True
    """Whether clients can register; if not, the only client is `known-client`."""
    auth_methods: list[str] | None = field(default_factory=lambda: ["client_secret_post", "none"])
    """How clients prove who they are; one that does not register with `none` gets a secret."""
    lifetime_s: int = 3600
    halves: bool = False
    """Whether it has a tool `half`, whose text ends inside a character."""
    port: int = 0
    """One that is free, unless it is that of a server before."""
    answers: dict[str, Answer] = field(default_factory=dict)
    scope: str = "tools:call"
    """What a token must hold."""
    seen: list[Seen] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    """Valid access tokens, with their scopes."""
    refresh_tokens: dict[str, str] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    client_secrets: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.origin}/mcp"
        self._app = self._mcp_app()
        config = uvicorn.Config(
            self._serve, interface="asgi3", log_level="critical", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=anyio.run, args=(self._server.serve, [listener]), name="remote-server", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(180)

    def expire(self) -> None:
        """Refuse every access token that was issued."""
        self.tokens.clear()

    def forget(self) -> None:
        """Refuse refresh tokens too."""
        self.expire()
        self.refresh_tokens.clear()

    def paths(self) -> list[str]:
        return [request.path for request in self.seen]

    def _mcp_app(self) -> Any:
        server = MCPServer("remote", log_level="CRITICAL")

        @server.tool()
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        if self.halves:

            @server.tool()
            def half() -> str:
                """Return half of a character, which the answer holds as an escape."""
                return HALF

        if self.sse:
            return server.sse_app(sse_path="/mcp", message_path="/messages/")
        return server.streamable_http_app(streamable_http_path="/mcp")

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        is_message = request.url.path == "/mcp" or request.url.path.startswith("/messages")
        form = {} if is_message or request.method != "POST" else await _fields(request)
        authorization = request.headers.get("authorization")
        self.seen.append(Seen(request.method, request.url.path, authorization, form))
        given = self.answers.get(request.url.path)
        if given is not None:
            answer: Response | None = (
                given(request) if callable(given) and not isinstance(given, Response) else given
            )
        elif is_message:
            answer = self._refusal(request)
        else:
            answer = self._oauth(request, form)
        await (answer or self._app)(scope, receive, _halving(send) if self.halves else send)

    def _refusal(self, request: Request) -> Response | None:
        """Return why a message is not taken: no token, or one that is not enough."""
        if self.header and request.headers.get(self.header[0]) != self.header[1]:
            return Response(status_code=401)
        if not self.needs_login:
            return None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        challenge = f'Bearer resource_metadata="{self.origin}{PROTECTED_RESOURCE}"'
        if scheme != "Bearer" or token not in self.tokens:
            return Response(status_code=401, headers={"WWW-Authenticate": challenge})
        if self.scope not in self.tokens[token].split():
            challenge += f', error="insufficient_scope", scope="{self.scope}"'
            return Response(status_code=403, headers={"WWW-Authenticate": challenge})
        return None

    def _oauth(self, request: Request, form: dict[str, str]) -> Response:
        match request.method, request.url.path:
            case "GET", path if path == PROTECTED_RESOURCE:
                return JSONResponse(
                    {"resource": self.url, "authorization_servers": [self.origin]} | self._scopes()
                )
            case "GET", path if path == AUTHORIZATION_SERVER:
                return JSONResponse(self.metadata())
            case "POST", "/register" if self.registers:
                return self._register(form)
            case "GET", "/authorize":
                return self._authorize(dict(request.query_params))
            case "POST", "/token" if not self._is_client(request, form):
                return JSONResponse({"error": "invalid_client"}, 401)
            case "POST", "/token":
                return self._token(form)
        return Response(status_code=404)

    def _scopes(self) -> dict[str, Any]:
        return {"scopes_supported": [self.scope]}

    def metadata(self) -> dict[str, Any]:
        """What the authorization server says about itself."""
        registration = {"registration_endpoint": f"{self.origin}/register"} if self.registers else {}
        return {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "code_challenge_methods_supported": ["S256"],
            **({"token_endpoint_auth_methods_supported": self.auth_methods} if self.auth_methods else {}),
            **registration,
        }

    def _register(self, form: dict[str, Any]) -> Response:
        """Register a client; as some servers do, without a word about how it is to send its secret."""
        client = {"client_id": secrets.token_hex(4), "redirect_uris": form["redirect_uris"]}
        if form.get("token_endpoint_auth_method") != "none":
            client["client_secret"] = self.client_secrets[client["client_id"]] = secrets.token_hex(4)
        return JSONResponse(client, 201)

    def _is_client(self, request: Request, form: dict[str, str]) -> bool:
        secret = self.client_secrets.get(form["client_id"])
        if secret is None or "client_secret_post" in (self.auth_methods or ()):
            return form.get("client_secret") == secret or secret is None
        basic = base64.b64encode(f"{form['client_id']}:{secret}".encode()).decode()
        return request.headers.get("authorization") == f"Basic {basic}"

    def _authorize(self, asked: dict[str, str]) -> Response:
        if not self.registers and asked["client_id"] != "known-client":
            return Response("unknown client", status_code=400)
        code = secrets.token_hex(8)
        self.codes[code] = asked
        back = urllib.parse.urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{back}", 302)

    def _token(self, form: dict[str, str]) -> Response:
        if form.get("grant_type") == "refresh_token":
            scope = self.refresh_tokens.pop(form["refresh_token"], None)
            valid = scope is not None and form["resource"] == self.url
        else:
            asked = self.codes.pop(form["code"], {})
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            scope = asked.get("scope", "")
            valid = challenge == asked.get("code_challenge") and form["resource"] == self.url
        if not valid or scope is None:
            return JSONResponse({"error": "invalid_grant"}, 400)
        access, refresh = f"access-{secrets.token_hex(8)}", f"refresh-{secrets.token_hex(8)}"
        self.tokens[access], self.refresh_tokens[refresh] = scope, scope
        return JSONResponse(
            {
                "access_token": access,
                "token_type": "bearer",
                "expires_in": self.lifetime_s,
                "refresh_token": refresh,
                "scope": scope,
            }
        )


def _halving(send: Any) -> Any:
    """Return what sends `½` as half of a character: no server of the SDK would."""

    async def halved(message: Any) -> None:
        if message["type"] == "http.response.start":
            kept = [(name, value) for name, value in message["headers"] if name != b"content-length"]
            message = message | {"headers": kept}
        elif b"\xc2\xbd" in message.get("body", b""):
            message = message | {"body": message["body"].replace(b"\xc2\xbd", b"\\ud83c")}
        await send(message)

    return halved


async def _fields(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").startswith("application/json"):
        value: dict[str, Any] = await request.json()
        return value
    return dict(urllib.parse.parse_qsl((await request.body()).decode()))


def browse(address: str) -> str:
    """Open an address as a browser does, with its redirects, and return the last page."""
    with urllib.request.urlopen(address, timeout=180) as page:
        text: str = page.read().decode()
    return text
