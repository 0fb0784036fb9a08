"""Serving over streamable HTTP: many clients and projects in one server.

Loopback by default. Requests must name a host that is ours (a page in a browser could
otherwise reach us under a name of its own), and bring the token: a configured one, else one that is made
at the start. Only on loopback can it be left out.
"""

from __future__ import annotations

import secrets
import socket
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from anyio import to_thread
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from findspot.core.config import home_folder, is_loopback
from findspot.core.errors import InvalidArgumentError
from findspot.core.files import read_named
from findspot.core.log import keep_log
from findspot.core.settings import HttpSettings
from findspot.serve.listening import cannot_listen, listen, serve
from findspot.serve.mcp.access import OPEN, Grants, Terms, granted_all
from findspot.serve.mcp.http_gate import Bodies, Gate, Limits
from findspot.serve.mcp.metrics import Meter, index_figures
from findspot.serve.mcp.resources import Offers
from findspot.serve.mcp.sdk import session_count, sessions_of
from findspot.serve.mcp.server import OFFERS, make_server, settings_here
from findspot.serve.mcp.tool import Registry
from findspot.serve.mcp.tool_call import Library
from findspot.serve.mcp.tools import all_tools

DEFAULT_ADDRESS = "127.0.0.1:8765"
PATH = "/mcp"
MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_SESSIONS = 1_000
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_SHUTDOWN_S = 3
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


def run(address: str, choice: TokenChoice, terms: Terms) -> None:
    """Serve until a signal comes; the address goes to standard error once it is bound."""
    keep_log(home_folder() / "logs", settings_here().log.level)
    settings = settings_here().http
    host, port = parse_address(address)
    if choice.without and not is_loopback(host):
        raise InvalidArgumentError(
            f"Serving on {host} needs a token: other machines could read your code.",
            hint="Leave out --no-token, or serve on 127.0.0.1.",
        )
    token, is_new = _single_token(settings, choice)
    grants = _grants(settings, token, choice)
    several = bool(choice.tokens_file or settings.tokens_file)
    limits = Limits(settings.requests_per_second, settings.concurrent_requests) if several else None
    library = Library()
    try:
        with _listening(host, port) as listener:
            hosts = (host, *settings.allowed_hosts)
            app = make_app(all_tools(), library, hosts, grants, limits=limits, terms=terms)
            shown = host if ":" not in host else f"[{host}]"
            sys.stderr.write(f"Findspot serves at http://{shown}:{listener.getsockname()[1]}{PATH}\n")
            if is_new:
                sys.stderr.write(_NEW_TOKEN.format(token=token))
            sys.stderr.flush()
            serve(app, listener, shutdown_s=_SHUTDOWN_S, lifespan=True, on_exit=library.ending.set)
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
) -> ASGIApp:
    """Return the whole server as an ASGI application."""
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
    meter, terms = Meter(), replace(terms, guarded=grants is not None)
    server = make_server(registry, library, offers, meter, terms)
    served = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=MAX_SESSIONS,
        transport_security=security,
    )
    manager = server.session_manager
    meter.sessions = lambda: session_count(manager)

    async def metrics() -> str:
        return meter.page(await to_thread.run_sync(lambda: index_figures(library.open())))

    app = Bodies(served, MAX_BODY_BYTES)
    return Gate(
        app,
        meter,
        metrics,
        security,
        grants=grants,
        limits=limits,
        sessions=lambda name: sessions_of(manager, name),
    )


def _single_token(settings: HttpSettings, choice: TokenChoice) -> tuple[str | None, bool]:
    """Return the one token for everything, if there is one, and whether it was made here."""
    if choice.without:
        return None, False
    if choice.token_file:
        return _read_token(Path(choice.token_file).expanduser()), False
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
    return Grants(fixed, Path(listed).expanduser() if listed else None)


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
    if not port.isdecimal() or int(port) > 65_535:
        raise InvalidArgumentError(f"'{address}' is not an address. Use HOST:PORT.")
    return host, int(port)


def _listening(host: str, port: int) -> socket.socket:
    try:
        return listen(host, port)
    except OSError as error:
        raise cannot_listen(host, port, error, "`findspot serve --http HOST:PORT`") from None
