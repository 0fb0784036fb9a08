"""Serving over streamable HTTP: many clients and projects in one server.

Loopback unless told otherwise. Requests must name a host that is ours (a page in a browser could
otherwise reach us under a name of its own), and bring the token where one is set; beyond loopback a
token is required.
"""

from __future__ import annotations

import socket
import sys
import threading
from pathlib import Path
from types import FrameType

import uvicorn
from anyio import to_thread
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from findspot.core.config import home_folder, is_loopback
from findspot.core.errors import InvalidArgumentError
from findspot.core.log import keep_log
from findspot.core.settings import HttpSettings
from findspot.serve.listening import listen
from findspot.serve.mcp.access import Grants, Terms, granted_all
from findspot.serve.mcp.bodies import Bodies
from findspot.serve.mcp.call import Library
from findspot.serve.mcp.gate import Gate
from findspot.serve.mcp.limits import Limits
from findspot.serve.mcp.metrics import Meter, index_figures
from findspot.serve.mcp.offers import Offers
from findspot.serve.mcp.registry import Registry
from findspot.serve.mcp.server import OFFERS, make_server, settings_here
from findspot.serve.mcp.tools import all_tools

DEFAULT_ADDRESS = "127.0.0.1:8765"
PATH = "/mcp"
MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_SESSIONS = 1_000
MAX_CONNECTIONS = 2_000
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_SHUTDOWN_S = 3


def run(
    address: str, token: str | None = None, tokens: str | None = None, *, read_only: bool = False
) -> None:
    """Serve until a signal comes; the address goes to standard error once it is bound."""
    keep_log(home_folder() / "logs", settings_here().log.level)
    settings = settings_here().http
    host, port = parse_address(address)
    grants = _grants(settings, token, tokens)
    if not is_loopback(host) and grants is None:
        raise InvalidArgumentError(
            f"Serving on {host} needs a token: other machines could read your code.",
            hint="Set FINDSPOT_HTTP_TOKEN or name a file of tokens with --tokens, or serve on 127.0.0.1.",
        )
    several = bool(tokens or settings.tokens_file)
    limits = Limits(settings.requests_per_second, settings.concurrent_requests) if several else None
    library = Library()
    try:
        with _listening(host, port) as listener:
            hosts = (host, *settings.allowed_hosts)
            app = make_app(all_tools(), library, hosts, grants, limits=limits, read_only=read_only)
            shown = host if ":" not in host else f"[{host}]"
            sys.stderr.write(f"Findspot serves at http://{shown}:{listener.getsockname()[1]}{PATH}\n")
            sys.stderr.flush()
            _serve(app, listener, library)
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
    read_only: bool = False,
) -> ASGIApp:
    """The whole server as an ASGI application."""
    names = dict.fromkeys((*_LOOPBACK_NAMES, *hosts))
    security = TransportSecuritySettings(
        allowed_hosts=[entry for name in names for entry in (name, f"{name}:*")],
        allowed_origins=[
            entry
            for scheme, served in (("http", names), ("https", hosts))  # behind a proxy that ends TLS
            for name in served
            for entry in (f"{scheme}://{name}", f"{scheme}://{name}:*")
        ],
    )
    meter, terms = Meter(), Terms(read_only, guarded=grants is not None)
    server = make_server(registry, library, offers, meter, terms)
    served = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=MAX_SESSIONS,
        transport_security=security,
    )
    manager = server.session_manager
    meter.sessions = lambda: len(manager._server_instances)

    async def metrics() -> str:
        return meter.page(await to_thread.run_sync(lambda: index_figures(library.open())))

    def sessions(name: str) -> int:
        return sum(owner["client_id"] == name for owner in manager._session_owners.values())

    app = Bodies(served, MAX_BODY_BYTES)
    return Gate(app, meter, metrics, security, grants=grants, limits=limits, sessions=sessions)


def _grants(settings: HttpSettings, token: str | None, tokens: str | None) -> Grants | None:
    """Who is let in: the one token, those of a file, or both; None where nobody has to show one."""
    single, listed = token or settings.token, tokens or settings.tokens_file
    if not single and not listed:
        return None
    fixed = [granted_all("token", single)] if single else []
    return Grants(fixed, Path(listed).expanduser() if listed else None)


def parse_address(address: str) -> tuple[str, int]:
    """`HOST:PORT`, `HOST`, `PORT` or `[::1]:PORT`; what is missing is the default."""
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
    if not port.isdecimal() or int(port) > 65_535:
        raise InvalidArgumentError(f"'{address}' is no address: HOST:PORT is wanted.")
    return host, int(port)


def _listening(host: str, port: int) -> socket.socket:
    try:
        return listen(host, port)
    except OSError as error:
        raise InvalidArgumentError(f"Cannot listen on {host}:{port}: {error.strerror or error}.") from None


class _Server(uvicorn.Server):
    """A server that says so before it ends."""

    def __init__(self, config: uvicorn.Config, ending: threading.Event) -> None:
        super().__init__(config)
        self._ending = ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._ending.set()
        super().handle_exit(sig, frame)


def _serve(app: ASGIApp, listener: socket.socket, library: Library) -> None:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=_SHUTDOWN_S,
        lifespan="on",
    )
    _Server(config, library.ending).run(sockets=[listener])
