"""`findspot serve`."""

from __future__ import annotations

import click


@click.command()
@click.option(
    "--http",
    metavar="[HOST:PORT]",
    is_flag=False,
    flag_value="",
    help="Serve streamable HTTP instead, at /mcp. Default: 127.0.0.1:8765.",
)
@click.option("--token", help="Bearer token that HTTP clients must bring. Default: FINDSPOT_HTTP_TOKEN.")
@click.option(
    "--tokens", metavar="FILE", help="File of tokens, each with the projects it is for. See docs/scaling.md."
)
@click.option("--read-only", is_flag=True, help="Offer no tools over HTTP that change anything.")
@click.option("--print-tools", is_flag=True, help="Print what each toolset costs in tokens, and end.")
def serve(
    http: str | None, token: str | None, tokens: str | None, read_only: bool, print_tools: bool
) -> None:
    """Serve the tools over MCP on standard input and output.

    This is what an assistant starts; see the README for how to connect one.
    """
    if http is None and (tokens or read_only):
        raise click.UsageError("--tokens and --read-only are for --http.")
    if print_tools:
        from findspot.serve.mcp.costs import costs_page
        from findspot.serve.mcp.tools import all_tools

        click.echo(costs_page(all_tools()), nl=False)
    elif http is not None:
        from findspot.serve.mcp.http import DEFAULT_ADDRESS
        from findspot.serve.mcp.http import run as run_http

        run_http(http or DEFAULT_ADDRESS, token, tokens, read_only=read_only)
    else:
        from findspot.serve.mcp.stdio import run

        run()
