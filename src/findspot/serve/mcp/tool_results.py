"""Tools, answers and errors as the protocol carries them."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from findspot.core.errors import FindspotError, IndexNotFoundError
from findspot.serve.mcp.tool import ICON, Answer, TaskSupport, Tool, sent_schema
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
    return Answer(error_object(error), text, hint, is_error=True)


def broken(error: Exception) -> Answer:
    """Return the answer for an unexpected error; where it happened is only in the log."""
    detail = f"{INTERNAL_ERROR}: {type(error).__name__}: {error}"[:500]
    values = {"code": INTERNAL_ERROR, "userMessage": UNEXPECTED, "developerMessage": detail}
    return Answer(values, UNEXPECTED, is_error=True)
