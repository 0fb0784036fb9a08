"""Serving the page on loopback, and who may ask: only a browser of this machine that was given the token.

All of the page is served below its token, which is new for each run: it is a part of the address that
`findspot ui` prints, and of no cookie, which another server of this machine would be sent too. A page of
someone else could reach this port, so the names of host and origin must be ours, the browser must say that
our own page asks, and what changes something must name its origin. What is sent forbids everything but our
own files.
"""

from __future__ import annotations

import contextlib
import hmac
import mimetypes
import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path

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
    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {f"{name}:{port}" for name in _HOSTS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        token, _, rest = scope["path"][1:].partition("/")
        if self._ours(scope) and hmac.compare_digest(token.encode(), self._token):
            inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()}
            await self._app(inner, receive, send_guarded)
        else:
            await PlainTextResponse(_REFUSED, 403)(scope, receive, send_guarded)

    def _ours(self, scope: Scope) -> bool:
        """Return whether the names are ours and, where the browser tells, the asking page too."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        names_us = origin == f"http://{host}" or (origin is None and scope["method"] in _READING)
        site = headers.get("sec-fetch-site", "none")
        asks = site in ("same-origin", "none") or headers.get("sec-fetch-mode") == "navigate"
        return host in self._hosts and names_us and asks


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
            opened(f"http://{HOST}:{number}/{token}/")
            app = make_app(page, token, number)
            serve(app, listener, shutdown_s=_SHUTDOWN_S, lifespan=False, stop=stop)
    finally:
        page.close()
        if engine is None:
            page.engine.close()


def make_app(projects: PageProjects, token: str, port: int) -> ASGIApp:
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
    return Guard(app, token, port)


def _listening(port: int | None) -> socket.socket:
    way_out = "without --port `findspot ui` takes a free one"
    if port is None:
        with contextlib.suppress(InvalidArgumentError):
            return listen(HOST, DEFAULT_PORT, way_out)
    return listen(HOST, port or 0, way_out)
