"""Serving the page on loopback, and who may ask: only a browser of this machine that was given the token.

The token comes once, in the address that `findspot ui` prints, and is new for each run; from then on a cookie
carries it. Cookies know no ports, so another server of this machine would be sent ours: the page is served
below a path that nobody can guess, and the cookie is for that path alone. A page of someone else could reach
this port too, so the names of host and origin must be ours, the browser must say that our own page asks, and
what changes something must name its origin. What is sent forbids everything but our own files.
"""

from __future__ import annotations

import contextlib
import hmac
import mimetypes
import secrets
import socket
import threading
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from findspot.core.errors import InvalidArgumentError
from findspot.engine import Engine
from findspot.serve.listening import listen, serve
from findspot.serve.web.routes import PageProjects, routes

_HOSTS = ("127.0.0.1", "localhost")
_PATH_BYTES = 16
_READING = ("GET", "HEAD")

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Trusted types forbid what makes markup of text: what a repository holds is never more than text."""

_REFUSED = (
    "Access refused: open the address that `findspot ui` printed, with its token.\n"
    "It is new whenever the command is run.\n"
)


HOST = "127.0.0.1"

DEFAULT_PORT = 8766
"""Beside the port of `serve --http`; where it is taken, any free one does."""

_PAGE = Path(__file__).parent / "page"

_TOKEN_BYTES = 24

_SHUTDOWN_S = 1
"""Requests are short, and a page left open must not keep the program from ending."""


class Guard:
    def __init__(self, app: ASGIApp, token: str, port: int, below: str) -> None:
        self._app = app
        self._token = token.encode()
        self._cookie = f"findspot_{port}"  # two pages may be open
        self._below = f"/{below}"
        self._hosts = {f"{name}:{port}" for name in _HOSTS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        app, inner = self._admitted(scope)
        await app(inner, receive, send_guarded)

    def _admitted(self, scope: Scope) -> tuple[ASGIApp, Scope]:
        """Return what answers a request, and the request as the page's routes know it."""
        headers, path = Headers(scope=scope), scope["path"]
        refused = PlainTextResponse(_REFUSED, 403)
        if not self._ours(headers):
            return refused, scope
        if scope["method"] not in _READING and "origin" not in headers and not self._is_bearer(headers):
            return refused, scope
        if self._in_address(scope):
            cookie = f"{self._cookie}={self._token.decode()}; Path={self._below}/; HttpOnly; SameSite=Strict"
            location = {"Location": f"{self._below}/", "Set-Cookie": cookie}
            return Response(status_code=303, headers=location), scope
        below, _, rest = path[1:].partition("/")
        is_below = hmac.compare_digest(f"/{below}".encode(), self._below.encode())
        inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()} if is_below else scope
        # The page's own files hold no secret, and a browser that comes from elsewhere keeps the cookie back.
        is_page = is_below and not rest.startswith("api/")
        return (self._app if is_page or self._in_headers(headers) else refused), inner

    def _ours(self, headers: Headers) -> bool:
        """Return whether the names are ours and, where the browser tells, the asking page too."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts or (origin is not None and origin != f"http://{host}"):
            return False
        site = headers.get("sec-fetch-site", "none")
        return site in ("same-origin", "none") or headers.get("sec-fetch-mode") == "navigate"

    def _in_address(self, scope: Scope) -> bool:
        if scope["path"] != "/":
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        return hmac.compare_digest(given[0].encode(), self._token)

    def _in_headers(self, headers: Headers) -> bool:
        return self._is_bearer(headers) or hmac.compare_digest(self._in_cookie(headers), self._token)

    def _is_bearer(self, headers: Headers) -> bool:
        """Return whether a program sent the token itself; a browser never does that for somebody else."""
        bearer = headers.get("authorization", "").removeprefix("Bearer ").encode()
        return hmac.compare_digest(bearer, self._token)

    def _in_cookie(self, headers: Headers) -> bytes:
        try:
            held = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return b""
        return held.value.encode() if held else b""


def run(
    start: Path,
    port: int | None,
    opened: Callable[[str], None],
    engine: Engine | None,
    stop: threading.Event,
) -> None:
    """Serve the page about the project at a folder, until `stop` is set; `opened` is called with its address.

    The resident process gives its own engine.
    """
    page = PageProjects(engine or Engine(), start)
    try:
        with _listening(port) as listener:
            token = secrets.token_urlsafe(_TOKEN_BYTES)
            number = listener.getsockname()[1]
            app = make_app(page, token, number, secrets.token_urlsafe(_PATH_BYTES))
            opened(f"http://{HOST}:{number}/?token={token}")
            serve(app, listener, shutdown_s=_SHUTDOWN_S, lifespan=False, stop=stop)
    finally:
        page.close()
        if engine is None:
            page.engine.close()


def make_app(projects: PageProjects, token: str, port: int, below: str) -> ASGIApp:
    """Return the page, its files and its routes, behind the guard."""

    mimetypes.add_type("text/javascript", ".js")  # some systems say otherwise, and browsers are strict

    def page(_request: Request) -> Response:
        return FileResponse(_PAGE / "index.html")

    app = Starlette(
        routes=[
            Route("/", page),
            *routes(projects),
            Mount("/assets", StaticFiles(directory=_PAGE)),
        ]
    )
    return Guard(app, token, port, below)


def _listening(port: int | None) -> socket.socket:
    way_out = "without --port `findspot ui` takes a free one"
    if port is None:
        with contextlib.suppress(InvalidArgumentError):
            return listen(HOST, DEFAULT_PORT, way_out)
    return listen(HOST, port or 0, way_out)
