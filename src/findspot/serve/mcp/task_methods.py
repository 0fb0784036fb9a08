"""Tasks on the wire: the methods of 2025-11-25, and the extension that 2026-07-28 has instead."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.methods import serialize_server_result
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from findspot.core.errors import CancelledError
from findspot.serve.mcp.client import Client
from findspot.serve.mcp.sdk import Context
from findspot.serve.mcp.tasks import POLL_INTERVAL_MS, RELATED_TASK, Question, Status, Task, Tasks
from findspot.serve.mcp.tool import TaskSupport, Tool
from findspot.serve.mcp.tool_results import check_cursor, failed, wire_result

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
