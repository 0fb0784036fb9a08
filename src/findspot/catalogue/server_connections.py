"""Connections to MCP servers: what they are started with, and their lists of tools.

Besides `serve/mcp` the only user of the MCP SDK, which is imported when a server is asked.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from findspot.catalogue.indexfile import read_definition
from findspot.catalogue.server_process import ProcessNotes, pipe_transport
from findspot.catalogue.server_sources import (
    ServerSpec,
    with_server_name,
)
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.caller import ENVIRONMENT
from findspot.core.errors import first_cause
from findspot.core.paths import expanded
from findspot.core.platforms import resolved

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters

_MAX_PAGES = 1_000
"""Pages read of one server's list, which might never end."""

NESTED_VARIABLE = "FINDSPOT_STARTED_BY_FINDSPOT"
"""Set in the environment of servers that we start. A Findspot that finds it set starts no servers itself."""

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
)

NETWORK_VARIABLES = (*_PROXIES, *map(str.lower, _PROXIES), *_CERTIFICATES)
"""Variables without which a server cannot reach the network on some machines: proxies and certificates."""


def _inherited() -> tuple[str, ...]:
    """Return the variables of every server: the SDK's short list (home, PATH, user), and the network's."""
    from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS

    return (*DEFAULT_INHERITED_ENV_VARS, *NETWORK_VARIABLES)


Connected = TypeVar("Connected")


@contextlib.asynccontextmanager
async def open_connection(
    spec: ServerSpec,
    new_client: Callable[[Any], contextlib.AbstractAsyncContextManager[Connected]],
    notes: ProcessNotes,
    environ: Mapping[str, str] = ENVIRONMENT,
) -> AsyncIterator[Connected]:
    """Connect to a server whose variables are expanded: the only way to start it or to call its address.

    `new_client` makes the client of a transport, and `environ` is the environment of whoever wants it.
    """
    # The SDK logs a traceback for each line of a server's output that is no message, such as a greeting.
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
    async with contextlib.AsyncExitStack() as stack:
        if spec.url is not None:
            from findspot.catalogue.oauth import credentials
            from findspot.catalogue.remote_servers import connect_remote

            yield await connect_remote(stack, spec, new_client, credentials(spec))
        else:
            yield await stack.enter_async_context(new_client(_open_pipes(spec, notes, environ)))


@contextlib.asynccontextmanager
async def _open_pipes(
    spec: ServerSpec, notes: ProcessNotes, environ: Mapping[str, str]
) -> AsyncIterator[tuple[Any, Any]]:
    from mcp.client.stdio import stdio_client

    start = _parameters(spec, environ)
    if sys.platform == "win32":  # the SDK's job object ends the server with this process
        with Path(os.devnull).open("w", encoding="utf-8") as devnull:
            async with stdio_client(start, errlog=devnull) as streams:
                yield streams
    else:
        command = [start.command, *start.args]
        async with pipe_transport(command, start.env or {}, spec.working_folder, notes) as streams:
            yield streams


def _parameters(spec: ServerSpec, environ: Mapping[str, str]) -> StdioServerParameters:
    """Return how a server is started: by an absolute path, in its own folder, with a small environment.

    To what every server gets come the entry's own variables: keys and tokens of this process are not for
    every server.
    """
    from mcp.client.stdio import StdioServerParameters

    own = {name: environ[name] for name in _inherited() if name in environ}
    own |= {**spec.env, NESTED_VARIABLE: "1"}
    command = spec.command or ""
    if Path(command).name != command:
        command = str(spec.working_folder / expanded(command))
    program, *arguments = resolved([command, *spec.args], own.get("PATH", ""))
    return StdioServerParameters(command=program, args=arguments, env=own, cwd=spec.working_folder)


async def all_tools(session: ClientSession, server: str) -> tuple[tuple[ToolDefinition, ...], str | None]:
    """Return the tools that a connected server lists, and a note if its list was cut."""
    from mcp_types import PaginatedRequestParams

    tools: dict[str, ToolDefinition] = {}
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        for wire in page.tools:
            value = wire.model_dump(mode="json", by_alias=True, exclude_none=True)
            tool = with_server_name(read_definition(value, "", "a tool"), server)
            tools.setdefault(tool.name, tool)
        if not page.next_cursor or page.next_cursor == cursor:
            return tuple(tools.values()), None
        cursor = page.next_cursor
    return tuple(tools.values()), f"{server}: only the first {_MAX_PAGES:,} pages of its tools were read"


def error_line(error: BaseException) -> str:
    """Return an error as one line: the first one of a group."""
    cause = first_cause(error)
    return " ".join(f"{cause}".split()) or type(cause).__name__
