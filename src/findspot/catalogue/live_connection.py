"""One run of a server: its session, the calls that run on it, and who is asked what it asks."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.lowlevel

from findspot.catalogue.client_configs import MissingVariableError
from findspot.catalogue.consent import ServerOffers
from findspot.catalogue.logins import LoginRequiredError
from findspot.catalogue.message_streams import SESSION_ENDED
from findspot.catalogue.server_connections import all_tools, error_line, open_connection
from findspot.catalogue.server_process import ProcessNotes
from findspot.catalogue.server_sources import START_TIMEOUT_S, ServerSpec
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.caller import ENVIRONMENT
from findspot.core.errors import FindspotError, first_cause

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import ClientSession
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

    SampleAnswer = types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData

Answer = TypeVar("Answer")

DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S = 60.0, 600.0
"""For a call; each report of progress gives it the same time again, up to the maximum in all."""

MAX_TASK_S = 24 * 3600.0
"""The same maximum for a call that runs as a task. Each sign of the task gives it the same time again."""

_POLL_S, _SHORTEST_POLL_S, _LONGEST_POLL_S = 1.0, 0.05, 30.0
"""Between two questions about a task, unless its server says how long to wait."""

_PING_PATIENCE_S = 5.0
_END_PATIENCE_S = 5.0
_IDLE_CHECK_S = 5.0
_FIRST_NUMBER = 1 << 20
"""Requests of calls are numbered from here, out of the way of the SDK's own numbers."""
_LISTINGS = 3
"""How often the tools are listed for one answer while the server goes on reporting changes."""
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
    """A server did not answer in time."""

    code = "SERVER_TIMEOUT"


class ServerBusyError(ServerCallError):
    """Too many calls of one server wait already."""

    code = "SERVER_BUSY"


class ServerNotAgreedError(ServerCallError):
    """The user has not agreed to start the server as it is now."""

    code = "SERVER_NOT_AGREED"


@dataclass(frozen=True, slots=True)
class CallHandlers:
    """What a server may send while it answers; None for what the caller cannot take."""

    on_progress: Callable[[float, float | None, str | None], Awaitable[None]] | None = None
    on_elicit: Callable[[types.ElicitRequestParams], Awaitable[types.ElicitResult]] | None = None
    on_sample: Callable[[types.CreateMessageRequestParams], Awaitable[SampleAnswer]] | None = None
    on_log: Callable[[types.LoggingMessageNotificationParams], Awaitable[None]] | None = None


@dataclass(eq=False, slots=True)
class RunningCall:
    """One running call: who is asked what the server asks, and until when it may run."""

    handlers: CallHandlers
    timeout_s: float
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    questions: set[anyio.CancelScope] = field(default_factory=set)
    latest: float = math.inf
    token: int | None = None
    """What names it in reports of progress, once it runs as a task."""
    was_reported: bool = False
    client: object = None
    """Which client it comes from."""
    as_task: bool = False
    """Whether the server runs it as a task, which may take long."""

    def start(self, spent_s: float = 0.0) -> None:
        """Start the clock of a call that was prepared for so long already."""
        now = anyio.current_time()
        self.latest = now + (MAX_TASK_S if self.as_task else MAX_TIMEOUT_S)
        self.scope.deadline = now + min(MAX_TIMEOUT_S, self.timeout_s) - spent_s

    def new_scope(self) -> anyio.CancelScope:
        """Return what limits the next attempt to the time that is left."""
        self.scope = anyio.CancelScope(deadline=self.scope.deadline)
        return self.scope

    def finish(self) -> None:
        """End the questions that are still open."""
        for question in self.questions:
            question.cancel()

    def extend(self) -> None:
        """Give the call its time again: the server works on it."""
        self.scope.deadline = min(self.latest, anyio.current_time() + self.timeout_s)

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        self.extend()
        if self.handlers.on_progress is not None:
            await self.handlers.on_progress(progress, total, message)

    async def ask(self, question: Callable[[], Awaitable[Answer]]) -> Answer | None:
        """Ask the caller with the clock stopped; None if the call ended before the answer."""
        self.scope.deadline = self.latest
        with anyio.CancelScope() as scope:
            self.questions.add(scope)
            try:
                return await question()
            finally:
                self.questions.discard(scope)
                self.extend()
        return None


class CallsOfServer:
    """The calls that a server works on, and who is asked what it asks."""

    def __init__(self) -> None:
        self.running: list[RunningCall] = []
        self._abandoned: set[object] = set()
        """The clients of calls that nobody waits for any more; the server may ignore that."""
        self._numbers = itertools.count(_FIRST_NUMBER)

    @contextlib.contextmanager
    def including(self, call: RunningCall) -> Iterator[None]:
        self.running.append(call)
        try:
            yield
        finally:
            self.running.remove(call)
            call.finish()

    async def send(
        self, dispatcher: JSONRPCDispatcher, call: RunningCall, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        """Send a request of a call; its number names it in reports of progress."""
        await anyio.lowlevel.checkpoint_if_cancelled()
        number = next(self._numbers)
        try:
            result = await dispatcher.send_raw_request(
                method, params, {"request_id": number, "on_progress": call.report}
            )
        except asyncio.CancelledError:
            self._abandoned.add(call.client)
            raise
        if call.as_task and call.token is None:
            call.token = number  # the task goes on: its server may report
        return result

    async def elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        import mcp_types as types

        call = self._asked()
        handler = call and call.handlers.on_elicit
        answer = await call.ask(lambda: handler(params)) if call and handler else None
        return answer or types.ElicitResult(action="cancel")

    async def sample(self, context: Any, params: types.CreateMessageRequestParams) -> SampleAnswer:
        import mcp_types as types

        call = self._asked()
        handler = call and call.handlers.on_sample
        answer = await call.ask(lambda: handler(params)) if call and handler else None
        return answer or types.ErrorData(
            code=types.INVALID_REQUEST, message="No language model can be asked for this call."
        )

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Pass a log message on to the client that calls."""
        call = self._asked()
        if call is not None and call.handlers.on_log is not None:
            await call.handlers.on_log(params)

    def _asked(self) -> RunningCall | None:
        """Return the newest call, through which its client is asked.

        Of a server that several clients share, nobody can say whose call asks: none is asked unless all
        calls are its own, those included that were cancelled.
        """
        clients = self._abandoned.union(call.client for call in self.running)
        return self.running[-1] if self.running and len(clients) == 1 else None


@dataclass(frozen=True, slots=True)
class ServerTerms:
    """What a server is started with, and for how long it is kept."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(ENVIRONMENT))
    """The environment of whoever called it first."""
    roots: Sequence[str] = ()
    """The addresses of the folders that its client works in."""
    idle_s: float = math.inf
    """After how long without a call it is ended."""
    start_s: float | None = None
    """How long it may take to start, and to list its tools."""


class LiveConnection:
    """One run of a server."""

    def __init__(self, spec: ServerSpec, terms: ServerTerms) -> None:
        self.opened, self.ended = anyio.Event(), anyio.Event()
        """`opened` is set when it can be called or never will be."""
        self.was_opened = False
        self.answered = False
        self.error: str | None = None
        """Why it ended, unless we ended it."""
        self.needs_login = False
        """Whether it takes no request before the user logs in."""
        self.note: str | None = None
        """What there is to say about its list of tools."""
        self.task: asyncio.Task[None] | None = None
        self._spec = spec
        self._terms = terms
        self._notes = ProcessNotes()
        self._session: ClientSession | None = None
        self._dispatcher: JSONRPCDispatcher | None = None
        self._closing = anyio.Event()
        self._starting: anyio.CancelScope | None = None
        self._users = 0
        self._last_used = 0.0
        self._calls = CallsOfServer()
        self._listing = asyncio.Lock()
        self._tools: tuple[ToolDefinition, ...] | None = None
        self._is_listed = False
        """Whether no change was reported since the tools were last asked for."""
        self._changed = anyio.Event()
        """Set when the tools may have changed since: it says so, or it ended."""
        self._check: asyncio.Task[None] | None = None

    @property
    def _start_s(self) -> float:
        return self._terms.start_s or START_TIMEOUT_S

    @property
    def is_open(self) -> bool:
        return self.was_opened and not self._closing.is_set()

    async def run(self) -> None:
        """Connect, and stay connected until the server ends, is idle, or is to be ended."""
        try:
            with anyio.fail_after(self._start_s) as self._starting:
                async with open_connection(
                    self._spec, self._new_session, self._notes, self._terms.environ
                ) as session:
                    self._starting.deadline = math.inf
                    self._session, self._last_used = session, anyio.current_time()
                    self.was_opened = True
                    self.opened.set()
                    await self._until_unused()
        except TimeoutError:
            self.error = f"no answer within {self._start_s:g} s"
        except Exception as error:  # noqa: BLE001 - whatever one server does, the others are served
            self.error, self.needs_login = (
                error_line(error),
                isinstance(first_cause(error), LoginRequiredError),
            )
        finally:
            self.error = self.error and self._notes.about(self.error)
            self._closing.set()
            self.opened.set()
            self.ended.set()
            self._changed.set()

    def close(self) -> None:
        """End the server soon, also one that is starting."""
        self._closing.set()
        if self._starting is not None and not self.was_opened:
            self._starting.cancel()

    async def aclose(self) -> None:
        self.close()
        await self.ended.wait()

    async def call(self, call: RunningCall, tool: str, arguments: dict[str, Any] | None) -> dict[str, Any]:
        """Return the result of a tool as it was sent; the errors say what is known about what happened."""
        import mcp_types as types

        params: dict[str, Any] = (
            {"name": tool} if arguments is None else {"name": tool, "arguments": arguments}
        )
        with self._calls.including(call):
            async with self._used():
                with call.new_scope():
                    if call.as_task:
                        result = await self._run_task(call, params)
                    else:
                        result = await self._send(call, "tools/call", params)
                    self.answered = True
                    types.CallToolResult.model_validate(result, by_name=False)
                    return result
        self._check_later()
        raise ServerTimeoutError(
            f"The tool {tool} of the server {self._spec.name} did not answer within {call.timeout_s:g} s "
            "and was cancelled.",
            hint=f"Call it with a larger timeout, up to {MAX_TIMEOUT_S:g} s.",
        )

    async def _send(self, call: RunningCall, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._dispatcher is not None
        return await self._calls.send(self._dispatcher, call, method, params)

    async def _run_task(self, call: RunningCall, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a tool that runs as a task; its state is reported as progress.

        A task that needs an answer of the user asks for it while its result is waited for.
        """
        import mcp_types as types

        made = await self._send(call, "tools/call", {**params, "task": {"ttl": int(MAX_TASK_S * 1000)}})
        if "task" not in made:
            return made
        task = types.CreateTaskResult.model_validate(made, by_name=False).task
        about, result = {"taskId": task.task_id}, None
        try:
            for number in itertools.count(1):
                if result is None and task.status != "working":
                    result = asyncio.ensure_future(self._send(call, "tasks/result", about))
                pause_s = _POLL_S if task.poll_interval is None else task.poll_interval / 1000
                pause_s = min(max(pause_s, _SHORTEST_POLL_S), _LONGEST_POLL_S, call.timeout_s / 2)
                if result is None:
                    await anyio.sleep(pause_s)
                elif (await asyncio.wait([result], timeout=pause_s))[0] or task.status != "input_required":
                    return await result
                polled = await self._send(call, "tasks/get", about)
                task = types.GetTaskResult.model_validate(polled, by_name=False)
                call.extend()
                if not call.was_reported and call.handlers.on_progress is not None:
                    await call.handlers.on_progress(number, None, task.status_message)
        except asyncio.CancelledError:
            await self._cancel_task(about)
            raise
        finally:
            if result is not None:
                result.cancel()
        raise AssertionError

    async def _cancel_task(self, about: dict[str, Any]) -> None:
        from mcp.shared.exceptions import MCPError

        assert self._dispatcher is not None
        with anyio.move_on_after(_END_PATIENCE_S, shield=True), contextlib.suppress(MCPError):
            await self._dispatcher.send_raw_request("tasks/cancel", about)

    async def tools(self, deadline: float) -> tuple[ToolDefinition, ...]:
        """Return the tools that the server has now."""
        started = anyio.current_time()
        deadline = min(deadline, started + self._start_s)
        tools: tuple[ToolDefinition, ...] = ()
        with anyio.CancelScope(deadline=deadline):
            async with self._listing, self._used() as session:
                for _ in range(_LISTINGS):
                    if self._tools is not None:
                        break
                    self._is_listed = True
                    tools, self.note = await all_tools(session, self._spec.name)
                    self._tools = tools if self._is_listed else None
                    self.answered = True
                return self._tools or tools
        self._check_later()
        raise ServerTimeoutError(
            f"The server {self._spec.name} did not list its tools within {round(deadline - started, 1):g} s.",
            hint="The tool was not called. Try again, or with a larger timeout.",
        )

    @property
    def offers(self) -> ServerOffers:
        """What the server has besides its tools."""
        session = self._session
        declared = session.server_capabilities if session is not None else None
        if session is None or declared is None:
            return ServerOffers()
        kinds = [kind for kind in ("prompts", "resources") if getattr(declared, kind) is not None]
        return ServerOffers(tuple(kinds), (session.instructions or "")[:_SHOWN_CHARS])

    async def ask(self, question: Callable[[ClientSession], Awaitable[Answer]], deadline: float) -> Answer:
        """Return the answer to a request that is no call of a tool."""
        started = anyio.current_time()
        with anyio.CancelScope(deadline=deadline):
            async with self._used() as session:
                answer = await question(session)
                self.answered = True
                return answer
        self._check_later()
        raise ServerTimeoutError(
            f"The server {self._spec.name} did not answer within {round(deadline - started, 1):g} s."
        )

    async def follow(self, changed: Callable[[tuple[ToolDefinition, ...]], Awaitable[None]]) -> None:
        """Keep the server until it ends; call `changed` with its tools, and again whenever they change."""
        self._users += 1
        try:
            while self.is_open:
                self._changed = anyio.Event()
                await changed(await self.tools(math.inf))
                await self._changed.wait()
        finally:
            self._users -= 1

    @contextlib.asynccontextmanager
    async def _used(self) -> AsyncIterator[ClientSession]:
        """Use the session; errors of the server become ours."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED
        from pydantic import ValidationError

        assert self._session is not None
        self._users += 1
        try:
            yield self._session
        except MCPError as error:
            if error.code == SESSION_ENDED:
                self._closing.set()
                raise SessionEndedError(
                    f"The server {self._spec.name} ends every session at once."
                ) from error
            if error.code == CONNECTION_CLOSED:  # the code may also be the server's own
                with anyio.move_on_after(_PING_PATIENCE_S):
                    await self._closing.wait()
            raise await self._explained(error.error) from error
        except ValidationError as error:
            wrong = error.errors()[0]
            where = ".".join(map(str, wrong["loc"]))
            raise ServerCallError(
                f"The server {self._spec.name} sent an answer that MCP does not allow: "
                f"{_cut(where)}: {wrong['msg']}."
            ) from error
        finally:
            self._users -= 1
            self._last_used = anyio.current_time()

    async def _explained(self, error: types.ErrorData) -> ServerCallError:
        """Return the error for one that the SDK reports: the server's own, or that it ended."""
        name = self._spec.name
        if self.is_open:
            self.answered = True
            return ServerCallError(f"The server {name} answered with an error: {_error_text(error)}")
        with anyio.move_on_after(_END_PATIENCE_S):
            await self.ended.wait()
        if self.needs_login:
            return ServerCallError(f"The server {name} cannot be called. {self.error}")
        return ServerCallError(
            f"The server {name} ended before it answered: {self.error or 'it was stopped'}",
            hint="It is not known whether the tool did its work. The next call starts the server again.",
        )

    async def _until_unused(self) -> None:
        while not self._closing.is_set():
            left = self._last_used + self._terms.idle_s - anyio.current_time()
            if left <= 0 and not self._users:
                self._closing.set()
                return
            with anyio.move_on_after(min(max(left, 0.1), _IDLE_CHECK_S)):
                await self._closing.wait()

    def _check_later(self) -> None:
        """End a server that answers nothing at all, so that the next call finds a new one."""
        if self._check is None or self._check.done():
            self._check = asyncio.create_task(self._end_if_hung())

    async def _end_if_hung(self) -> None:
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        assert self._session is not None
        earlier = set(self._calls.running)
        ping = asyncio.ensure_future(self._session.send_request(types.PingRequest(), types.EmptyResult))
        await asyncio.wait([ping], timeout=_PING_PATIENCE_S)
        while not ping.done() and earlier & set(self._calls.running):  # it may be busy with one of them
            await asyncio.wait([ping], timeout=_PING_PATIENCE_S)
        if not ping.done() and self.is_open:
            self.error = "it no longer answered and was ended"
            self._closing.set()
        ping.cancel()
        with contextlib.suppress(MCPError, asyncio.CancelledError):
            await ping

    @contextlib.asynccontextmanager
    async def _new_session(self, transport: Any) -> AsyncIterator[ClientSession]:
        from mcp import ClientSession
        from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

        def lost() -> None:
            if self.is_open:
                self.error = "the connection was closed"
                self._closing.set()

        class Dispatcher(JSONRPCDispatcher):
            async def run(self, *handlers: Any, **options: Any) -> None:
                await super().run(*handlers, **options)
                lost()

        async with transport as (incoming, outgoing):
            self._dispatcher = Dispatcher(incoming, outgoing)
            async with ClientSession(
                dispatcher=self._dispatcher,
                elicitation_callback=self._calls.elicit,
                sampling_callback=self._calls.sample,
                list_roots_callback=self._list_roots,
                message_handler=self._hear,
            ) as session:
                await session.initialize()
                yield session

    async def _list_roots(self, context: Any) -> types.ListRootsResult:
        import mcp_types as types

        roots = [{"uri": address} for address in self._terms.roots]
        return types.ListRootsResult.model_validate({"roots": roots})

    async def _hear(self, message: Any) -> None:
        method = getattr(message, "method", None)
        if method == "notifications/tools/list_changed":
            self._tools, self._is_listed = None, False
            self._changed.set()
        elif method == "notifications/message":
            await self._calls.log(message.params)
        elif method == "notifications/progress":
            about = message.params
            for call in self._calls.running:
                if call.token == about.progress_token:
                    call.was_reported = True
                    await call.report(about.progress, about.total, about.message)


def _error_text(error: types.ErrorData) -> str:
    """Return a server's error with its code and data, which may say more than its message."""
    from mcp_types import INTERNAL_ERROR

    data = "" if error.data is None else f", data {_cut(json.dumps(error.data, ensure_ascii=False))}"
    code = f" (code {error.code}{data})" if data or error.code != INTERNAL_ERROR else ""
    return _cut(error.message) + code


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The tools of a server, or why there are none."""

    tools: tuple[ToolDefinition, ...] = ()
    error: str | None = None
    note: str | None = None
    """What there is to say about the list."""
    offers: ServerOffers = field(default_factory=ServerOffers)


OnAnswer = Callable[[str, ServerAnswer], None]


def ask_servers(
    specs: Sequence[ServerSpec], timeout_s: float, on_answer: OnAnswer | None = None
) -> dict[str, ServerAnswer]:
    """Ask all servers for their tools at once; one that fails costs only its own tools."""
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
    try:
        expanded = spec.expanded()
    except MissingVariableError as error:
        return ServerAnswer(error=str(error))
    terms = ServerTerms(start_s=timeout_s)
    connection = LiveConnection(expanded, terms)
    deadline = anyio.current_time() + timeout_s
    connection.task = asyncio.create_task(connection.run())
    try:
        await connection.opened.wait()
        if not connection.is_open:
            return ServerAnswer(error=connection.error)
        tools = await connection.tools(deadline)
        return ServerAnswer(tools, note=connection.note, offers=connection.offers)
    except ServerTimeoutError:
        return ServerAnswer(error=f"no answer within {timeout_s:g} s")
    except ServerCallError as error:
        return ServerAnswer(error=connection.error or error.user_message)
    finally:
        with anyio.CancelScope(shield=True):
            await connection.aclose()
