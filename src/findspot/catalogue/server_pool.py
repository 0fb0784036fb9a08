"""The servers that this process has started, the calls that run on them, and who is asked what they ask.

Each client connection has its own process of a server, unless the server's entry says that it is shared. It
is started by the first call, ended with its connection or when it has been idle, and started again by the
first call after a crash. Whatever it does, it fails only its own calls.

Imports the MCP SDK: import this module only where a server is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import anyio
import anyio.lowlevel
import mcp_types as types
from mcp import ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from pydantic import ValidationError
from pydantic_core import to_json

from findspot.catalogue.indexfile import read_definition
from findspot.catalogue.server_registry import Agreements, LoginRequiredError, ServerOffers
from findspot.catalogue.server_sources import (
    NESTED_VARIABLE,
    START_TIMEOUT_S,
    MissingVariableError,
    ServerSpec,
    with_server_name,
)
from findspot.catalogue.tool_record import ToolDefinition
from findspot.catalogue.transports import (
    MAX_MESSAGE_BYTES,
    SESSION_ENDED,
    ProcessNotes,
    connect_remote,
    pipe_transport,
)
from findspot.core.caller import ENVIRONMENT
from findspot.core.errors import FindspotError, first_cause
from findspot.core.log import get_logger
from findspot.core.platforms import run_loop
from findspot.text.snippet import cut

Answer = TypeVar("Answer")

_log = get_logger("catalogue")

DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S = 60.0, 600.0
"""For a call; each report of progress gives it the same time again, up to the maximum in all."""

MAX_TASK_S = 24 * 3600.0
"""The same maximum for a call that runs as a task. Each sign of the task gives it the same time again."""

_POLL_S, _SHORTEST_POLL_S, _LONGEST_POLL_S = 1.0, 0.05, 30.0
"""Between two questions about a task, unless its server says how long to wait."""

IDLE_S = 300.0
"""A server that was not called for so long is ended."""

_PING_PATIENCE_S = 5.0
_END_PATIENCE_S = 5.0
_IDLE_CHECK_S = 5.0
_MAX_PAGES = 1_000
_AT_ONCE = 8
"""Servers asked for their tools at the same time: each may be a separate process."""
_SHOWN_CHARS = 2_000
"""Of the message and of the data of an error."""


class ServerCallError(FindspotError):
    """A server could not be started, ended during a call, or answered with an error."""

    code = "SERVER_FAILED"


class SessionEndedError(ServerCallError):
    """A remote server did not run a request, since it no longer knows the session."""


class ServerTimeoutError(ServerCallError):
    code = "SERVER_TIMEOUT"


class ServerNotAgreedError(ServerCallError):
    code = "SERVER_NOT_AGREED"


@dataclass(frozen=True, slots=True)
class CallHandlers:
    """What a server may send while it answers; None for what the caller cannot take."""

    on_progress: Callable[[float, float | None, str | None], Awaitable[None]] | None = None
    on_elicit: Callable[[types.ElicitRequestParams], Awaitable[types.ElicitResult]] | None = None
    on_log: Callable[[types.LoggingMessageNotificationParams], Awaitable[None]] | None = None


@dataclass(eq=False, slots=True)
class RunningCall:
    """One running call: who is asked what the server asks, and until when it may run."""

    handlers: CallHandlers
    timeout_s: float
    as_task: bool = False
    """Whether the server runs it as a task, which may take long."""
    scope: anyio.CancelScope = field(init=False)
    latest: float = field(init=False)
    questions: set[anyio.CancelScope] = field(default_factory=set)
    token: str = field(default_factory=lambda: uuid4().hex)
    """What names it in reports of progress."""
    was_reported: bool = False

    def __post_init__(self) -> None:
        self.latest = anyio.current_time() + (MAX_TASK_S if self.as_task else MAX_TIMEOUT_S)
        self.scope = anyio.move_on_after(self.timeout_s)

    def extend(self) -> None:
        """Give the call its time again: the server works on it."""
        self.scope.deadline = min(self.latest, anyio.current_time() + self.timeout_s)

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        self.extend()
        if self.handlers.on_progress is not None:
            await self.handlers.on_progress(progress, total, message)

    async def ask(self, question: Awaitable[Answer]) -> Answer | None:
        """Ask the caller with the clock stopped; None if the call ended before the answer."""
        self.scope.deadline = self.latest
        with anyio.CancelScope() as scope:
            self.questions.add(scope)
            try:
                return await question
            finally:
                self.questions.discard(scope)
                self.extend()
        return None


class _Dispatcher(JSONRPCDispatcher):
    """The SDK's, which says when the connection is closed."""

    def __init__(self, *streams: Any, lost: Callable[[], None]) -> None:
        super().__init__(*streams)
        self._lost = lost

    async def run(self, *handlers: Any, **options: Any) -> None:
        await super().run(*handlers, **options)
        self._lost()


class LiveConnection:
    """One run of a server whose variables are expanded."""

    def __init__(
        self,
        spec: ServerSpec,
        environ: Mapping[str, str] = ENVIRONMENT,
        roots: Sequence[str] = (),
        idle_s: float = math.inf,
        start_s: float | None = None,
    ) -> None:
        """Take the environment and the folders of whoever wants it; it is ended after `idle_s` without a
        call.
        """
        self.opened, self.ended = anyio.Event(), anyio.Event()
        """`opened` is set when it can be called or never will be."""
        self.was_opened = False
        self.error: str | None = None
        """Why it ended, unless we ended it."""
        self.needs_login = False
        """Whether it takes no request before the user logs in."""
        self.spec = spec
        self._environ = environ
        self._roots = roots
        self._idle_s = idle_s
        self._start_s = start_s or START_TIMEOUT_S
        self.notes = ProcessNotes()
        self._session: ClientSession
        self._dispatcher: _Dispatcher
        self._closing = anyio.Event()
        self._starting: anyio.CancelScope | None = None
        self._users = 0
        self._last_used = 0.0
        self._running: list[RunningCall] = []
        self._listing = asyncio.Lock()
        self._tools: tuple[ToolDefinition, ...] = ()
        self._is_changed = True
        """Whether the tools may be others than those listed: at first, and when it says so."""
        self._task: asyncio.Task[None] | None = None
        self._check: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        return self.was_opened and not self._closing.is_set()

    @property
    def offers(self) -> ServerOffers:
        declared = self._session.server_capabilities
        kinds = tuple(kind for kind in ("prompts", "resources") if getattr(declared, kind, None) is not None)
        return ServerOffers(kinds, (self._session.instructions or "")[:_SHOWN_CHARS])

    def start(self) -> None:
        """Connect, and stay connected until the server ends, is idle, or is to be ended."""
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            with anyio.fail_after(self._start_s) as self._starting:
                async with self._connected() as self._session:
                    self._starting.deadline = math.inf
                    self._last_used = anyio.current_time()
                    self.was_opened = True
                    self.opened.set()
                    await self._until_unused()
        except TimeoutError:
            self.error = f"no answer within {self._start_s:g} s"
        except Exception as error:  # noqa: BLE001 - whatever one server does, the others are served
            cause = first_cause(error)
            self.error = " ".join(str(cause).split()) or type(cause).__name__
            self.needs_login = isinstance(cause, LoginRequiredError)
        finally:
            if self.error:
                self.error = self.notes.about(self.error)
                _log.info("the server %s ended: %s", self.spec.name, self.error)
            for event in (self._closing, self.opened, self.ended):
                event.set()

    async def _until_unused(self) -> None:
        while self._users or anyio.current_time() < self._last_used + self._idle_s:
            with anyio.move_on_after(min(self._idle_s, _IDLE_CHECK_S)):
                await self._closing.wait()
                return
        self._closing.set()

    def close(self) -> None:
        """End the server soon, also one that is starting."""
        self._closing.set()
        if self._starting is not None and not self.was_opened:
            self._starting.cancel()

    async def aclose(self) -> None:
        self.close()
        await self.ended.wait()

    async def call(
        self, call: RunningCall, tool: str, arguments: dict[str, Any] | None
    ) -> types.CallToolResult:
        """Return the result of a tool; the errors say what is known about what happened."""
        params = {"name": tool} | ({} if arguments is None else {"arguments": arguments})

        async def result(_session: ClientSession) -> types.CallToolResult:
            sent = self._run_task(call, params) if call.as_task else self._send(call, "tools/call", params)
            return types.CallToolResult.model_validate(await sent, by_name=False)

        self._running.append(call)
        try:
            return await self.ask(result)
        finally:
            self._running.remove(call)
            for question in call.questions:
                question.cancel()

    async def tools(self) -> tuple[ToolDefinition, ...]:
        """Return the tools that the server has now; it is asked again only after it reported a change."""
        async with self._listing:
            if self._is_changed:
                self._is_changed = False
                try:
                    listed = await self.ask(lambda session: all_pages(session, "tools"))
                except BaseException:
                    self._is_changed = True
                    raise
                values = (tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed)
                read = [with_server_name(read_definition(v, "", "a tool"), self.spec.name) for v in values]
                self._tools = tuple({tool.name: tool for tool in reversed(read)}.values())[::-1]
            return self._tools

    async def ask(self, question: Callable[[ClientSession], Awaitable[Answer]]) -> Answer:
        """Return the answer to a request; errors of the server become ours."""
        self._users += 1
        try:
            return await question(self._session)
        except MCPError as error:
            raise await self._explained(error.error) from error
        except ValidationError as error:
            wrong = error.errors()[0]
            where = cut(".".join(map(str, wrong["loc"])), _SHOWN_CHARS)
            raise ServerCallError(
                f"The server {self.spec.name} sent an answer that MCP does not allow: "
                f"{where}: {wrong['msg']}."
            ) from error
        finally:
            self._users -= 1
            self._last_used = anyio.current_time()

    def check_soon(self) -> None:
        """End the server if it is found to answer nothing at all, so that the next call finds a new one."""
        if self._check is None or self._check.done():
            self._check = asyncio.create_task(self._end_if_hung())

    async def _end_if_hung(self) -> None:
        earlier = set(self._running)
        with contextlib.suppress(MCPError):  # an error is an answer too
            while True:
                with anyio.move_on_after(_PING_PATIENCE_S):
                    await self._session.send_ping()
                    return
                if earlier.isdisjoint(self._running):  # else it may be busy with one of them
                    break
            if self.is_open:
                self.error = "it no longer answered and was ended"
                self._closing.set()

    async def _explained(self, error: types.ErrorData) -> ServerCallError:
        """Return the error for one that the SDK reports: the server's own, or that it ended."""
        name = self.spec.name
        if error.code == SESSION_ENDED:
            self._closing.set()
            return SessionEndedError(f"The server {name} ends every session at once.")
        if error.code == types.CONNECTION_CLOSED:  # the code may also be the server's own
            with anyio.move_on_after(_PING_PATIENCE_S):
                await self._closing.wait()
        if self.is_open:
            return ServerCallError(f"The server {name} answered with an error: {_error_text(error)}")
        with anyio.move_on_after(_END_PATIENCE_S):
            await self.ended.wait()
        if self.needs_login:
            return ServerCallError(f"The server {name} cannot be called. {self.error}")
        return ServerCallError(
            f"The server {name} ended before it answered: {self.error or 'it was stopped'}",
            hint="It is not known whether the tool did its work. The next call starts the server again.",
        )

    async def _send(self, call: RunningCall, method: str, params: dict[str, Any]) -> dict[str, Any]:
        await anyio.lowlevel.checkpoint_if_cancelled()
        return await self._dispatcher.send_raw_request(
            method, {**params, "_meta": {"progressToken": call.token}}
        )

    async def _run_task(self, call: RunningCall, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a tool that runs as a task; its state is reported as progress.

        A task that needs an answer of the user asks for it while its result is waited for.
        """
        made = await self._send(call, "tools/call", {**params, "task": {"ttl": int(MAX_TASK_S * 1000)}})
        if "task" not in made:
            return made
        task = types.CreateTaskResult.model_validate(made, by_name=False).task
        about = {"taskId": task.task_id}
        try:
            for number in itertools.count(1):
                if task.status != "working":  # it has ended, or asks while its result is waited for
                    break
                pause_s = _POLL_S if task.poll_interval is None else task.poll_interval / 1000
                await anyio.sleep(min(max(pause_s, _SHORTEST_POLL_S), _LONGEST_POLL_S, call.timeout_s / 2))
                polled = await self._send(call, "tasks/get", about)
                task = types.GetTaskResult.model_validate(polled, by_name=False)
                call.extend()
                if not call.was_reported and call.handlers.on_progress is not None:
                    await call.handlers.on_progress(number, None, task.status_message)
            return await self._send(call, "tasks/result", about)
        except asyncio.CancelledError:
            with anyio.move_on_after(_END_PATIENCE_S, shield=True), contextlib.suppress(MCPError):
                await self._dispatcher.send_raw_request("tasks/cancel", about)
            raise

    def _connected(self) -> contextlib.AbstractAsyncContextManager[ClientSession]:
        """Start the server, or call its address: the only way to do so."""
        # The SDK logs a traceback for each line of a server's output that is no message, such as a greeting.
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
        if self.spec.url is None:
            return self._new_session(pipe_transport(self.spec, self._environ, self.notes))
        from findspot.catalogue.oauth import credentials

        return connect_remote(self.spec, self._new_session, credentials(self.spec))

    @contextlib.asynccontextmanager
    async def _new_session(self, transport: Any) -> AsyncIterator[ClientSession]:
        async with transport as streams:
            self._dispatcher = _Dispatcher(*streams, lost=self._lost)
            async with ClientSession(
                dispatcher=self._dispatcher,
                elicitation_callback=self._elicit,
                list_roots_callback=self._list_roots,
                message_handler=self._hear,
            ) as session:
                await session.initialize()
                yield session

    def _lost(self) -> None:
        if self.is_open:
            self.error = "the connection was closed"
            self._closing.set()

    async def _elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        address = getattr(params, "url", "https://")
        if not address.lower().startswith(("https://", "http://")):  # a file, or what runs a program
            return types.ElicitResult(action="decline")
        answer = None
        if (call := self._asked()) and call.handlers.on_elicit:
            answer = await call.ask(call.handlers.on_elicit(params))
        return answer or types.ElicitResult(action="cancel")

    async def _list_roots(self, context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": address} for address in self._roots]})

    async def _hear(self, message: Any) -> None:
        method = getattr(message, "method", None)
        if method == "notifications/tools/list_changed":
            self._is_changed = True
        elif method == "notifications/message":
            call = self._asked()
            if call is not None and call.handlers.on_log is not None:
                await call.handlers.on_log(message.params)
        elif method == "notifications/progress":
            about = message.params
            for call in self._running:
                if call.token == about.progress_token:
                    call.was_reported = True
                    await call.report(about.progress, about.total, about.message)

    def _asked(self) -> RunningCall | None:
        """Return the newest call, through which its client is asked.

        Of a server that clients share, nobody can say whose call asks, so none is asked.
        """
        return self._running[-1] if self._running and not self.spec.shared else None


async def all_pages(session: ClientSession, kind: str) -> list[Any]:
    """Return a list of a server, such as its `tools`; not all of one that does not end."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await getattr(session, f"list_{kind}")(params=types.PaginatedRequestParams(cursor=cursor))
        found += getattr(page, kind)
        if not page.next_cursor or page.next_cursor == cursor:
            break
        cursor = page.next_cursor
    return found


def _error_text(error: types.ErrorData) -> str:
    """Return a server's error with its code and data, which may say more than its message."""
    given = "" if error.data is None else json.dumps(error.data, ensure_ascii=False)
    data = given and f", data {cut(given, _SHOWN_CHARS)}"
    code = f" (code {error.code}{data})" if data or error.code != types.INTERNAL_ERROR else ""
    return cut(error.message, _SHOWN_CHARS) + code


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    tools: tuple[ToolDefinition, ...] = ()
    error: str | None = None
    offers: ServerOffers = field(default_factory=ServerOffers)


def ask_servers(specs: Sequence[ServerSpec], timeout_s: float) -> dict[str, ServerAnswer]:
    """Ask all servers for their tools at once; one that fails costs only its own tools."""
    answers: dict[str, ServerAnswer] = {}

    async def ask(spec: ServerSpec, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            answers[spec.name] = await _ask(spec, timeout_s)

    async def ask_all() -> None:
        limiter = anyio.CapacityLimiter(_AT_ONCE)
        async with anyio.create_task_group() as group:
            for spec in specs:
                group.start_soon(ask, spec, limiter)

    run_loop(ask_all)
    return answers


async def _ask(spec: ServerSpec, timeout_s: float) -> ServerAnswer:
    try:
        connection = LiveConnection(spec.expanded(), start_s=timeout_s)
    except MissingVariableError as error:
        return ServerAnswer(error=str(error))
    connection.start()
    try:
        with anyio.fail_after(timeout_s):
            await connection.opened.wait()
            if not connection.is_open:
                return ServerAnswer(error=connection.error)
            return ServerAnswer(await connection.tools(), offers=connection.offers)
    except TimeoutError:
        return ServerAnswer(error=connection.notes.about(f"no answer within {timeout_s:g} s"))
    except ServerCallError as error:
        return ServerAnswer(error=connection.error or error.user_message)
    finally:
        with anyio.CancelScope(shield=True):
            await connection.aclose()


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

    async def call(
        self,
        spec: ServerSpec,
        tool: str,
        arguments: dict[str, Any] | None = None,
        *,
        client: PoolClient | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        handlers: CallHandlers | None = None,
        as_task: bool = False,
    ) -> types.CallToolResult:
        """Call a tool by its own name; a cancelled call is cancelled at the server too.

        Its time covers waiting for the start of the server.
        """
        if len(to_json(arguments)) > MAX_MESSAGE_BYTES:
            raise ServerCallError(
                f"The arguments are larger than {MAX_MESSAGE_BYTES >> 20} MB. The tool was not called.",
                hint="Put large data into a file, and pass its path to a tool that reads files.",
            )
        running = RunningCall(handlers or CallHandlers(), min(timeout_s, MAX_TIMEOUT_S), as_task)
        named = f"The tool {tool} of the server {spec.name}"
        return await self._use(
            spec, client, running.scope, lambda opened: opened.call(running, tool, arguments), named
        )

    async def tools(
        self, spec: ServerSpec, *, client: PoolClient | None = None, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> tuple[ToolDefinition, ...]:
        """Return the tools that a server has now; it is asked again only after it reported a change."""
        return await self._use(spec, client, anyio.move_on_after(timeout_s), LiveConnection.tools)

    async def ask(
        self,
        spec: ServerSpec,
        question: Callable[[ClientSession], Awaitable[Answer]],
        *,
        client: PoolClient,
        timeout_s: float,
    ) -> Answer:
        """Return the answer of a server to a request that is no call of a tool."""
        return await self._use(
            spec, client, anyio.move_on_after(timeout_s), lambda opened: opened.ask(question)
        )

    def leave(self, connection: str) -> None:
        for key in [key for key in self._connections if key[0] == connection]:
            self._connections.pop(key).close()

    async def aclose(self) -> None:
        await asyncio.gather(*(connection.aclose() for connection in self._connections.values()))

    async def _use(
        self,
        spec: ServerSpec,
        client: PoolClient | None,
        scope: anyio.CancelScope,
        work: Callable[[LiveConnection], Awaitable[Answer]],
        asked: str = "",
    ) -> Answer:
        """Return what a server answers within the time of a scope, its start included.

        One that refuses what is sent, since it ended the session, is connected to once more.
        """
        connection: LiveConnection | None = None
        limit = f"within {round(scope.deadline - anyio.current_time(), 2):g} s"
        with scope:
            with contextlib.suppress(SessionEndedError):
                connection = await self._connected(spec, client or PoolClient())
                return await work(connection)
            connection = await self._connected(spec, client or PoolClient())
            return await work(connection)
        if connection is None:
            raise ServerTimeoutError(
                f"The server {spec.name} did not start {limit}.",
                hint="The tool was not called. The server still starts: try again or with a larger timeout.",
            )
        connection.check_soon()
        raise ServerTimeoutError(
            f"{asked or f'The server {spec.name}'} did not answer {limit} and was cancelled.",
            hint=f"Try again with a larger timeout, up to {MAX_TIMEOUT_S:g} s.",
        )

    async def _connected(self, spec: ServerSpec, client: PoolClient) -> LiveConnection:
        """Return the open connection; start the server if there is none."""
        expanded = self._expanded(spec, client)
        owner = "" if spec.shared else client.connection
        key = owner, f"{spec.name} {expanded.launch} {sorted(client.roots)}"
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

    def _expanded(self, spec: ServerSpec, client: PoolClient) -> ServerSpec:
        """Return a server that may be started for a client, with its variables expanded."""
        if NESTED_VARIABLE in client.environ:
            raise ServerNotAgreedError("A Findspot that another Findspot started calls no servers.")
        if not self._agreements.holds(spec):
            raise ServerNotAgreedError(
                f"The server {spec.name} was not started, since the user has not agreed to it as it is now.",
                hint=f"Run {spec.index_command} to see what it runs, and agree to it.",
            )
        try:
            return spec.expanded(client.environ)
        except MissingVariableError as error:
            raise ServerCallError(
                f"The server {spec.name} was not started: {error}.", hint="Set it where Findspot is started."
            ) from None


def _not_started(connection: LiveConnection) -> ServerCallError:
    spec, why = connection.spec, connection.error or "it was stopped"
    if connection.needs_login:
        return ServerCallError(f"The server {spec.name} cannot be called. {why}")
    return ServerCallError(
        f"The server {spec.name} could not be started: {why}",
        hint=f"Run {spec.index_command} to see whether it starts, or check its entry.",
    )
