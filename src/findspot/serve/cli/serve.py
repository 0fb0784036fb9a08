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
        from findspot.serve.mcp.costs import costs_page
        from findspot.serve.mcp.tools import all_tools

        click.echo(costs_page(all_tools()), nl=False)
    elif http is not None:
        from findspot.serve.mcp.http import DEFAULT_ADDRESS, TokenChoice
        from findspot.serve.mcp.http import run as run_http

        choice = TokenChoice(token, token_file, tokens, without=no_token)
        run_http(http or DEFAULT_ADDRESS, choice, read_only=read_only)
    else:
        from findspot.serve.mcp.stdio import run

        run(read_only=read_only)
