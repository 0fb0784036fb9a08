"""A tool call: from the request that names a tool to the answer that is sent back.

A call is answered within its request, as a task that the client asked for, or as a task from the moment it
takes long. Its work runs in threads, so that the server keeps listening, and stops when the call does.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
import mcp_types as types
from anyio import to_thread
from mcp.shared.exceptions import MCPError

from findspot.core.errors import FindspotError
from findspot.core.log import get_logger
from findspot.core.progress import CancelToken
from findspot.engine import Engine
from findspot.serve import activity
from findspot.serve.library import Library
from findspot.serve.mcp.access import AllowedEngine, Terms
from findspot.serve.mcp.client import Client, InputNeededError, Reporter
from findspot.serve.mcp.sdk import Context, notify
from findspot.serve.mcp.task_methods import (
    TASKS_VERSION,
    check_task_support,
    created,
    declares_extension,
    described,
)
from findspot.serve.mcp.tasks import Status, Task, Tasks
from findspot.serve.mcp.tool import Answer, TaskSupport, Tool
from findspot.serve.mcp.tool_results import AnsweredError, broken, failed, wire_result

if TYPE_CHECKING:
    from findspot.workspace import Asked

T = TypeVar("T")

_log = get_logger("mcp")

QUICK_THREADS = 3
"""Searches at once. More take the interpreter from each other and from the loop that answers: asked more
than it can answer, a server with eight spends a quarter more on each question, and all wait the longer."""
_LONG_THREADS = 8
"""Apart, so that neither indexing several projects nor waiting for a model keeps a search waiting."""


class Threads:
    def __init__(self) -> None:
        self.quick = anyio.CapacityLimiter(QUICK_THREADS)
        self.long = anyio.CapacityLimiter(_LONG_THREADS)


@dataclass(eq=False, slots=True)
class Call:
    """What a tool needs to do its work: the library, the client, and threads."""

    library: Library
    client: Client
    read_only: bool
    """Whether the call may change nothing."""
    _threads: Threads
    _tasks: Tasks
    _ending: threading.Event
    confirmed: bool = False
    """Whether the user agreed to the question of an earlier call, as its second one says."""
    warnings: list[str] = field(default_factory=list)
    """What the answer has to say in addition to what its tool says."""
    project: Asked | None = None
    """The project or workspace that the call turned out to be about."""

    async def quick(self, work: Callable[[Engine], T]) -> T:
        """Run what is over soon."""
        return await to_thread.run_sync(lambda: work(self._engine()), limiter=self._threads.quick)

    async def patient(self, work: Callable[[Engine], T]) -> T:
        """Run what may have to wait for a language model; no search waits with it."""
        return await to_thread.run_sync(lambda: work(self._engine()), limiter=self._threads.long)

    async def long(self, work: Callable[[Reporter, CancelToken], T], *, reports: bool = True) -> T:
        """Run what takes long, with progress for the client; when the call is cancelled it is asked to stop.

        Work that stops because the server ends is still wanted, unless the client cancelled it first. Work
        that tells the client of each of its few steps itself needs no `reports`.
        """
        self.go_on_as_task()
        token, reporter = CancelToken(), Reporter(self.client)
        failure: Exception | None = None
        async with anyio.create_task_group() as watch:
            watch.start_soon(self._stop_with_call, token)
            if reports and self.client.wants_progress:
                watch.start_soon(reporter.keep_reporting)
            try:
                result = await to_thread.run_sync(work, reporter, token, limiter=self._threads.long)
            except Exception as error:  # noqa: BLE001 - raised again outside the group, which would wrap it
                failure = error
            watch.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if reports:
            await reporter.report()
        return result

    def go_on_as_task(self) -> None:
        """Let the call go on as a task, if its client supports that, so that it need not wait."""
        task = self.client.task
        if task is not None and not task.kept:
            self._tasks.keep(task)

    async def _stop_with_call(self, token: CancelToken) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            if self._ending.is_set() and not self.client.cancelled:
                token.interrupt()
            else:
                token.cancel()

    def _engine(self) -> Engine:
        """Return the engine, or as much of it as the client's token is for."""
        engine, grant = self.library.open(), self.client.grant
        if grant is None or grant.everything:
            return engine
        return cast("Engine", AllowedEngine(engine, grant))


class ToolCalls:
    """Answers calls of tools, each in the way its client asks for."""

    def __init__(self, library: Library, tasks: Tasks, terms: Terms, ending: threading.Event) -> None:
        self._library = library
        self._ending = ending
        self._terms = terms
        self._tasks = tasks
        self._threads = Threads()

    async def answer(self, context: Context, tool: Tool, params: types.CallToolRequestParams) -> Any:
        """Return the result of a call, or the task or question that it becomes."""
        client = Client(context, params.input_responses, params.request_state)
        as_task = params.task is not None and context.protocol_version == TASKS_VERSION
        check_task_support(context, tool, as_task)
        try:
            if as_task or (tool.task_support is not TaskSupport.FORBIDDEN and declares_extension(context)):
                return await self._answer_or_task(context, tool, client, params, at_once=as_task)
            answer = await answer_of(tool, self.new_call(client), params.arguments or {})
            return wire_result(answer, client.version)
        except InputNeededError as needed:
            return needed.result

    def new_call(self, client: Client) -> Call:
        """Return a call of this client; refused where a token is required and there is none."""
        if self._terms.guarded and client.grant is None:
            raise MCPError(types.INVALID_REQUEST, "A valid bearer token is required")
        connection = client.connection
        client.when_gone(lambda: self._forget(connection))
        read_only = self._terms.read_only
        return Call(self._library, client, read_only, self._threads, self._tasks, self._ending)

    def _forget(self, connection: str) -> None:
        self._tasks.forget(connection)
        self._library.leave(connection)

    async def _answer_or_task(
        self,
        context: Context,
        tool: Tool,
        client: Client,
        params: types.CallToolRequestParams,
        *,
        at_once: bool,
    ) -> Any:
        """Answer with a task: in 2025-11-25 at once, with the extension once the long part begins."""
        ttl_ms = params.task.ttl if params.task and at_once else None
        if ttl_ms is not None and ttl_ms <= 0:
            raise MCPError(types.INVALID_PARAMS, "'ttl' must be a positive number of milliseconds")

        async def notify_client(task: Task) -> None:
            if at_once:
                await notify(context.session, "notifications/tasks/status", described(task))

        task = client.task = Task(client.connection, ttl_ms, notify_client)
        if at_once:
            await client.folders()  # while the request is there to ask over
            self._tasks.keep(task)
        given = params.arguments or {}
        self._tasks.start(task, lambda: self._run(task, tool, client, given, errors_fail=at_once))
        try:
            while not (task.kept or task.finished):
                await task.change()
        except anyio.get_cancelled_exc_class():
            task.scope.cancel()
            raise
        if task.kept:
            return created(task, context)
        if task.error is not None:
            raise task.error
        return task.result

    async def _run(
        self, task: Task, tool: Tool, client: Client, given: dict[str, Any], *, errors_fail: bool
    ) -> None:
        """Run the call; how it ended is the task's outcome."""
        try:
            answer = await answer_of(tool, self.new_call(client), given)
        except (MCPError, InputNeededError) as error:
            await task.end(Status.FAILED, str(error), error=error)
            return
        if task.scope.cancel_called:  # the work may have been stopped in a thread, and say so as an error
            await task.end(Status.CANCELLED, "Cancelled")
            return
        status = Status.FAILED if answer.is_error and errors_fail else Status.COMPLETED
        message = answer.shown if answer.is_error else "Finished"
        await task.end(status, message, result=wire_result(answer, client.version))


async def answer_of(tool: Tool, call: Call, given: dict[str, Any]) -> Answer:
    """Return a tool's answer; its errors, expected or not, are answers too."""
    started = time.perf_counter()
    try:
        arguments = tool.read(given)
        call.confirmed = bool(arguments["confirm"])
        answer = await tool.handler(call, arguments)
    except AnsweredError as early:
        answer = early.answer
    except FindspotError as error:
        answer = tool.failure(error) or failed(error, read_only=call.read_only)
    except (MCPError, InputNeededError):
        raise
    except Exception as error:  # noqa: BLE001 - one call's trouble must not end the server
        _log.exception("%s failed unexpectedly", tool.name)
        answer = broken(error)
    answer = _with_warnings(answer, call.warnings)
    _record(tool, call, given, answer, (time.perf_counter() - started) * 1000)
    return answer


def _record(tool: Tool, call: Call, given: dict[str, Any], answer: Answer, duration_ms: float) -> None:
    """Note a call once it has been answered; not one with a token that names projects: it is somebody
    else's.
    """
    grant, name = call.client.grant, call.client.name or activity.UNNAMED
    if grant is not None and not grant.everything:
        return

    def note() -> None:
        project = call.project
        if project is not None and not project.settings.log.activity:
            return
        shown = answer.shown if answer.passed_on is None else json.dumps(answer.passed_on)
        root = project.root if project else None
        activity.note_call(
            name,
            root,
            tool.name,
            given,
            answer.values,
            tokens=len(shown) // activity.CHARS_PER_TOKEN,
            duration_ms=duration_ms,
        )

    activity.later(note)


def _with_warnings(answer: Answer, warnings: list[str]) -> Answer:
    """Return the answer with the warnings of its call; the values of an error stay as they are."""
    if not warnings:
        return answer
    text = " ".join(dict.fromkeys(warnings))
    if answer.text is not None or answer.passed_on is not None:
        answer = replace(answer, hint=" ".join(filter(None, (answer.hint, text))))
    if answer.is_error:
        return answer
    whole = " ".join(filter(None, (answer.values.get("warning"), text)))
    return replace(answer, values=answer.values | {"warning": whole})
