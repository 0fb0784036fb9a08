"""Serving the page on loopback until a signal comes."""

from __future__ import annotations

import mimetypes
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from findspot.core.errors import InvalidArgumentError
from findspot.engine import Engine
from findspot.serve.listening import listen, serve
from findspot.serve.web.guard import Guard
from findspot.serve.web.routes import routes
from findspot.serve.web.workspace import Workspace

HOST = "127.0.0.1"
DEFAULT_PORT = 8766
"""Beside the port of `serve --http`; where it is taken, any free one does."""

_PAGE = Path(__file__).parent / "page"
_TOKEN_BYTES = 24
_SHUTDOWN_S = 1
"""Requests are short, and a page left open must not keep the program from ending."""


def run(start: Path, port: int | None, opened: Callable[[str], None]) -> None:
    """Serve the page about the project at a folder; `opened` is called with its address."""
    workspace = Workspace(Engine(), start)
    try:
        with _listening(port) as listener:
            token = secrets.token_urlsafe(_TOKEN_BYTES)
            number = listener.getsockname()[1]
            app = make_app(workspace, token, number)
            opened(f"http://{HOST}:{number}/?token={token}")
            serve(app, listener, shutdown_s=_SHUTDOWN_S, lifespan=False)
    finally:
        workspace.close()


def make_app(workspace: Workspace, token: str, port: int) -> ASGIApp:
    """Return the page, its files and its routes, behind the guard."""

    mimetypes.add_type("text/javascript", ".js")  # some systems say otherwise, and browsers are strict

    def page(_request: Request) -> Response:
        return FileResponse(_PAGE / "index.html")

    app = Starlette(
        routes=[
            Route("/", page),
            *routes(workspace),
            Mount("/assets", StaticFiles(directory=_PAGE)),
        ]
    )
    return Guard(app, token, port)


def _listening(port: int | None) -> socket.socket:
    try:
        return listen(HOST, DEFAULT_PORT if port is None else port)
    except OSError as error:
        if port is None:
            return listen(HOST, 0)
        raise InvalidArgumentError(
            f"Cannot listen on port {port}: {error.strerror or error}.",
            hint="Leave --port out for a free one.",
        ) from None
