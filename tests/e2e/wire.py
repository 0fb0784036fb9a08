"""Every message on a wire, in both directions, checked against the official schema of its version.

The models are those that the SDK generates from the official `schema.json` of each version, named in
its `mcp_types` package with the file's checksum; tasks of 2025-11-25 are looked up there by name,
since the SDK itself has no use for them.
"""

from __future__ import annotations

from typing import Any

from mcp_types import _v2025_11_25 as v2025
from mcp_types import methods
from pydantic import BaseModel, TypeAdapter

TASKS_VERSION = "2025-11-25"

_TASK_REQUESTS: dict[str, type[BaseModel]] = {
    "tasks/list": v2025.ListTasksRequest,
    "tasks/get": v2025.GetTaskRequest,
    "tasks/result": v2025.GetTaskPayloadRequest,
    "tasks/cancel": v2025.CancelTaskRequest,
}
_TASK_RESULTS: dict[str, type[BaseModel]] = {
    "tasks/list": v2025.ListTasksResult,
    "tasks/get": v2025.GetTaskResult,
    "tasks/result": v2025.CallToolResult,
    "tasks/cancel": v2025.CancelTaskResult,
}


class Wire:
    """Both ends of one connection."""

    def __init__(self) -> None:
        self.version = TASKS_VERSION
        self._asked: dict[Any, tuple[dict[str, Any], str]] = {}
        self._asked_back: dict[Any, str] = {}
        self.checked = 0

    def sent(self, message: dict[str, Any]) -> None:
        """What a client sends; a request is checked once it was answered with a result."""
        params = message.get("params")
        if "method" in message and "id" in message:
            envelope = params.get("_meta") if isinstance(params, dict) else None
            named = envelope if isinstance(envelope, dict) else {}
            version = named.get("io.modelcontextprotocol/protocolVersion", self.version)
            self._asked[message["id"]] = (message, version)
        elif "method" in message:
            model = methods.CLIENT_NOTIFICATIONS.get((message["method"], self.version))
            self._check(model, message)
        elif "result" in message and (method := self._asked_back.pop(message["id"], None)):
            self._check(methods.CLIENT_RESULTS.get((method, self.version)), message["result"])

    def received(self, message: dict[str, Any]) -> None:
        """What the server sends: always to be right."""
        self._check(v2025.JSONRPCMessage, message)
        if "method" in message:
            self._received_call(message)
        elif "result" in message:
            self._received_result(message["id"], message["result"])

    def _received_call(self, message: dict[str, Any]) -> None:
        method = message["method"]
        if "id" in message:
            self._asked_back[message["id"]] = method
            self._check(methods.SERVER_REQUESTS[method, self.version], message)
        elif method == "notifications/tasks/status":
            self._check(v2025.TaskStatusNotification, message)
        else:
            self._check(methods.SERVER_NOTIFICATIONS[method, self.version], message)

    def _received_result(self, identity: Any, result: dict[str, Any]) -> None:
        if identity not in self._asked:  # a line that a test wrote by hand
            return
        request, version = self._asked[identity]
        method = request["method"]
        requests = _TASK_REQUESTS if version == TASKS_VERSION else {}
        self._check(requests.get(method) or methods.CLIENT_REQUESTS.get((method, version)), request)
        if method == "initialize":
            self.version = result["protocolVersion"]
        if version == TASKS_VERSION and method in _TASK_RESULTS:
            self._check(_TASK_RESULTS[method], result)
        elif version == TASKS_VERSION and "task" in result:
            self._check(v2025.CreateTaskResult, result)
        elif result.get("resultType") != "task":  # a shape of the extension, which has no official schema yet
            self._check(methods.SERVER_RESULTS.get((method, version)), result)

    def _check(self, model: Any, value: Any) -> None:
        if model is not None:
            TypeAdapter(model).validate_python(value, by_name=False)
            self.checked += 1
