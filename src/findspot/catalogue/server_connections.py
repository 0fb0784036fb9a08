"""Connections to MCP servers: ask for their tools, and follow them while a catalogue is served.

Besides `serve/mcp` the only user of the MCP SDK, which is imported when a server is asked.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from findspot.catalogue.consent import read_build_record
from findspot.catalogue.indexfile import read_definition
from findspot.catalogue.server_registry import ServerRegistry
from findspot.catalogue.server_sources import (
    START_TIMEOUT_S,
    MissingVariableError,
    ServerSpec,
    with_server_name,
)
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.errors import FindspotError
from findspot.core.log import get_logger
from findspot.core.platforms import resolved

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

_log = get_logger("catalogue")

_AT_ONCE = 8
"""Servers asked at the same time: each may be a separate process."""

_MAX_PAGES = 1_000
"""Pages read of one server's list, which might never end."""

_SHOWN_CHARS = 300

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
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        try:
            with anyio.fail_after(timeout_s):
                async with _connected(spec, stderr) as client:
                    return ServerAnswer(await _all_tools(client, spec.name))
        except TimeoutError:
            return ServerAnswer(error=f"no answer within {timeout_s:g} s")
        except MissingVariableError as error:
            return ServerAnswer(error=str(error))
        except Exception as error:  # noqa: BLE001 - whatever one server does, the others are asked
            return ServerAnswer(error=_error_line(error, stderr))


async def follow_servers(
    specs: Sequence[ServerSpec], changed: Callable[[str, tuple[ToolDefinition, ...]], Awaitable[None]]
) -> None:
    """Stay connected; call `changed` with a server's tools whenever they change."""
    async with anyio.create_task_group() as group:
        for spec in specs:
            group.start_soon(_follow, spec, changed)


async def _follow(
    spec: ServerSpec, changed: Callable[[str, tuple[ToolDefinition, ...]], Awaitable[None]]
) -> None:
    sender, receiver = anyio.create_memory_object_stream[None](1)

    async def on_message(message: Any) -> None:
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            with contextlib.suppress(anyio.WouldBlock):  # one notification is waiting already
                sender.send_nowait(None)

    try:
        with (
            Path(os.devnull).open("w", encoding="utf-8") as devnull,
            anyio.fail_after(START_TIMEOUT_S) as limit,
        ):
            async with _connected(spec, devnull, on_message) as client:
                tools = await _all_tools(client, spec.name)
                limit.deadline = math.inf  # only a server that never answers is ended
                await changed(spec.name, tools)
                async for _ in receiver:
                    await changed(spec.name, await _all_tools(client, spec.name))
    except TimeoutError:
        _log.warning("the server %s did not answer within %g s and was ended", spec.name, START_TIMEOUT_S)
    except Exception as error:  # noqa: BLE001 - a server that leaves is no longer followed
        _log.warning("the server %s is no longer followed: %s", spec.name, _first_error(error))


@contextlib.asynccontextmanager
async def _connected(spec: ServerSpec, errors: Any, on_message: Any = None) -> AsyncIterator[Client]:
    from mcp import Client
    from mcp.client.stdio import stdio_client

    # The SDK logs a traceback for each line of a server's output that is no message, such as a greeting.
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
    spec = spec.expanded()

    def new_client(transport: Any) -> Client:
        return Client(transport, mode="legacy", message_handler=on_message)

    async with contextlib.AsyncExitStack() as stack:
        if spec.url is not None:
            from findspot.catalogue.remote_servers import connect_remote

            yield await connect_remote(stack, spec, new_client)
        else:
            yield await stack.enter_async_context(new_client(stdio_client(_program(spec), errlog=errors)))


def _program(spec: ServerSpec) -> StdioServerParameters:
    """Return how a server is started: by an absolute path, in its own folder, with a small environment.

    The environment is the SDK's short list (home, PATH, user and the like) with the entry's own variables:
    keys and tokens of this process are not for every server.
    """
    from mcp.client.stdio import StdioServerParameters, get_default_environment

    own = {**spec.env, NESTED_VARIABLE: "1"}
    command = spec.command or ""
    if Path(command).name != command:
        command = str(spec.working_folder / Path(command).expanduser())
    program, *arguments = resolved([command, *spec.args], (get_default_environment() | own).get("PATH", ""))
    return StdioServerParameters(command=program, args=arguments, env=own, cwd=spec.working_folder)


async def _all_tools(client: Client, server: str) -> tuple[ToolDefinition, ...]:
    tools: dict[str, ToolDefinition] = {}
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        for wire in page.tools:
            value = wire.model_dump(mode="json", by_alias=True, exclude_none=True)
            tool = with_server_name(read_definition(value, "", "a tool"), server)
            tools.setdefault(tool.name, tool)
        if not page.next_cursor or page.next_cursor == cursor:
            break
        cursor = page.next_cursor
    return tuple(tools.values())


def _error_line(error: BaseException, stderr: Any) -> str:
    """Return the error as one line, with the last line that the server wrote to its standard error."""
    cause = _first_error(error)
    message = " ".join(f"{cause}".split()) or type(cause).__name__
    stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, stderr.tell() - 4_000))
    last = next((line.strip() for line in reversed(stderr.read().splitlines()) if line.strip()), "")
    return (f"{message} (it wrote: {last})" if last else message)[:_SHOWN_CHARS]


def _first_error(error: BaseException) -> BaseException:
    """Return the first error of a group, in which parallel work reports errors."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


_STOP_PATIENCE_S = 10.0

Changed = Callable[[Path, str, Sequence[ToolDefinition]], None]


class Follower:
    """A thread with a connection to every server that this user agreed to start and to follow."""

    def __init__(self, home: Path, paths: Sequence[Path], changed: Changed) -> None:
        self._specs = agreed_to_follow(home, paths)
        self._changed = changed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follow-servers", daemon=True)

    def start(self) -> None:
        if self._specs:
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_PATIENCE_S)

    def _run(self) -> None:
        try:
            anyio.run(self._main)
        except Exception:  # noqa: BLE001 - the server goes on without following
            _log.exception("servers are no longer followed")

    async def _main(self) -> None:
        async with anyio.create_task_group() as group:
            for path, specs in self._specs.items():
                group.start_soon(self._follow, path, specs)
            await anyio.to_thread.run_sync(self._stop.wait, abandon_on_cancel=True)
            group.cancel_scope.cancel()

    async def _follow(self, path: Path, specs: Sequence[ServerSpec]) -> None:
        async def changed(server: str, tools: tuple[ToolDefinition, ...]) -> None:
            await anyio.to_thread.run_sync(self._apply, path, server, tools)

        await follow_servers(specs, changed)

    def _apply(self, path: Path, server: str, tools: Sequence[ToolDefinition]) -> None:
        try:
            self._changed(path, server, tools)
        except (FindspotError, OSError) as error:
            _log.warning("the new tools of %s could not be indexed: %s", server, error)


def agreed_to_follow(
    home: Path, paths: Sequence[Path], environ: Mapping[str, str] = os.environ
) -> dict[Path, list[ServerSpec]]:
    """Return the servers of each index file to listen to: those agreed to that answered when last asked.

    There are none for a Findspot that another one started.
    """
    if NESTED_VARIABLE in environ:
        return {}
    registry = ServerRegistry(home, paths)
    followed = {}
    for path in paths:
        about = read_build_record(home, path)
        if not about.follow or not path.exists():
            continue
        specs = [spec for spec in registry.servers(path) if spec.name in about.digests]
        specs = [spec for spec in specs if registry.choices.is_enabled(spec.name)]
        specs = [spec for spec in specs if registry.agreements.holds(spec)]
        if specs:
            followed[path] = specs
    return followed
