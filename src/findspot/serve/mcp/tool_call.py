"""A tool call: from the request that names a tool to the answer that is sent back.

A call is answered within its request, as a task that the client asked for (2025-11-25), or as a task from the
moment it takes long (the extension of 2026-07-28). Its work runs in threads, so that the server keeps
listening, and stops when the call does.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import anyio
import mcp_types as types
from anyio import to_thread
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.methods import serialize_server_result
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from findspot.core.errors import CancelledError, FindspotError
from findspot.core.log import get_logger
from findspot.core.progress import CancelToken
from findspot.engine import Engine
from findspot.serve import activity
from findspot.serve.mcp.access import AllowedEngine, Terms
from findspot.serve.mcp.client import Client, InputNeededError, Reporter
from findspot.serve.mcp.sdk import Context, notify
from findspot.serve.mcp.tasks import POLL_INTERVAL_MS, RELATED_TASK, Question, Status, Task, Tasks
from findspot.serve.mcp.tool import (
    Answer,
    AnsweredError,
    TaskSupport,
    Tool,
    broken,
    check_cursor,
    failed,
    wire_result,
)
from findspot.workspace import Asked

TASKS_VERSION = "2025-11-25"
EXTENSION = "io.modelcontextprotocol/tasks"
_CREATED = "findspot/created-task"


class _TaskParams(types.RequestParams):
    task_id: str


class _UpdateParams(_TaskParams):
    input_responses: dict[str, Any]


def is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def declares_extension(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    return is_modern(context) and capabilities is not None and EXTENSION in (capabilities.extensions or {})


def missing_extension() -> MCPError:
    needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
    message = f"This needs the client capability {EXTENSION}."
    return MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, message, needed)


def check_task_support(context: Context, tool: Tool, as_task: bool) -> None:
    """Refuse a call as a task, or without one, if its tool or client does not support that."""
    if as_task and tool.task_support is TaskSupport.FORBIDDEN:
        raise MCPError(types.METHOD_NOT_FOUND, f"{tool.name} cannot be called as a task")
    if tool.task_support is TaskSupport.REQUIRED and not as_task:
        if context.protocol_version == TASKS_VERSION:
            raise MCPError(types.METHOD_NOT_FOUND, f"{tool.name} can only be called as a task")
        if not declares_extension(context):
            raise missing_extension()


def described(task: Task, *, modern: bool = False) -> dict[str, Any]:
    """Return a task as 2025-11-25 describes it, or as the extension does."""
    unit = "Ms" if modern else ""
    about = {
        "taskId": task.id,
        "status": str(task.status),
        "createdAt": task.created.isoformat(),
        "lastUpdatedAt": task.updated.isoformat(),
        f"ttl{unit}": task.ttl_ms,
        f"pollInterval{unit}": POLL_INTERVAL_MS,
    }
    return about | ({"statusMessage": task.message} if task.message else {})


def created(task: Task, context: Context) -> Any:
    """Return the answer to a call that goes on as a task."""
    if is_modern(context):
        return {"resultType": "task", **described(task, modern=True)}
    return types.CallToolResult(content=[], _meta={_CREATED: described(task)})


def shape_result(ctx: Context, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with what the SDK's types have no place for: a created task, or the capability."""
    if ctx.method == "initialize" and result.get("protocolVersion") == TASKS_VERSION:
        offered: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        return result | {"capabilities": result["capabilities"] | {"tasks": offered}}
    if ctx.method == "tools/call" and _CREATED in (result.get("_meta") or {}):
        return {"task": result["_meta"][_CREATED]}
    return result


class TaskMethods:
    """`tasks/*`, by the rules of the version that the client speaks."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    def register(self, server: Server[Any]) -> None:
        server.add_request_handler("tasks/list", types.PaginatedRequestParams, self._list)
        server.add_request_handler("tasks/get", _TaskParams, self._get)
        server.add_request_handler("tasks/result", _TaskParams, self._result)
        server.add_request_handler("tasks/cancel", _TaskParams, self._cancel)
        server.add_request_handler("tasks/update", _UpdateParams, self._update)
        server.extensions[EXTENSION] = {}

    async def _list(self, context: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        _only_in(context, TASKS_VERSION)
        check_cursor(params)
        return {"tasks": [described(task) for task in self._tasks.of(Client(context).connection)]}

    async def _get(self, context: Context, params: _TaskParams) -> dict[str, Any]:
        task = self._find(context, params)
        return _detailed(task) if is_modern(context) else described(task)

    async def _result(self, context: Context, params: _TaskParams) -> dict[str, Any]:
        """Wait for the end, and meanwhile ask the client the task's questions."""
        _only_in(context, TASKS_VERSION)
        task = self._find(context, params)
        while not task.finished:
            waiting = [key for key, question in task.questions.items() if not question.claimed]
            if waiting:
                await _ask(context, task, waiting[0])
            else:
                await task.change()
        related = {RELATED_TASK: {"taskId": task.id}}
        payload = _payload(task)
        return payload | {"_meta": payload.get("_meta", {}) | related}

    async def _cancel(self, context: Context, params: _TaskParams) -> dict[str, Any]:
        task = self._find(context, params)
        if is_modern(context):
            await task.cancel()
            return {}
        if task.finished:
            raise MCPError(types.INVALID_PARAMS, f"Cannot cancel task: already {task.status}")
        await task.cancel()
        return described(task)

    async def _update(self, context: Context, params: _UpdateParams) -> dict[str, Any]:
        _only_in(context, *MODERN_PROTOCOL_VERSIONS)
        task = self._find(context, params)
        for key, answer in params.input_responses.items():
            await task.answer(key, answer)
        return {}

    def _find(self, context: Context, params: _TaskParams) -> Task:
        _only_in(context, TASKS_VERSION, *MODERN_PROTOCOL_VERSIONS)
        if is_modern(context):
            if not declares_extension(context):
                raise missing_extension()
            headers = getattr(context.request, "headers", None)  # over HTTP one names the task, for routing
            if headers is not None and headers.get("mcp-name") != params.task_id:
                raise MCPError(types.HEADER_MISMATCH, "The header Mcp-Name must be the task's id")
        task = self._tasks.find(params.task_id, Client(context).connection)
        if task is None:
            raise MCPError(types.INVALID_PARAMS, "Task not found: it is unknown or has expired")
        return task


def _only_in(context: Context, *versions: str) -> None:
    if context.protocol_version not in versions:
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found", context.method)


async def _ask(context: Context, task: Task, key: str) -> None:
    """Ask one question of a task within the request that waits for its result."""
    question: Question = task.questions[key]
    question.claimed = True
    assert question.request.params is not None
    params = question.request.params.model_copy(update={"meta": {RELATED_TASK: {"taskId": task.id}}})
    is_sampling = isinstance(question.request, types.CreateMessageRequest)
    try:
        answer: Any = await context.session.send_request(
            question.request.model_copy(update={"params": params}),
            types.CreateMessageResult if is_sampling else types.ElicitResult,
            metadata=ServerMessageMetadata(related_request_id=context.request_id),
        )
        reply = _plain(answer)
    except MCPError:
        reply = {"action": "cancel"}  # also where a model was asked: it is an answer without a text
    finally:
        question.claimed = False
    await task.answer(key, reply)


def _payload(task: Task) -> dict[str, Any]:
    if task.status is Status.CANCELLED:
        return _dumped(wire_result(failed(CancelledError()), TASKS_VERSION), TASKS_VERSION)
    if task.error is not None:
        raise _protocol_error(task.error)
    return _dumped(task.result, TASKS_VERSION)


def _detailed(task: Task) -> dict[str, Any]:
    """Return the answer to a poll of the extension: the task, and what belongs to its status."""
    about = described(task, modern=True)
    if task.status is Status.INPUT_REQUIRED:
        return about | {
            "inputRequests": {key: _plain(asked.request) for key, asked in task.questions.items()}
        }
    if task.status is Status.COMPLETED:
        return about | {"result": _dumped(task.result, LATEST_MODERN_VERSION)}
    if task.status is Status.FAILED and task.error is not None:
        return about | {"error": _plain(_protocol_error(task.error).error)}
    return about


def _protocol_error(error: Exception) -> MCPError:
    return error if isinstance(error, MCPError) else MCPError(types.INTERNAL_ERROR, "Internal error")


def _plain(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def _dumped(result: dict[str, Any], version: str) -> dict[str, Any]:
    return serialize_server_result("tools/call", version, result)


T = TypeVar("T")

_log = get_logger("mcp")

QUICK_THREADS = 3
"""Searches at once. More take the interpreter from each other and from the loop that answers: asked more
than it can answer, a server with eight spends a quarter more on each question, and all wait the longer."""
_LONG_THREADS = 8
"""Apart, so that neither indexing several projects nor waiting for a model keeps a search waiting."""


@dataclass(eq=False, slots=True)
class Call:
    """What a tool needs to do its work: the engine, the client, and threads."""

    engine: Engine
    client: Client
    read_only: bool
    _quick: anyio.CapacityLimiter
    _long: anyio.CapacityLimiter
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
        return await to_thread.run_sync(lambda: work(self._allowed()), limiter=self._quick)

    async def patient(self, work: Callable[[Engine], T]) -> T:
        """Run what may have to wait for a language model; no search waits with it."""
        return await to_thread.run_sync(lambda: work(self._allowed()), limiter=self._long)

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
                result = await to_thread.run_sync(work, reporter, token, limiter=self._long)
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

    def _allowed(self) -> Engine:
        """Return the engine, or as much of it as the client's token is for."""
        grant = self.client.grant
        if grant is None or grant.everything:
            return self.engine
        return cast("Engine", AllowedEngine(self.engine, grant))


class ToolCalls:
    """Answers calls of tools, each in the way its client asks for."""

    def __init__(self, engine: Engine, tasks: Tasks, terms: Terms, ending: threading.Event) -> None:
        self._engine = engine
        self._ending = ending
        self._terms = terms
        self._tasks = tasks
        self._quick = anyio.CapacityLimiter(QUICK_THREADS)
        self._long = anyio.CapacityLimiter(_LONG_THREADS)

    async def answer(self, context: Context, tool: Tool, params: types.CallToolRequestParams) -> Any:
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
        return Call(self._engine, client, read_only, self._quick, self._long, self._tasks, self._ending)

    def _forget(self, connection: str) -> None:
        self._tasks.forget(connection)
        self._engine.end_servers_of(connection)

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
        arguments = tool.read(given, call.warnings)
        call.confirmed = bool(arguments.get("confirm"))
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
            failed=answer.is_error,
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
