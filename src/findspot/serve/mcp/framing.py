"""JSON-RPC messages read from bytes, and the protocol's answers to what is not a message."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
from pydantic import ValidationError

from findspot.text.json_text import readable


class NotAMessageError(Exception):
    """What is not a message; carries the answer to it."""

    def __init__(self, identity: str | int | None, code: int, message: str) -> None:
        super().__init__(message)
        error = types.ErrorData(code=code, message=message)
        self.answer = types.JSONRPCError(jsonrpc="2.0", id=identity, error=error)


def read_message(line: bytes) -> types.JSONRPCMessage | None:
    """Return the message of a line; None for what the protocol leaves unanswered."""
    if not line.strip():
        return None
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not isinstance(message, types.JSONRPCNotification):  # which it also is with an unreadable id
            return message
    except ValidationError:
        pass  # looked at more closely below
    return _message(_parsed(line))


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(readable(line))
    except json.JSONDecodeError as error:
        reason = str(error)
    except RecursionError:
        reason = "nested too deeply"
    except ValueError:
        reason = "a number is too long"
    raise NotAMessageError(None, types.PARSE_ERROR, f"Parse error: {reason}")


def _message(value: Any) -> types.JSONRPCMessage | None:
    if isinstance(value, list):
        raise _invalid(None, "send each message of a batch by itself")
    if not isinstance(value, dict):
        raise _invalid(None, "not an object")
    identity = value.get("id")
    if not isinstance(identity, str | int) or isinstance(identity, bool):
        identity = None
    if "method" in value and "id" in value and identity is None:
        raise _invalid(None, "'id' must be a string or a whole number")
    try:
        return types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        _refuse(value, identity)
    return None


def _refuse(value: dict[str, Any], identity: str | int | None) -> None:
    """Raise the answer to an object that is not a message; notifications and responses are never answered."""
    if "method" not in value and ("result" in value or "error" in value):
        return
    if value.get("jsonrpc") != "2.0":
        raise _invalid(identity, "'jsonrpc' must be \"2.0\"")
    if not isinstance(value.get("method"), str):
        raise _invalid(identity, "'method' must be a string")
    if identity is not None:
        raise NotAMessageError(identity, types.INVALID_PARAMS, "Invalid params: 'params' must be an object")


def _invalid(identity: str | int | None, why: str) -> NotAMessageError:
    return NotAMessageError(identity, types.INVALID_REQUEST, f"Invalid request: {why}")
