"""JSON-RPC messages read from bytes, and the protocol's answers to what is not a message."""

from __future__ import annotations

import contextlib
import json

import mcp_types as types
from pydantic import ValidationError

from findspot.text.json_text import readable

_SHAPE = (
    "Invalid request: 'jsonrpc' must be \"2.0\", 'method' a string, 'id' a string or a whole number, and "
    "'params' an object"
)

Read = types.JSONRPCMessage | None
"""A message; None for a blank line, and for what is never answered: broken notifications and responses."""


class NoMessageError(Exception):
    """What was sent is not a message; `answer` says so."""

    def __init__(self, identity: str | int | None, code: int, message: str) -> None:
        super().__init__(message)
        error = types.ErrorData(code=code, message=message)
        self.answer = types.JSONRPCError(jsonrpc="2.0", id=identity, error=error)


def read_message(line: bytes) -> Read:
    """Return the message of one line; raise where it has to be answered with an error."""
    if not line.strip():
        return None
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not isinstance(message, types.JSONRPCNotification):  # which it also is with an unreadable id
            return message
    except ValidationError:
        pass  # looked at more closely below
    try:
        value = json.loads(readable(line))
    except (ValueError, RecursionError) as error:
        said = {RecursionError: "nested too deeply", ValueError: "a number is too long"}
        reason = f"Parse error: {said.get(type(error), error)}"
        raise NoMessageError(None, types.PARSE_ERROR, reason) from None
    if not isinstance(value, dict):
        reason = "Invalid request: not an object; send each message of a batch by itself"
        raise NoMessageError(None, types.INVALID_REQUEST, reason)
    identity = value.get("id")
    is_id = isinstance(identity, str | int) and not isinstance(identity, bool)
    if is_id or "id" not in value or "method" not in value:
        with contextlib.suppress(ValidationError):
            return types.jsonrpc_message_adapter.validate_python(value, by_name=False)
        if "result" in value or "error" in value or "id" not in value:
            return None
    raise NoMessageError(identity if is_id else None, types.INVALID_REQUEST, _SHAPE)
