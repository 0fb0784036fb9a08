"""`findspot serve`."""

from __future__ import annotations

import click


@click.command()
def serve() -> None:
    """Serve the tools over MCP on standard input and output.

    This is what an assistant starts; see the README for how to connect one.
    """
    from findspot.serve.mcp.stdio import run

    run()
