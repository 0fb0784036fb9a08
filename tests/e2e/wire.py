"""Every message on a wire, in both directions, checked against the official schema of its version.

The schemas are in `tests/fixtures/schemas`. There is none of 2024-11-05: its messages are checked against
the models that the SDK has for that version.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from pathlib import Path
from typing import Any, Self

from jsonschema import Draft7Validator, Draft202012Validator, ValidationError
from jsonschema.protocols import Validator
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, methods
from pydantic import BaseModel, TypeAdapter

SCHEMAS = Path(__file__).parents[1] / "fixtures" / "schemas"
VERSIONS = tuple(sorted(path.stem for path in SCHEMAS.glob("*.json")))
TASKS_VERSION = "2025-11-25"
WITHOUT_SCHEMA = "2024-11-05"
_NAMED_VERSION = "io.modelcontextprotocol/protocolVersion"


class Schema:
    """The official schema of one version; a definition is compiled when it is first asked for."""

    def __init__(self, version: str) -> None:
        self._document = json.loads((SCHEMAS / f"{version}.json").read_text())
        self._key = "$defs" if "$defs" in self._document else "definitions"
        self.definitions: dict[str, Any] = self._document[self._key]
        named = ((name, made.get("properties", {})) for name, made in self.definitions.items())
        consts = ((name, properties.get("method", {}).get("const")) for name, properties in named)
        self._of_method = {method: name for name, method in consts if method}
        self._compiled: dict[str, Validator] = {}

    def check(self, definition: str, value: Any) -> None:
        if definition not in self._compiled:
            kind = Draft202012Validator if self._key == "$defs" else Draft7Validator
            self._compiled[definition] = kind(self._document | {"$ref": f"#/{self._key}/{definition}"})
        self._compiled[definition].validate(value)

    def check_call(self, message: dict[str, Any]) -> None:
        """A request or notification; one that the version does not know is only JSON-RPC."""
        plain = "JSONRPCRequest" if "id" in message else "JSONRPCNotification"
        self.check(self._of_method.get(message["method"], plain), message)
        self.check(plain, message)

    def check_result(self, method: str, message: dict[str, Any]) -> None:
        """The answer to a request: as a message, and in the shape that belongs to its method."""
        plain = "JSONRPCResultResponse"
        self.check(plain if plain in self.definitions else "JSONRPCResponse", message)
        asked = self._of_method.get(method)
        result = message["result"]
        if asked is None or result.get("resultType") == "task":
            return  # a shape of the tasks extension, which has no official schema yet
        answered = asked.replace("Request", "ResultResponse")
        if answered in self.definitions:
            self.check(answered, message)
        else:
            self.check(self._result_name(asked, result), result)

    def check_error(self, message: dict[str, Any]) -> None:
        if message["id"] is None:  # JSON-RPC's answer to what has no readable id; MCP's schemas lack it
            message = message | {"id": 0}
        plain = "JSONRPCErrorResponse"
        self.check(plain if plain in self.definitions else "JSONRPCError", message)

    def _result_name(self, asked: str, result: dict[str, Any]) -> str:
        if asked == "CallToolRequest" and "task" in result:
            return "CreateTaskResult"
        if asked == "GetTaskPayloadRequest":  # "matches the result type of the original request"
            return "CallToolResult"
        name = asked.replace("Request", "Result")
        return name if name in self.definitions else "EmptyResult"


class SdkModels:
    """The same for the version without a schema, by the SDK's models."""

    def check_call(self, message: dict[str, Any]) -> None:
        key = message["method"], WITHOUT_SCHEMA
        known = (methods.CLIENT_REQUESTS, methods.SERVER_REQUESTS)
        if "id" not in message:
            known = (methods.CLIENT_NOTIFICATIONS, methods.SERVER_NOTIFICATIONS)
        _check_model(next((table[key] for table in known if key in table), None), message)

    def check_result(self, method: str, message: dict[str, Any]) -> None:
        key = method, WITHOUT_SCHEMA
        _check_model(methods.SERVER_RESULTS.get(key) or methods.CLIENT_RESULTS.get(key), message["result"])

    def check_error(self, message: dict[str, Any]) -> None:
        assert isinstance(message["error"]["code"], int)
        assert isinstance(message["error"]["message"], str)


def _check_model(model: type[BaseModel] | Any, value: Any) -> None:
    if model is not None:
        TypeAdapter(model).validate_python(value, by_name=False)


@cache
def schema_of(version: str) -> Schema | SdkModels:
    return SdkModels() if version == WITHOUT_SCHEMA else Schema(version)


class Wire:
    """Both ends of one connection."""

    def __init__(self) -> None:
        self.version = TASKS_VERSION
        self._asked: dict[Any, tuple[dict[str, Any], str]] = {}
        self._asked_back: dict[Any, str] = {}

    def sent(self, message: dict[str, Any]) -> None:
        """What a client sends; a request is checked once it was answered with a result."""
        if "method" in message and "id" in message:
            params = message.get("params")
            envelope = params.get("_meta") if isinstance(params, dict) else None
            named = envelope.get(_NAMED_VERSION) if isinstance(envelope, dict) else None
            if named in VERSIONS:  # such a connection has no other
                self.version = named
            self._asked[message["id"]] = (message, self.version)
        elif "method" in message:
            schema_of(self.version).check_call(message)
        elif "result" in message and (method := self._asked_back.pop(message["id"], None)):
            schema_of(self.version).check_result(method, message)

    def received(self, message: dict[str, Any]) -> None:
        """What the server sends: always to be right."""
        schema = schema_of(self.version)
        if "method" in message:
            if "id" in message:
                self._asked_back[message["id"]] = message["method"]
            schema.check_call(message)
        elif "error" in message:
            schema.check_error(message)
        elif message["id"] in self._asked:  # else a test wrote the line by hand
            request, version = self._asked[message["id"]]
            if request["method"] == "initialize":
                version = self.version = message["result"]["protocolVersion"]
            schema_of(version).check_call(request)
            schema_of(version).check_result(request["method"], message)


class Watched:
    """A transport of the SDK's client whose messages are checked as they pass."""

    def __init__(self, transport: AbstractAsyncContextManager[Any]) -> None:
        self._transport = transport
        self._wire = Wire()
        self.wrong: list[str] = []
        """Told at the end: an error on the way would only leave the client waiting."""

    async def __aenter__(self) -> tuple[Any, Any]:
        incoming, outgoing = await self._transport.__aenter__()
        return _Tapped(incoming, self._received), _Tapped(outgoing, self._sent)

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._transport.__aexit__(*error)

    def _received(self, message: JSONRPCMessage) -> None:
        self._check(self._wire.received, message)

    def _sent(self, message: JSONRPCMessage) -> None:
        self._check(self._wire.sent, message)

    def _check(self, check: Callable[[dict[str, Any]], None], message: JSONRPCMessage) -> None:
        try:
            check(message.model_dump(by_alias=True, mode="json", exclude_unset=True))
        except (ValidationError, ValueError) as error:
            self.wrong.append(str(error))


class _Tapped:
    """One direction; everything but the messages is the stream's own."""

    def __init__(self, stream: Any, check: Callable[[JSONRPCMessage], None]) -> None:
        self._stream = stream
        self._check = check

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._seen(await self._stream.__anext__())

    async def receive(self) -> Any:
        return self._seen(await self._stream.receive())

    async def send(self, item: SessionMessage) -> None:
        await self._stream.send(self._seen(item))

    def _seen(self, item: Any) -> Any:
        if isinstance(item, SessionMessage):
            self._check(item.message)
        return item
