"""`findspot serve` and `findspot ui`: the MCP server and the page in the browser."""

from __future__ import annotations

import contextlib
import html
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from findspot.core.config import home_folder, terminal_settings
from findspot.core.files import make_private_dir, write_atomic
from findspot.core.paths import project_root
from findspot.serve.cli import output

_PAGE = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Findspot</title>
<a href="{address}">Open Findspot</a>
"""


@click.command()
@click.option(
    "--http",
    metavar="[HOST:PORT]",
    is_flag=False,
    flag_value="",
    help="Serve streamable HTTP instead, at /mcp. Default: 127.0.0.1:8765.",
)
@click.option(
    "--token",
    help="Bearer token that HTTP clients must send. Other users of the machine can see it in the process "
    "list: prefer --token-file or FINDSPOT_HTTP_TOKEN. Default: a new one, which is printed.",
)
@click.option("--token-file", metavar="FILE", help="File that holds the bearer token.")
@click.option("--no-token", is_flag=True, help="Let in every user of this machine without a token.")
@click.option(
    "--tokens", metavar="FILE", help="File of tokens, each with the projects it is for. See docs/scaling.md."
)
@click.option("--read-only", is_flag=True, help="Offer no tools that change anything.")
@click.option("--print-tools", is_flag=True, help="Print what each toolset costs in tokens, and end.")
def serve(
    *,
    http: str | None,
    token: str | None,
    token_file: str | None,
    no_token: bool,
    tokens: str | None,
    read_only: bool,
    print_tools: bool,
) -> None:
    """Serve the tools over MCP on standard input and output.

    This is what an assistant starts; see the README for how to connect one.
    """
    named = {"--token": token, "--token-file": token_file, "--no-token": no_token, "--tokens": tokens}
    given = [option for option, value in named.items() if value]
    if http is None and given:
        raise click.UsageError(f"{given[0]} needs --http: standard input and output have no tokens.")
    if len(set(given) - {"--tokens"}) > 1 or (no_token and tokens):
        raise click.UsageError(f"{' and '.join(given)} cannot be combined.")
    if print_tools:
        from findspot.serve.mcp.tool_results import costs_page
        from findspot.serve.mcp.tools import all_tools

        click.echo(costs_page(all_tools()), nl=False)
    elif http is not None:
        from findspot.serve.mcp.http_server import DEFAULT_ADDRESS, TokenChoice
        from findspot.serve.mcp.http_server import run as run_http

        choice = TokenChoice(token, token_file, tokens, without=no_token)
        run_http(http or DEFAULT_ADDRESS, choice, read_only=read_only)
    else:
        from findspot.serve.mcp.stdio import run

        run(read_only=read_only)


@click.command()
@click.argument("path", required=False)
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="Port to serve at. Default: 8766, or a free one."
)
@click.option("--no-open", is_flag=True, help="Print the address, and open no browser.")
def ui(path: str | None, port: int | None, no_open: bool) -> None:
    """Open a page in the browser: search, projects, what an index holds, and tools.

    It is served on this machine only, to whoever has the address that is printed, until stopped.
    """
    from findspot.core.config import load_settings
    from findspot.core.log import keep_log
    from findspot.serve.web.page_server import run

    settings = load_settings()
    keep_log(settings.home / "logs", settings.log.level)
    start = project_root(path or Path.cwd())
    with contextlib.ExitStack() as files:

        def opened(address: str) -> None:
            output.line(f"Findspot is at {address}")
            output.note("Stop it with Ctrl+C.")
            sys.stdout.flush()
            if not no_open and sys.stdout.isatty() and _has_screen():
                click.launch(str(files.enter_context(leading_to(address))))

        run(start, port, opened)


@contextlib.contextmanager
def leading_to(address: str) -> Iterator[Path]:
    """Provide a file of one's own that leads a browser to an address with a token.

    The address itself would stand on the browser's command line, which every user of the machine can read.
    """
    folder = home_folder() / "ui"
    make_private_dir(folder)
    file = folder / f"open-{os.getpid()}.html"
    write_atomic(file, _PAGE.format(address=html.escape(address, quote=True)).encode())
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


def _has_screen() -> bool:
    """Without one, opening an address would start a browser inside the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return terminal_settings().screen
