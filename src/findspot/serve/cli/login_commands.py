"""`findspot tools login|logout`: log in at remote MCP servers with a browser."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from findspot.core.config import home_folder
from findspot.serve.cli import output
from findspot.serve.cli.options import Reply, common, project_option
from findspot.serve.cli.project_choice import open_engine
from findspot.serve.cli.terminal import open_in_browser

if TYPE_CHECKING:
    from findspot.catalogue.server_sources import ServerSpec

_PATIENCE_S = 300.0


@click.command("login")
@click.argument("server")
@click.option("--no-browser", is_flag=True, help="Only print the address to open.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=_PATIENCE_S,
    metavar="S",
    help=f"Seconds to wait for you. Default: {_PATIENCE_S:.0f}.",
)
@project_option
@common
def login(reply: Reply, server: str, *, no_browser: bool, timeout: float, project: str | None) -> None:
    """Log in at the remote SERVER with your browser.

    Findspot prints an address of the server's authorization server, opens it in your browser, and waits
    until you are sent back. If the browser runs on another machine, the page it is sent back to does not
    open there: fetch that address on this machine, for example with curl.
    """
    from findspot.catalogue.logins import remote_server

    with open_engine() as engine:
        registry = engine.catalogue(project or ".").registry
        spec = remote_server(registry, server)
        indexed = registry.find(server) is not None
    _wait_for_login(spec, timeout, None if no_browser else open_in_browser)
    reply.give({"server": server, "status": "logged_in"}, f"Logged in at {server}.")
    file = "" if indexed else f" {spec.source}"
    output.note(f"Read its tools: findspot tools index{file}")


@click.command("logout")
@click.argument("server")
@project_option
@common
def logout(reply: Reply, server: str, *, project: str | None) -> None:
    """Log out of the remote SERVER: delete the tokens here, and revoke them where the server allows it."""
    import anyio

    from findspot.catalogue.logins import Logins, remote_server

    with open_engine() as engine:
        spec = remote_server(engine.catalogue(project or ".").registry, server)
    logins = Logins(home_folder())
    stored = logins.read(spec.url or "")
    if not logins.remove(spec.url or "") or stored is None:
        reply.give({"server": server, "status": "no_login"}, f"There is no login at {server}.")
        return

    from findspot.catalogue.oauth import revoke

    revoked = anyio.run(revoke, stored, spec)
    reply.give({"server": server, "status": "logged_out", "revoked": revoked}, f"Logged out of {server}.")
    if not revoked:
        output.note("The tokens were deleted here. The server did not revoke them; they stay valid there.")


def _wait_for_login(spec: ServerSpec, timeout_s: float, open_address: Callable[[str], None] | None) -> None:
    """Run the login, which ends by an answer of the browser, by Ctrl-C or when the time is over."""
    import anyio

    from findspot.catalogue.logins import Logins
    from findspot.catalogue.oauth import LoginError, log_in

    with contextlib.ExitStack() as stack:

        def show(address: str) -> None:
            output.note("Open this address to log in:")
            output.note(f"  {address}")
            if open_address is not None:
                open_address(address)
            if sys.stderr.isatty():
                stack.enter_context(_spinner())
            else:
                output.note("Waiting for the browser.")

        async def run() -> None:
            with anyio.fail_after(timeout_s):
                await log_in(spec, Logins(home_folder()), show)

        try:
            anyio.run(run)
        except TimeoutError:
            raise LoginError(f"There was no login within {timeout_s:g} s.") from None


def _spinner() -> contextlib.AbstractContextManager[object]:
    from rich.console import Console

    return Console(stderr=True).status("Waiting for the browser. Ctrl-C cancels.")
