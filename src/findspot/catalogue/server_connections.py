"""Connections to MCP servers, and asking them for their tools.

Besides `serve/mcp` the only user of the MCP SDK, which is imported when a server is asked.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from findspot.catalogue.client_configs import MissingVariableError
from findspot.catalogue.indexfile import read_definition
from findspot.catalogue.server_process import ProcessNotes, Witness, pipe_transport
from findspot.catalogue.server_sources import (
    ServerSpec,
    with_server_name,
)
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.log import get_logger
from findspot.core.platforms import resolved

if TYPE_CHECKING:
    from mcp import Client, ClientSession
    from mcp.client.stdio import StdioServerParameters

_log = get_logger("catalogue")

_AT_ONCE = 8
"""Servers asked at the same time: each may be a separate process."""

_MAX_PAGES = 1_000
"""Pages read of one server's list, which might never end."""


NESTED_VARIABLE = "FINDSPOT_STARTED_BY_FINDSPOT"
"""Set in the environment of servers that we start. A Findspot that finds it set starts no servers itself."""


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The tools of a server, or why there are none."""

    tools: tuple[ToolDefinition, ...] = ()
    error: str | None = None


OnAnswer = Callable[[str, ServerAnswer], None]


def ask_servers(
    specs: Sequence[ServerSpec], timeout_s: float, on_answer: OnAnswer | None = None
) -> dict[str, ServerAnswer]:
    """Ask all servers at once; one that fails costs only its own tools."""
    return anyio.run(_ask_all, specs, timeout_s, on_answer or (lambda _name, _answer: None))


async def _ask_all(
    specs: Sequence[ServerSpec], timeout_s: float, on_answer: OnAnswer
) -> dict[str, ServerAnswer]:
    answers: dict[str, ServerAnswer] = {}
    limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def ask(spec: ServerSpec) -> None:
        async with limiter:
            answers[spec.name] = await _ask(spec, timeout_s)
            on_answer(spec.name, answers[spec.name])

    async with anyio.create_task_group() as group:
        for spec in specs:
            group.start_soon(ask, spec)
    return answers


async def _ask(spec: ServerSpec, timeout_s: float) -> ServerAnswer:
    notes = ProcessNotes()
    try:
        with anyio.fail_after(timeout_s):
            async with open_connection(spec.expanded(), _client, notes) as client:
                return ServerAnswer(await all_tools(client.session, spec.name))
    except TimeoutError:
        return ServerAnswer(error=f"no answer within {timeout_s:g} s")
    except MissingVariableError as error:
        return ServerAnswer(error=str(error))
    except Exception as error:  # noqa: BLE001 - whatever one server does, the others are asked
        return ServerAnswer(error=notes.about(error_line(error)))


def _client(transport: Any) -> Client:
    from mcp import Client

    return Client(transport, mode="legacy")


Connected = TypeVar("Connected")


@contextlib.asynccontextmanager
async def open_connection(
    spec: ServerSpec,
    new_client: Callable[[Any], contextlib.AbstractAsyncContextManager[Connected]],
    notes: ProcessNotes,
    environ: Mapping[str, str] = os.environ,
    witness: Witness | None = None,
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
            yield await stack.enter_async_context(new_client(_open_pipes(spec, notes, environ, witness)))


@contextlib.asynccontextmanager
async def _open_pipes(
    spec: ServerSpec, notes: ProcessNotes, environ: Mapping[str, str], witness: Witness | None
) -> AsyncIterator[tuple[Any, Any]]:
    from mcp.client.stdio import stdio_client

    start = _parameters(spec, environ)
    if sys.platform == "win32":  # the SDK's job object ends the server with this process
        with Path(os.devnull).open("w", encoding="utf-8") as devnull:
            async with stdio_client(start, errlog=devnull) as streams:
                yield streams
    else:
        command = [start.command, *start.args]
        async with pipe_transport(command, start.env or {}, spec.working_folder, notes, witness) as streams:
            yield streams


def _parameters(spec: ServerSpec, environ: Mapping[str, str]) -> StdioServerParameters:
    """Return how a server is started: by an absolute path, in its own folder, with a small environment.

    The environment is the SDK's short list (home, PATH, user and the like) with the entry's own variables:
    keys and tokens of this process are not for every server.
    """
    from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS, StdioServerParameters

    inherited = {name: environ[name] for name in DEFAULT_INHERITED_ENV_VARS if name in environ}
    own = {**inherited, **spec.env, NESTED_VARIABLE: "1"}
    command = spec.command or ""
    if Path(command).name != command:
        command = str(spec.working_folder / Path(command).expanduser())
    program, *arguments = resolved([command, *spec.args], own.get("PATH", ""))
    return StdioServerParameters(command=program, args=arguments, env=own, cwd=spec.working_folder)


async def all_tools(session: ClientSession, server: str) -> tuple[ToolDefinition, ...]:
    """Return the tools that a connected server lists."""
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
            break
        cursor = page.next_cursor
    return tuple(tools.values())


def error_line(error: BaseException) -> str:
    """Return an error as one line: the first one of a group, in which parallel work reports errors."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return " ".join(f"{error}".split()) or type(error).__name__
