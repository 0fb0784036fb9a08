"""One run of a server: its session, the calls that run on it, and who is asked what it asks."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.lowlevel

from findspot.catalogue.logins import LoginRequiredError
from findspot.catalogue.server_connections import all_tools, error_line, open_connection
from findspot.catalogue.server_process import ProcessNotes, Witness
from findspot.catalogue.server_sources import START_TIMEOUT_S, ServerSpec
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.errors import FindspotError

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import ClientSession

    SampleAnswer = types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData

Answer = TypeVar("Answer")

DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S = 60.0, 600.0
"""For a call; each report of progress gives it the same time again, up to the maximum in all."""

_PING_PATIENCE_S = 5.0
_END_PATIENCE_S = 5.0
_IDLE_CHECK_S = 5.0
_FIRST_NUMBER = 1 << 20
"""Requests of calls are numbered from here, out of the way of the SDK's own numbers."""
_NUMBER: ContextVar[int] = ContextVar("number")
"""The identifier of the request that a call sends."""
_LISTINGS = 3
"""How often the tools are listed for one answer while the server goes on reporting changes."""


class ServerCallError(FindspotError):
    """A server could not be started, ended during a call, or answered with an error."""

    code = "SERVER_FAILED"


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


@dataclass(eq=False, slots=True)
class RunningCall:
    """One running call: who is asked what the server asks, and until when it may run."""

    handlers: CallHandlers
    timeout_s: float
    margin_s: float = 0.0
    """How much longer to wait, for whoever waits for another process that keeps the time."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    questions: set[anyio.CancelScope] = field(default_factory=set)
    latest: float = math.inf
    number: int = 0
    """The identifier of its request."""
    client: object = None
    """Which client it comes from."""

    def start(self, spent_s: float = 0.0) -> None:
        """Start the clock of a call that was prepared for so long already."""
        now = anyio.current_time()
        self.latest = now + MAX_TIMEOUT_S + self.margin_s
        self.scope.deadline = now + min(MAX_TIMEOUT_S, self.timeout_s) + self.margin_s - spent_s

    def finish(self) -> None:
        """End the questions that are still open."""
        for question in self.questions:
            question.cancel()

    def extend(self) -> None:
        """Give the call its time again: the server works on it."""
        self.scope.deadline = min(self.latest, anyio.current_time() + self.timeout_s + self.margin_s)

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
        self._unanswered: dict[int, object] = {}
        """Requests that were sent, with their clients; also those that nobody waits for any more."""
        self._numbers = itertools.count(_FIRST_NUMBER)

    @contextlib.contextmanager
    def including(self, call: RunningCall) -> Iterator[None]:
        self.running.append(call)
        try:
            yield
        finally:
            self.running.remove(call)
            call.finish()

    async def send(self, session: ClientSession, call: RunningCall, request: Any) -> dict[str, Any]:
        """Send a call; until the server answers, it may ask something about it, cancelled or not."""
        await anyio.lowlevel.checkpoint_if_cancelled()
        call.number = next(self._numbers)
        _NUMBER.set(call.number)
        self._unanswered[call.number] = call.client
        try:
            result: dict[str, Any] = await session.send_request(
                request, _as_sent(), progress_callback=call.report
            )
        except Exception:
            self.note_answer(call.number)
            raise
        self.note_answer(call.number)
        return result

    def note_answer(self, number: Any) -> None:
        """Note that the server answered a request, whether or not anybody waits for it."""
        with contextlib.suppress(TypeError, ValueError):
            self._unanswered.pop(int(number), None)

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

    def _asked(self) -> RunningCall | None:
        """Return the only call that is running; with several, nobody can say which one asks.

        A server may ignore that a call was cancelled. What it asks about it must not reach another client.
        """
        call = self.running[0] if len(self.running) == 1 else None
        if call is None or call.number not in self._unanswered:
            return None
        return call if all(client is call.client for client in self._unanswered.values()) else None


@dataclass(frozen=True, slots=True)
class ServerTerms:
    """The environment of a server, its idle time, and what is called when it changes, starts or ends."""

    environ: Mapping[str, str]
    """The environment of the process that called it first."""
    idle_s: Callable[[], float]
    """After how long without a call it is ended."""
    changed: Callable[[], None]
    """Called when its tools may have changed: it says so, or it ended."""
    witness: Witness | None = None


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
        self.task: asyncio.Task[None] | None = None
        self._spec = spec
        self._terms = terms
        self._notes = ProcessNotes()
        self._session: ClientSession | None = None
        self._closing = anyio.Event()
        self._users = 0
        self._holds = 0
        self._last_used = 0.0
        self._calls = CallsOfServer()
        self._listing = asyncio.Lock()
        self._tools: tuple[ToolDefinition, ...] | None = None
        self._is_listed = False
        """Whether no change was reported since the tools were last asked for."""
        self._check: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        return self.was_opened and not self._closing.is_set()

    async def run(self) -> None:
        """Connect, and stay connected until the server ends, is idle, or is to be ended."""
        try:
            with anyio.fail_after(START_TIMEOUT_S) as limit:
                async with open_connection(
                    self._spec, self._new_session, self._notes, self._terms.environ, self._terms.witness
                ) as session:
                    limit.deadline = math.inf
                    self._session, self._last_used = session, anyio.current_time()
                    self.was_opened = True
                    self.opened.set()
                    await self._until_unused()
        except TimeoutError:
            self.error = f"no answer within {START_TIMEOUT_S:g} s"
        except LoginRequiredError as error:
            self.error, self.needs_login = str(error), True
        except Exception as error:  # noqa: BLE001 - whatever one server does, the others are served
            self.error = error_line(error)
        finally:
            self.error = self.error and self._notes.about(self.error)
            self._closing.set()
            self.opened.set()
            self.ended.set()
            self._terms.changed()

    async def aclose(self) -> None:
        self._closing.set()
        await self.ended.wait()

    async def call(self, call: RunningCall, tool: str, arguments: dict[str, Any] | None) -> dict[str, Any]:
        """Return the result of a tool as it was sent; the errors say what is known about what happened."""
        import mcp_types as types

        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        with self._calls.including(call):
            async with self._used() as session:
                with call.scope:
                    result = await self._calls.send(session, call, types.CallToolRequest(params=params))
                    self.answered = True
                    return result
        self._check_later()
        raise ServerTimeoutError(
            f"The tool {tool} of the server {self._spec.name} did not answer within {call.timeout_s:g} s "
            "and was cancelled.",
            hint=f"Call it with a larger timeout, up to {MAX_TIMEOUT_S:g} s.",
        )

    async def tools(self, deadline: float) -> tuple[ToolDefinition, ...]:
        """Return the tools that the server has now."""
        started = anyio.current_time()
        deadline = min(deadline, started + START_TIMEOUT_S)
        tools: tuple[ToolDefinition, ...] = ()
        with anyio.CancelScope(deadline=deadline):
            async with self._listing, self._used() as session:
                for _ in range(_LISTINGS):
                    if self._tools is not None:
                        break
                    self._is_listed = True
                    tools = await all_tools(session, self._spec.name)
                    self._tools = tools if self._is_listed else None
                    self.answered = True
                return self._tools or tools
        self._check_later()
        raise ServerTimeoutError(
            f"The server {self._spec.name} did not list its tools within {round(deadline - started, 1):g} s.",
            hint="The tool was not called. Try again, or with a larger timeout.",
        )

    async def hold(self) -> None:
        """Keep the connection however long nobody calls, until it ends."""
        self._holds += 1
        try:
            await self.ended.wait()
        finally:
            self._holds -= 1

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
            if error.code == CONNECTION_CLOSED:  # the code may also be the server's own
                with anyio.move_on_after(_PING_PATIENCE_S):
                    await self._closing.wait()
            raise await self._explained(error.error.message) from error
        except ValidationError as error:
            wrong = error.errors()[0]["msg"]
            raise ServerCallError(
                f"The server {self._spec.name} sent an answer that MCP does not allow: {wrong}."
            ) from error
        finally:
            self._users -= 1
            self._last_used = anyio.current_time()

    async def _explained(self, message: str) -> ServerCallError:
        """Return the error for one that the SDK reports: the server's own, or that it ended."""
        name = self._spec.name
        if self.is_open:
            self.answered = True
            return ServerCallError(f"The server {name} answered with an error: {message}")
        with anyio.move_on_after(_END_PATIENCE_S):
            await self.ended.wait()
        return ServerCallError(
            f"The server {name} ended before it answered: {self.error or 'it was stopped'}",
            hint="It is not known whether the tool did its work. The next call starts the server again.",
        )

    async def _until_unused(self) -> None:
        while not self._closing.is_set():
            left = self._last_used + self._terms.idle_s() - anyio.current_time()
            if left <= 0 and not self._users and not self._holds:
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

        note_answer = self._calls.note_answer

        def lost() -> None:
            if self.is_open:
                self.error = "the connection was closed"
                self._closing.set()

        class Dispatcher(JSONRPCDispatcher):
            async def run(self, *handlers: Any, **options: Any) -> None:
                await super().run(*handlers, **options)
                lost()

            async def send_raw_request(
                self, method: str, params: Any, opts: Any = None, **options: Any
            ) -> dict[str, Any]:
                if method == "tools/call":
                    opts = {**(opts or {}), "request_id": _NUMBER.get()}
                return await super().send_raw_request(method, params, opts, **options)

            def _resolve_pending(self, request_id: Any, outcome: Any) -> None:
                """Notice also an answer that nobody waits for any more."""
                note_answer(request_id)
                super()._resolve_pending(request_id, outcome)

        async with (
            transport as (incoming, outgoing),
            ClientSession(
                dispatcher=Dispatcher(incoming, outgoing),
                elicitation_callback=self._calls.elicit,
                sampling_callback=self._calls.sample,
                message_handler=self._hear,
            ) as session,
        ):
            await session.initialize()
            yield session

    async def _hear(self, message: Any) -> None:
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            self._tools, self._is_listed = None, False
            self._terms.changed()


@cache
def _as_sent() -> Any:
    """Return what leaves a result as it is; the SDK has checked it by then."""
    from pydantic import TypeAdapter

    return TypeAdapter(dict[str, Any])
