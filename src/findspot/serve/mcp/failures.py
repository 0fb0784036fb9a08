"""Errors as answers: a text for the reader, and the code and both messages for programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from findspot.core.errors import FindspotError, IndexNotFoundError
from findspot.core.log import get_logger
from findspot.serve.mcp.registry import Answer

_log = get_logger("mcp")

_HINTS = {
    "INDEX_NOT_FOUND": "Call index_codebase with the project's path, or create_index.",
    "DOCS_INDEX_NOT_FOUND": "Check that the project has documentation and that indexDocs is true.",
    "PROJECT_NOT_DETECTED": "Name the project's folder in the argument path or project.",
    "MODEL_MISMATCH": "Call reindex_project to rebuild the index with the configured model.",
    "INDEX_CORRUPT": "Call reindex_project to rebuild the index.",
}
"""What to do next, in terms of these tools; other errors bring their own hint."""

_MENDED_BY_INDEXING = frozenset({"INDEX_NOT_FOUND", "MODEL_MISMATCH", "INDEX_CORRUPT"})
_READ_ONLY_HINT = "This server is read-only: run `findspot index` in the project, on the server's machine."

INTERNAL_ERROR = "INTERNAL_ERROR"
_UNEXPECTED = "Something unexpected went wrong. The server's log has the details."


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
    """Return an error raised on purpose."""
    values = {
        "code": error.code,
        "userMessage": error.user_message,
        "developerMessage": error.developer_message,
    }
    text = error.text if isinstance(error, PathNotIndexedError) else error.user_message
    hint = None if isinstance(error, PathNotIndexedError) else _HINTS.get(error.code) or error.hint or None
    return Answer(values, text, hint, is_error=True)


def failed_unchanging(error: FindspotError, answer: Answer) -> Answer:
    """Return the same on a server that changes no index: it recommends no tool that it does not offer."""
    if error.code not in _MENDED_BY_INDEXING:
        return answer
    text = error.user_message if isinstance(error, PathNotIndexedError) else answer.text
    return replace(answer, text=text, hint=_READ_ONLY_HINT)


def broken(error: Exception) -> Answer:
    """Return an error nobody expected; where it happened stays in the log."""
    message = _UNEXPECTED
    detail = f"{INTERNAL_ERROR}: {type(error).__name__}: {error}"[:500]
    values = {"code": INTERNAL_ERROR, "userMessage": message, "developerMessage": detail}
    return Answer(values, message, is_error=True)


async def with_known_errors(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware: every error has a code of JSON-RPC; the SDK sends unexpected ones with the code 0."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except FindspotError as error:
        raise MCPError(types.INVALID_PARAMS, error.with_hint(), {"code": error.code}) from error
    except Exception as error:
        _log.exception("%s failed unexpectedly", ctx.method)
        raise MCPError(types.INTERNAL_ERROR, _UNEXPECTED) from error
