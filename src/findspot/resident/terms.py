"""What the options of `findspot serve` and `findspot gateway` ask for."""

from __future__ import annotations

import click

from findspot.core.errors import FindspotError
from findspot.core.settings import CATALOGUE_TOOLSET
from findspot.door.connection import RefusedError
from findspot.serve.cli.failure import USAGE, exit_code
from findspot.serve.cli.server_commands import gateway, serve
from findspot.serve.library import Library
from findspot.serve.mcp.access import Terms
from findspot.serve.mcp.server import settings_here
from findspot.serve.mcp.tools.cortex import require_chunks


def terms_of(arguments: list[str], library: Library) -> Terms:
    """Return the terms of a command line; `RefusedError` where there is nothing to serve on them."""
    name, *options = arguments
    command = gateway if name == "gateway" else serve
    try:
        with command.make_context(f"findspot {name}", options) as context:
            given = context.params
    except click.ClickException as error:
        raise RefusedError(error.format_message(), USAGE) from None
    if name == "gateway":
        return Terms(toolsets=(CATALOGUE_TOOLSET,))
    terms = Terms(given["read_only"], toolsets=given["toolsets"])
    if (terms.toolsets or settings_here().serve.toolsets) == ("cortex",):
        try:
            require_chunks(library)
        except FindspotError as error:
            hint = f"\nhint: {error.hint}" if error.hint else ""
            raise RefusedError(f"{error.statement}{hint}", exit_code(error)) from None
    return terms
