"""The servers that this process has started, and what follows their changes.

Each client connection has its own process of a server, unless the server's entry says that it is shared. It
is started by the first call, ended with its connection or when it has been idle, and started again by the
first call after a crash. Whatever it does, it fails only its own calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp import ClientSession
from pydantic_core import to_json

from findspot.catalogue.client_configs import MissingVariableError
from findspot.catalogue.consent import Agreements
from findspot.catalogue.live_connection import (
    DEFAULT_TIMEOUT_S,
    MAX_TIMEOUT_S,
    CallHandlers,
    LiveConnection,
    RunningCall,
    ServerCallError,
    ServerNotAgreedError,
    ServerTimeoutError,
    SessionEndedError,
)
from findspot.catalogue.server_process import MAX_MESSAGE_BYTES
from findspot.catalogue.server_sources import NESTED_VARIABLE, ServerSpec
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.caller import ENVIRONMENT
from findspot.core.log import get_logger

Result = TypeVar("Result")

_log = get_logger("catalogue")

IDLE_S = 300.0
"""A server that was not called for so long is ended."""

_FOLLOW_PAUSE_S = 5.0
"""Before a followed server that ended is started again."""


@dataclass(frozen=True, slots=True)
class PoolClient:
    """Who calls: a connection, with the environment and the folders of its client."""

    connection: str = ""
    """Its own servers are started for it, and end with it; without one they are kept until they are idle."""
    environ: Mapping[str, str] = field(default_factory=lambda: dict(ENVIRONMENT))
    roots: Sequence[str] = ()
    """The addresses of the folders that it works in."""


class ServerPool:
    """The servers that this process has started; all calls must come from one event loop."""

    def __init__(self, home: Path, *, idle_s: float = IDLE_S) -> None:
        """Start nothing yet; a server that was not called for `idle_s` is ended."""
        self._agreements = Agreements(home)
        self._idle_s = idle_s
        self._connections: dict[tuple[str, str], LiveConnection] = {}
        """The latest connection to each server that was called."""
        self._following: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def call(
        self,
        spec: ServerSpec,
        tool: str,
        arguments: dict[str, Any] | None = None,
        *,
        client: PoolClient | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        spent_s: float = 0.0,
        handlers: CallHandlers | None = None,
        as_task: bool = False,
    ) -> types.CallToolResult:
        """Call a tool by its own name; a cancelled call is cancelled at the server too.

        Its time covers waiting for other calls and for the start of the server, and what was spent already.
        """
        _check_size(arguments)
        client = client or PoolClient()
        limit_s = min(max(timeout_s, 0.001), MAX_TIMEOUT_S)
        asker = client.connection or object()
        running = RunningCall(handlers or CallHandlers(), limit_s, asker, as_task)
        running.start(spent_s)
        return await self._use(
            spec,
            client,
            lambda connection: connection.call(running, tool, arguments),
            running.scope.deadline,
        )

    async def tools(
        self, spec: ServerSpec, *, client: PoolClient | None = None, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> tuple[ToolDefinition, ...]:
        """Return the tools that a server has now; it is asked again only after it reported a change."""
        deadline = anyio.current_time() + timeout_s
        client = client or PoolClient()
        return await self._use(spec, client, lambda connection: connection.tools(deadline), deadline)

    async def ask(
        self,
        spec: ServerSpec,
        question: Callable[[ClientSession], Awaitable[Result]],
        *,
        client: PoolClient,
        timeout_s: float,
    ) -> Result:
        """Return the answer of a server to a request that is no call of a tool."""
        deadline = anyio.current_time() + timeout_s
        return await self._use(spec, client, lambda connection: connection.ask(question, deadline), deadline)

    def follow(
        self, spec: ServerSpec, changed: Callable[[tuple[ToolDefinition, ...]], None], client: PoolClient
    ) -> None:
        """Keep a client's server running; call `changed` with its tools, and again whenever they change."""
        key = client.connection, f"{spec.name} {spec.source}"
        if key not in self._following:
            self._following[key] = asyncio.create_task(self._follow(spec, changed, client))

    async def _follow(
        self, spec: ServerSpec, changed: Callable[[tuple[ToolDefinition, ...]], None], client: PoolClient
    ) -> None:
        try:
            while True:
                await (await self._connected(spec, client)).follow(changed)
                await anyio.sleep(_FOLLOW_PAUSE_S)
        except ServerCallError as error:
            _log.warning("the server %s is no longer followed: %s", spec.name, error.user_message)

    def leave(self, connection: str) -> None:
        """End the servers of a connection that is closed."""
        for key in [key for key in self._following if key[0] == connection]:
            self._following.pop(key).cancel()
        for key in [key for key in self._connections if key[0] == connection]:
            self._connections.pop(key).close()

    async def aclose(self) -> None:
        """End every server."""
        for following in self._following.values():
            following.cancel()
        await asyncio.gather(*(connection.aclose() for connection in self._connections.values()))

    async def _use(
        self,
        spec: ServerSpec,
        client: PoolClient,
        work: Callable[[LiveConnection], Awaitable[Result]],
        deadline: float,
    ) -> Result:
        """Use the connection to a server; one that refuses what is sent, since it ended the session, is
        connected to once more.
        """
        with contextlib.suppress(SessionEndedError):
            return await work(await self._connected(spec, client, deadline))
        return await work(await self._connected(spec, client, deadline))

    async def _connected(
        self, spec: ServerSpec, client: PoolClient, deadline: float = math.inf
    ) -> LiveConnection:
        """Return the open connection; start the server if there is none."""
        expanded = self._expanded(spec, client)
        owner = "" if spec.shared else client.connection
        key = owner, f"{spec.name} {expanded.launch} {sorted(client.roots)}"
        left_s = round(deadline - anyio.current_time(), 1)
        with anyio.CancelScope(deadline=deadline):
            while True:
                connection = self._connections.get(key)
                if connection is None or connection.ended.is_set():
                    connection = LiveConnection(expanded, client.environ, client.roots, self._idle_s)
                    self._connections[key] = connection
                    connection.start()
                await connection.opened.wait()
                if connection.is_open:
                    return connection
                if not connection.was_opened:
                    raise _not_started(connection)
                await connection.ended.wait()
        late = (
            f"did not start within {left_s:g} s" if left_s > 0 else "was not called: no time was left for it"
        )
        raise ServerTimeoutError(
            f"The server {spec.name} {late}.",
            hint="The tool was not called. The server is still starting: try again or with a larger timeout.",
        )

    def _expanded(self, spec: ServerSpec, client: PoolClient) -> ServerSpec:
        """Return a server that may be started for a client, with its variables expanded."""
        if NESTED_VARIABLE in client.environ:
            raise ServerNotAgreedError("A Findspot that another Findspot started calls no servers.")
        if not self._agreements.holds(spec):
            raise ServerNotAgreedError(
                f"The server {spec.name} was not started, since the user has not agreed to it as it is now.",
                hint="Run `findspot tools index` to see what it runs, and agree to it.",
            )
        try:
            return spec.expanded(client.environ)
        except MissingVariableError as error:
            raise ServerCallError(
                f"The server {spec.name} was not started: {error}.", hint="Set it where Findspot is started."
            ) from None


def _not_started(connection: LiveConnection) -> ServerCallError:
    name, why = connection.spec.name, connection.error or "it was stopped"
    if connection.needs_login:
        return ServerCallError(f"The server {name} cannot be called. {why}")
    return ServerCallError(
        f"The server {name} could not be started: {why}",
        hint="Run `findspot tools index` to see whether it starts, or check its entry.",
    )


def _check_size(arguments: dict[str, Any] | None) -> None:
    if len(to_json(arguments)) > MAX_MESSAGE_BYTES:
        raise ServerCallError(
            f"The arguments are larger than {MAX_MESSAGE_BYTES >> 20} MB. The tool was not called.",
            hint="Put large data into a file, and pass its path to a tool that reads files.",
        )
