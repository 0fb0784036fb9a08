"""`findspot ui`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from findspot.core.config import terminal_settings
from findspot.core.paths import project_root
from findspot.serve.cli import output


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
    from findspot.serve.web.server import run

    settings = load_settings()
    keep_log(settings.home / "logs", settings.log.level)
    start = project_root(path or Path.cwd())

    def opened(address: str) -> None:
        output.line(f"Findspot is at {address}")
        output.note("Stop it with Ctrl+C.")
        sys.stdout.flush()
        if not no_open and sys.stdout.isatty() and _has_screen():
            click.launch(address)

    run(start, port, opened)


def _has_screen() -> bool:
    """Without one, opening an address would start a browser inside the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return terminal_settings().screen
