"""How a tool is called: within its request, as a task, or as a task from the moment it takes long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from findspot.core.errors import FindspotError
from findspot.core.log import get_logger
from findspot.serve.mcp import taskwire
from findspot.serve.mcp.access import OPEN, Terms
from findspot.serve.mcp.call import Call, Library
from findspot.serve.mcp.client import Client, InputNeededError
from findspot.serve.mcp.content import wire_result
from findspot.serve.mcp.failures import AnsweredError, broken, failed, failed_unchanging
from findspot.serve.mcp.registry import Answer, TaskSupport, Tool
from findspot.serve.mcp.tasks import Status, Task, Tasks, TooManyTasksError
from findspot.serve.mcp.work import Threads

_log = get_logger("mcp")

Context = ServerRequestContext[Any, Any]


class Calls:
    """Answers calls of tools, each in the way its client asks for."""

    def __init__(self, library: Library, tasks: Tasks, terms: Terms = OPEN) -> None:
        self._library = library
        self._terms = terms
        self._tasks = tasks
        self._threads = Threads()

    async def answer(self, context: Context, tool: Tool, params: types.CallToolRequestParams) -> Any:
        client = Client(context, params.input_responses, params.request_state)
        given = params.arguments or {}
        asked = params.task is not None and context.protocol_version == taskwire.TASKS_VERSION
        _check_support(context, tool, asked)
        if asked:
            return await self._at_once(context, tool, client, given, params.task)
        if tool.task_support is not TaskSupport.FORBIDDEN and taskwire.declares_extension(context):
            return await self._once_long(context, tool, client, given)
        try:
            return wire_result(await answered(tool, self.call(client), given), client.version)
        except InputNeededError as needed:
            return needed.result

    def call(self, client: Client) -> Call:
        if self._terms.guarded and client.grant is None:
            raise MCPError(types.INVALID_REQUEST, "A valid bearer token is required")
        return Call(self._library, self._threads, client, self._keep, read_only=self._terms.read_only)

    def _keep(self, task: Task) -> None:
        try:
            self._tasks.keep(task)
        except TooManyTasksError:
            message = "Too many tasks of this client are waiting: fetch their results, or cancel them."
            raise MCPError(types.INTERNAL_ERROR, message) from None

    async def _at_once(
        self,
        context: Context,
        tool: Tool,
        client: Client,
        given: dict[str, Any],
        asked: types.TaskMetadata | None,
    ) -> Any:
        """2025-11-25: the client asked for a task, and has it before anything is done."""
        await client.roots()  # while the request is there to ask over
        ttl_ms = asked.ttl if asked else None
        if ttl_ms is not None and ttl_ms <= 0:
            raise MCPError(types.INVALID_PARAMS, "'ttl' must be a positive number of milliseconds")

        async def tell(task: Task) -> None:
            await client.notify("notifications/tasks/status", taskwire.flat(task))

        task = client.task = Task(taskwire.owner_of(context, self._tasks), ttl_ms, tell)
        self._keep(task)
        self._tasks.start(task, lambda: self._work(task, tool, client, given, errors_fail=True))
        return taskwire.created(task, context)

    async def _once_long(self, context: Context, tool: Tool, client: Client, given: dict[str, Any]) -> Any:
        """Return the extension: the server decides, and does so where the long part begins."""

        async def tell(_task: Task) -> None:
            """Clients of the extension poll."""

        task = client.task = Task(taskwire.owner_of(context, self._tasks), None, tell)
        self._tasks.start(task, lambda: self._work(task, tool, client, given, errors_fail=False))
        try:
            while not (task.kept or task.finished):
                await task.change()
        except anyio.get_cancelled_exc_class():
            task.scope.cancel()
            raise
        if task.kept:
            return taskwire.created(task, context)
        if isinstance(task.error, InputNeededError):
            return task.error.result
        if task.error is not None:
            raise task.error
        return task.result

    async def _work(
        self, task: Task, tool: Tool, client: Client, given: dict[str, Any], *, errors_fail: bool
    ) -> None:
        """The call itself; how it ended is the task's outcome."""
        try:
            answer = await answered(tool, self.call(client), given)
        except (MCPError, InputNeededError) as error:
            await task.end(Status.FAILED, str(error), error=error)
            return
        if task.scope.cancel_called:  # the work may have been stopped in a thread, and say so as an error
            await task.end(Status.CANCELLED, "Cancelled")
            return
        status = Status.FAILED if answer.is_error and errors_fail else Status.COMPLETED
        message = answer.shown if answer.is_error else "Finished"
        await task.end(status, message, result=wire_result(answer, client.version))


def _check_support(context: Context, tool: Tool, asked: bool) -> None:
    if asked and tool.task_support is TaskSupport.FORBIDDEN:
        raise MCPError(types.METHOD_NOT_FOUND, f"{tool.name} cannot be called as a task")
    if tool.task_support is TaskSupport.REQUIRED and not asked:
        if context.protocol_version == taskwire.TASKS_VERSION:
            raise MCPError(types.METHOD_NOT_FOUND, f"{tool.name} can only be called as a task")
        if not taskwire.declares_extension(context):
            raise taskwire.missing_extension()


async def answered(tool: Tool, call: Call, given: dict[str, Any]) -> Answer:
    """Return a tool's answer, whatever happens."""
    return _warned(await _outcome(tool, call, given), call.warnings)


def _warned(answer: Answer, warnings: list[str]) -> Answer:
    """Return the answer with what the call has to say beside it; the values of an error stay as they are."""
    if not warnings:
        return answer
    said = " ".join(dict.fromkeys(warnings))
    if answer.text is not None:
        answer = replace(answer, hint=" ".join(filter(None, (answer.hint, said))))
    if answer.is_error:
        return answer
    whole = " ".join(filter(None, (answer.values.get("warning"), said)))
    return replace(answer, values=answer.values | {"warning": whole})


async def _outcome(tool: Tool, call: Call, given: dict[str, Any]) -> Answer:
    try:
        return await tool.handler(call, tool.read(given))
    except AnsweredError as early:
        return early.answer
    except FindspotError as error:
        answer = (tool.failure or failed)(error)
        return failed_unchanging(error, answer) if call.read_only else answer
    except (MCPError, InputNeededError):
        raise
    except Exception as error:  # noqa: BLE001 - one call's trouble must not end the server
        _log.exception("%s failed unexpectedly", tool.name)
        return broken(error)
