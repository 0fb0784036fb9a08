"""JSON-RPC messages read from bytes, and the protocol's answers to what is not a message."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from pydantic import ValidationError

from findspot.text.json_text import readable

BATCH_VERSION = "2025-03-26"
"""The one version of the protocol that has batches."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What one line holds: messages to handle, and answers to parts that are not messages."""

    messages: tuple[types.JSONRPCMessage, ...] = ()
    errors: tuple[types.JSONRPCError, ...] = ()
    is_batch: bool = False


def read_frame(line: bytes, *, batches: bool) -> Frame:
    """Read one line; `batches` says whether the connection's version has them."""
    if not line.strip():
        return Frame()
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not isinstance(message, types.JSONRPCNotification):  # which it also is with an unreadable id
            return Frame((message,))
    except ValidationError:
        pass  # looked at more closely below
    try:
        value = json.loads(readable(line))
    except (ValueError, RecursionError) as error:
        said = {RecursionError: "nested too deeply", ValueError: "a number is too long"}
        return _refused(None, types.PARSE_ERROR, f"Parse error: {said.get(type(error), error)}")
    return _read_batch(value, batches=batches) if isinstance(value, list) else _read_single(value)


def _read_single(value: Any) -> Frame:
    """Return the message that a value is, or the answer to one that is not.

    Notifications and responses are never answered.
    """
    if not isinstance(value, dict):
        return _refused(None, types.INVALID_REQUEST, "Invalid request: not an object")
    identity = _readable_id(value)
    if "method" in value and "id" in value and identity is None:
        message = "Invalid request: 'id' must be a string or a whole number"
        return _refused(None, types.INVALID_REQUEST, message)
    with contextlib.suppress(ValidationError):
        return Frame((types.jsonrpc_message_adapter.validate_python(value, by_name=False),))
    if "method" not in value and ("result" in value or "error" in value):
        return Frame()
    if value.get("jsonrpc") != "2.0":
        return _refused(identity, types.INVALID_REQUEST, "Invalid request: 'jsonrpc' must be \"2.0\"")
    if not isinstance(value.get("method"), str):
        return _refused(identity, types.INVALID_REQUEST, "Invalid request: 'method' must be a string")
    if identity is None:
        return Frame()
    return _refused(identity, types.INVALID_PARAMS, "Invalid params: 'params' must be an object")


def _refused(identity: str | int | None, code: int, message: str) -> Frame:
    return Frame(errors=(_error(identity, code, message),))


def _read_batch(values: list[Any], *, batches: bool) -> Frame:
    if not values:
        return _refused(None, types.INVALID_REQUEST, "Invalid request: an empty batch")
    if not batches:
        return Frame(errors=_refused_batch(values))
    frames = [_read_single(value) for value in values]
    return Frame(
        tuple(message for frame in frames for message in frame.messages),
        tuple(error for frame in frames for error in frame.errors),
        is_batch=True,
    )


def _refused_batch(values: list[Any]) -> tuple[types.JSONRPCError, ...]:
    """Answer every request of the batch, so that no caller waits, and every member that is not an object.

    A batch without any of these is answered itself.
    """
    asked = [value for value in values if isinstance(value, dict) and "method" in value and "id" in value]
    ids = {_readable_id(value) for value in asked} - {None}
    message = f"Invalid request: only protocol version {BATCH_VERSION} has batches"
    others = [None] * sum(not isinstance(value, dict) for value in values)
    return tuple(_error(identity, types.INVALID_REQUEST, message) for identity in [*ids, *others] or [None])


def _readable_id(value: dict[str, Any]) -> str | int | None:
    identity = value.get("id")
    return identity if isinstance(identity, str | int) and not isinstance(identity, bool) else None


def _error(identity: str | int | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=identity, error=types.ErrorData(code=code, message=message))
