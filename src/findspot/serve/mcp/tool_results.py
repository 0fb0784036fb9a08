"""Tools, answers and errors as the protocol carries them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from findspot.core.errors import FindspotError, IndexNotFoundError
from findspot.serve.mcp.tool import Answer, Link, TaskSupport, Tool, sent_schema
from findspot.serve.shapes import error_object

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
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.described(enhanced=enhanced),
        input_schema=sent_schema(tool.input_schema),
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations.model_validate(tool.annotations),
        icons=[types.Icon(src=tool.icon, mime_type="image/svg+xml", sizes=["any"])],
        execution=types.ToolExecution(task_support=tool.task_support.value) if runs_long else None,
        _meta=_loading(tool) or None,
    )


def _loading(tool: Tool) -> dict[str, Any]:
    """Return when a client that defers tools loads this one, in the keys of Claude Code."""
    if tool.always_loaded:
        return {"anthropic/alwaysLoad": True}
    return {"anthropic/searchHint": tool.search_hint} if tool.search_hint else {}


def wire_result(answer: Answer, version: str) -> dict[str, Any]:
    """Return the result of a call in a version of the protocol.

    The SDK leaves out fields that older versions lack, but not kinds of content.

    Plain values: making models of them only to dump them again would double the cost of a call.
    """
    if answer.passed_on is not None:
        return _passed_on(answer.passed_on, answer.hint)
    content = [_text(answer.shown, _FOR_BOTH)] if answer.shown else []
    if answer.hint is not None:
        content.append(_text(answer.hint, _FOR_ASSISTANT))
    if version >= _LINKS_SINCE:
        content += map(link_content, answer.links)
    return {
        "resultType": "complete",
        "content": content,
        "structuredContent": encodable_values(answer.values),
        "isError": answer.is_error,
    }


def _passed_on(result: dict[str, Any], hint: str | None) -> dict[str, Any]:
    """Return another server's result."""
    content = result["content"] + ([_text(hint, _FOR_ASSISTANT)] if hint is not None else [])
    return dict(encodable_values(result | {"resultType": "complete", "content": content}))


def _text(text: str, annotations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": encodable(text), "annotations": annotations}


def link_content(link: Link) -> dict[str, Any]:
    """Return a link for people to open; assistants have it in the structured content."""
    annotations = {"audience": ["user"], "priority": link.priority}
    described = {
        "type": "resource_link",
        "uri": link.uri,
        "name": encodable(link.name),
        "description": encodable(link.description),
        "mimeType": link.mime_type,
        "annotations": {name: value for name, value in annotations.items() if value is not None},
    }
    return {name: value for name, value in described.items() if value is not None}


def encodable(text: str) -> str:
    """Return a text with what cannot be encoded replaced: file names may hold bytes that are not text."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def encodable_values(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {name: encodable_values(part) for name, part in value.items()}
    return [encodable_values(part) for part in value] if isinstance(value, list) else value


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


def failed(error: FindspotError) -> Answer:
    """Return the answer for an error raised on purpose."""
    text = error.text if isinstance(error, PathNotIndexedError) else error.user_message
    hint = None if isinstance(error, PathNotIndexedError) else _HINTS.get(error.code) or error.hint or None
    return Answer(error_object(error), text, hint, is_error=True)


def failed_read_only(error: FindspotError, answer: Answer) -> Answer:
    """Return the answer of a read-only server, which recommends no tool that it does not offer."""
    if error.code not in _FIXED_BY_INDEXING:
        return answer
    text = error.user_message if isinstance(error, PathNotIndexedError) else answer.text
    return replace(answer, text=text, hint=_READ_ONLY_HINT)


def broken(error: Exception) -> Answer:
    """Return the answer for an unexpected error; where it happened is only in the log."""
    detail = f"{INTERNAL_ERROR}: {type(error).__name__}: {error}"[:500]
    values = {"code": INTERNAL_ERROR, "userMessage": UNEXPECTED, "developerMessage": detail}
    return Answer(values, UNEXPECTED, is_error=True)
