"""A tool: its schemas, the arguments of a call and its answer, also as the protocol carries them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import quote

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import BeforeValidator, FiniteFloat, Json, TypeAdapter, ValidationError

from findspot.core.errors import FindspotError, IndexNotFoundError, InvalidArgumentError
from findspot.core.settings import PROJECT_TOOLSET
from findspot.serve.arguments import Schema
from findspot.serve.shapes import ERROR, schema_of
from findspot.text.snippet import cut

ALWAYS: dict[str, Schema] = {
    "code": {"type": "string", "description": "Error code, or why a question is asked"},
    "userMessage": {"type": "string", "description": "The error in plain words"},
    "developerMessage": {"type": "string", "description": "The error in technical terms"},
    "error": {"type": "string"},
    "status": {"type": "string"},
    "warning": {"type": "string", "description": "What a reader should know about this answer"},
}
"""Clients validate structured content on errors too, so every tool's answer may hold these."""

QUESTION: dict[str, Schema] = {
    "question": {"type": "string", "description": "What to ask the user, if status is confirmation_required"},
    "message": {"type": "string"},
}

READ_ONLY = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
IDEMPOTENT = READ_ONLY | {"readOnlyHint": False}
DESTRUCTIVE = IDEMPOTENT | {"destructiveHint": True, "idempotentHint": False}


def undescribed(schema: Schema) -> Schema:
    """Return an argument whose description another tool already sends."""
    meaning = schema.get("$comment", schema.get("description"))
    return {key: value for key, value in schema.items() if key != "description"} | {"$comment": meaning}


def sent_schema(schema: Schema) -> Schema:
    """Return an input schema as clients get it: short, since a model reads it in every conversation.

    It lacks comments and what this server checks by itself with a better message.
    """
    properties = {
        name: {key: value for key, value in part.items() if key not in ("$comment", "minLength")}
        for name, part in schema["properties"].items()
    }
    return schema | {"properties": properties}


ICON = "data:image/svg+xml," + quote(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='#2563eb' "
    "stroke-width='2'><path d='M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM15 15l6 6'/></svg>",
    safe="/:='(),",
)

_SHOWN_CHARS = 60


Arguments = Mapping[str, Any]
"""The values of all arguments by name; None for an optional one that was not given."""


def _no_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a flag is no number")
    return value


_KINDS: dict[str, tuple[str, Any]] = {
    "string": ("a string", str),
    "boolean": ("true or false", bool),
    "number": ("a number", Annotated[FiniteFloat, BeforeValidator(_no_flag)]),
    "integer": ("a whole number", Annotated[int, BeforeValidator(_no_flag)]),
    "array": (
        "a list of strings",
        Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)],
    ),
    "object": ("an object", dict[str, Any] | Json[dict[str, Any]]),
}
"""What clients send for each kind: a number may come as text, one text for a list, an object as its JSON."""

_READERS = {name: TypeAdapter(kind).validate_python for name, (_, kind) in _KINDS.items()}


def _checked(name: str, value: Any, schema: Schema, clamp: bool, warnings: list[str]) -> Any:
    choices = schema.get("enum", ())
    if "yes" in choices and isinstance(value, bool):
        value = "yes" if value else "no"
    try:
        read = _READERS[schema["type"]](value)
    except ValidationError:
        raise _refusal(name, value, schema) from None
    if isinstance(read, str) and schema.get("minLength") and not read.strip():
        raise InvalidArgumentError(f"{name.capitalize()} cannot be empty")
    if choices and read not in choices:
        raise _refusal(name, read, schema)
    return _bounded(name, read, schema, clamp, warnings) if schema["type"] in ("integer", "number") else read


def _bounded(name: str, value: Any, schema: Schema, clamp: bool, warnings: list[str]) -> Any:
    most = schema.get("maximum", math.inf)
    if value < schema.get("minimum", -math.inf) or (value > most and not clamp):
        raise _refusal(name, value, schema)
    if value > most:
        warnings.append(f"{name} was lowered from {value} to its maximum of {most}.")
    return min(value, most)


def _refusal(name: str, value: Any, schema: Schema) -> InvalidArgumentError:
    wanted = _KINDS[schema["type"]][0]
    low, high = schema.get("minimum"), schema.get("maximum")
    if "enum" in schema:
        wanted = "one of " + ", ".join(f"'{choice}'" for choice in schema["enum"])
    elif low is not None:
        wanted += f" of at least {low}" if high is None else f" from {low} to {high}"
    return InvalidArgumentError(f"'{name}' must be {wanted}, not {cut(repr(value), _SHOWN_CHARS)}.")


def _unknown(names: Sequence[str], known: Iterable[str]) -> InvalidArgumentError:
    named = ", ".join(f"'{cut(name, _SHOWN_CHARS)}'" for name in names[:5])
    takes = ", ".join(known) or "none"
    several = "s" if len(names) > 1 else ""
    return InvalidArgumentError(f"Unknown argument{several}: {named}. Known arguments: {takes}.")


class TaskSupport(StrEnum):
    """Whether a call may, must or cannot go on after its request is answered."""

    FORBIDDEN = "forbidden"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives back; without a text of its own, the text is the JSON of the values."""

    values: dict[str, Any]
    text: str | None = None
    hint: str | None = None
    """What to do next, for the reader of an error."""
    is_error: bool = False
    links: tuple[dict[str, Any], ...] = ()
    """What follows the text: places for people to open."""
    passed_on: dict[str, Any] | None = None
    """The result of another server, which replaces all of the above."""

    @property
    def shown(self) -> str:
        return json.dumps(self.values, ensure_ascii=False) if self.text is None else self.text


Handler = Callable[..., Coroutine[Any, Any, Answer]]
"""Gets the `Call` and its `Arguments`."""


@dataclass(frozen=True, slots=True)
class Tool:
    """Everything a user or a client can see of a tool, and the function behind it."""

    name: str
    title: str
    description: str
    arguments: dict[str, Schema]
    handler: Handler
    required: tuple[str, ...] = ()
    output: dict[str, Any] | None = None
    annotations: dict[str, bool] = field(default_factory=lambda: READ_ONLY)
    enhanced_description: str = ""
    """Replaces the description if `enhancedToolDescriptions` is set."""
    always_loaded: bool = False
    """Whether clients that load tools on demand should load this one at the start."""
    search_hint: str = ""
    """What clients that load tools on demand match requests with."""
    toolset: str = PROJECT_TOOLSET
    clamped: frozenset[str] = frozenset({"limit", "top_k"})
    """Arguments whose values above the maximum are lowered to it, with a warning."""
    instead: dict[str, str] = field(default_factory=dict)
    """Required argument → the argument that may be given instead."""
    failure: Callable[[FindspotError], Answer | None] = lambda _: None
    """How this tool shows errors of which its specification has a form of its own."""
    task_support: TaskSupport = TaskSupport.FORBIDDEN

    @property
    def input_schema(self) -> Schema:
        schema: Schema = {"type": "object", "properties": self.arguments}
        return schema | {"required": list(self.required)} if self.required else schema

    @property
    def output_schema(self) -> Schema | None:
        """Its values, and what errors and warnings carry; nothing is required."""
        return None if self.output is None else schema_of(ALWAYS | self.output)

    def described(self, *, enhanced: bool) -> str:
        return self.enhanced_description if enhanced and self.enhanced_description else self.description

    def read(self, given: dict[str, Any], warnings: list[str]) -> Arguments:
        """Return the arguments of a call, checked against the schema, with defaults filled in; add to the
        warnings what was adjusted.
        """
        known, instead = self.arguments, self.instead
        if unknown := [name for name in given if name not in known]:
            raise _unknown(unknown, known)
        sent = {name: value for name, value in given.items() if value is not None}
        for name, other in instead.items():
            if other in sent and sent.pop(name, ""):
                warnings.append(f"{name} was ignored, since {other} was given.")
        for name in (*self.required, *instead):
            if name not in sent and instead.get(name) not in sent:
                raise InvalidArgumentError(f"Missing required argument: {name}")
        values = {name: part.get("default") for name, part in known.items()}
        for name, value in sent.items():
            values[name] = _checked(name, value, known[name], name in self.clamped, warnings)
        return values


class Registry:
    """Tools by name; registering a name again replaces the definition and keeps its position."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def find(self, name: str, toolsets: Sequence[str]) -> Tool | None:
        tool = self._tools.get(name)
        return tool if tool and tool.toolset in toolsets else None

    def offered(self, toolsets: Sequence[str]) -> list[Tool]:
        return [tool for tool in self if tool.toolset in toolsets]

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())


_FOR_BOTH = {"audience": ["user", "assistant"], "priority": 1.0}
_FOR_ASSISTANT = {"audience": ["assistant"], "priority": 0.8}

_LINKS_SINCE = "2025-06-18"
"""An older client would refuse an answer with links."""


_HINTS = {
    "INDEX_NOT_FOUND": "Call index_codebase with the project's path, or create_index.",
    "DOCS_INDEX_NOT_FOUND": "Check that the project has documentation and that indexDocs is true.",
    "PROJECT_NOT_DETECTED": "Name the project's folder in the argument path or project.",
    "MODEL_MISMATCH": "Call reindex_project to rebuild the index with the configured model.",
    "INDEX_CORRUPT": "Call reindex_project to rebuild the index.",
}
"""What to do next, in terms of these tools; other errors bring their own hint."""

_FIXED_BY_INDEXING = frozenset({"INDEX_NOT_FOUND", "MODEL_MISMATCH", "INDEX_CORRUPT"})

_READ_ONLY_HINT = "This server is read-only: run `findspot index` in the project, on the server's machine."

INTERNAL_ERROR = "INTERNAL_ERROR"

UNEXPECTED = "Something unexpected went wrong. The server's log has the details."


def check_cursor(params: types.PaginatedRequestParams | None) -> None:
    """Refuse every cursor: these lists have one page, so none was ever given."""
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "Unknown cursor")


def wire_tool(tool: Tool, *, enhanced: bool) -> types.Tool:
    runs_long = tool.task_support is not TaskSupport.FORBIDDEN
    loading: dict[str, Any] = {"anthropic/searchHint": tool.search_hint} if tool.search_hint else {}
    if tool.always_loaded:
        loading = {"anthropic/alwaysLoad": True}
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.described(enhanced=enhanced),
        input_schema=sent_schema(tool.input_schema),
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations.model_validate(tool.annotations),
        icons=[types.Icon(src=ICON, mime_type="image/svg+xml", sizes=["any"])],
        execution=types.ToolExecution(task_support=tool.task_support.value) if runs_long else None,
        _meta=loading or None,
    )


def wire_result(answer: Answer, version: str) -> dict[str, Any]:
    """Return the result of a call in a version of the protocol.

    The SDK leaves out fields that older versions lack, but not kinds of content.

    Plain values: making models of them only to dump them again would double the cost of a call.
    """
    hints = [_text(answer.hint, _FOR_ASSISTANT)] if answer.hint is not None else []
    if answer.passed_on is not None:
        result = answer.passed_on | {"content": answer.passed_on["content"] + hints}
    else:
        shown = [_text(answer.shown, _FOR_BOTH)] if answer.shown else []
        links = answer.links if version >= _LINKS_SINCE else ()
        result = {
            "content": [*shown, *hints, *links],
            "structuredContent": answer.values,
            "isError": answer.is_error,
        }
    return {"resultType": "complete", **encodable(result)}


def _text(text: str, annotations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": text, "annotations": annotations}


def encodable(value: Any) -> Any:
    """Return a value with what cannot be encoded replaced: file names may hold bytes that are not text."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {name: encodable(part) for name, part in value.items()}
    return list(map(encodable, value)) if isinstance(value, list) else value


class PathNotIndexedError(IndexNotFoundError):
    """No index for the path that the caller named."""

    def __init__(self, named: str, missing: IndexNotFoundError) -> None:
        FindspotError.__init__(self, missing.user_message)
        self.developer_message = missing.developer_message
        self.text = f"No index found for path: {named}. Run 'index_codebase' tool first."


class AnsweredError(Exception):
    """Ends a call early with an answer that is not an error, such as a question to the user."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.shown)
        self.answer = answer


def failed(error: FindspotError, *, read_only: bool = False) -> Answer:
    """Return the answer for an error raised on purpose.

    A read-only server recommends no tool that it does not offer.
    """
    text, hint = error.user_message, _HINTS.get(error.code) or error.hint or None
    if read_only and error.code in _FIXED_BY_INDEXING:
        hint = _READ_ONLY_HINT
    elif isinstance(error, PathNotIndexedError):
        text, hint = error.text, None
    return Answer(ERROR(error), text, hint, is_error=True)


def broken(error: Exception) -> Answer:
    """Return the answer for an unexpected error; where it happened is only in the log."""
    detail = f"{INTERNAL_ERROR}: {type(error).__name__}: {error}"[:500]
    values = {"code": INTERNAL_ERROR, "userMessage": UNEXPECTED, "developerMessage": detail}
    return Answer(values, UNEXPECTED, is_error=True)
