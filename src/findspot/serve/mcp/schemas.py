"""Pieces that the tools' schemas share, as plain JSON Schema."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}
COUNTS: Schema = {"type": "object", "additionalProperties": COUNT}

ALWAYS: dict[str, Schema] = {
    "code": {"type": "string", "description": "Error code, or why a question is asked"},
    "userMessage": {"type": "string", "description": "The error in plain words"},
    "developerMessage": {"type": "string", "description": "The error in technical terms"},
    "error": {"type": "string"},
    "status": {"type": "string"},
    "warning": {"type": "string", "description": "What a reader should know about this answer"},
}
"""Clients validate structured content on errors too, so every tool's answer may hold these."""

PROJECT: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "Project root path or index id. Default: the current project",
}
PATH: Schema = {
    "type": "string",
    "minLength": 1,
    "default": ".",
    "description": "Folder of the indexed codebase, or one inside it. Default: the current project",
}
CONFIRM: Schema = {
    "type": "boolean",
    "default": False,
    "description": "Set to true only after the user agreed to the question of a first call",
}

MADE_BY: Schema = {"type": "string", "description": "A language model's name, or 'index' for none"}

QUESTION: dict[str, Schema] = {
    "question": {"type": "string", "description": "What to ask the user, if status is confirmation_required"},
    "message": TEXT,
}

READ_ONLY = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
IDEMPOTENT = READ_ONLY | {"readOnlyHint": False}
DESTRUCTIVE = IDEMPOTENT | {"destructiveHint": True, "idempotentHint": False}


def takes(properties: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """Return an input schema: nothing but these arguments."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def gives(properties: dict[str, Schema]) -> Schema:
    """Return an output schema: any of these and what errors and warnings carry; nothing is required."""
    return {"type": "object", "properties": ALWAYS | properties}


def objects(properties: dict[str, Schema]) -> Schema:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


def status_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}
