"""`cortex_search`, in our own server and in servers that others build."""

from __future__ import annotations

import contextlib
import inspect
import json
from typing import Annotated, Any

import anyio.to_thread
import mcp_types as types
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import WithJsonSchema

from findspot.chunkfiles.chunk_reader import ContextSearcher
from findspot.chunkfiles.searcher import ProjectChunks
from findspot.core.errors import (
    FindspotError,
    IndexNotFoundError,
    InvalidArgumentError,
    ProjectNotDetectedError,
)
from findspot.core.log import get_logger
from findspot.engine import Engine
from findspot.project import Project
from findspot.search.token_budget import MIN_TOKENS
from findspot.serve.arguments import CHUNKS, choice, text
from findspot.serve.chunk_answers import (
    MAX_CONTEXT_TOKENS,
    ask_chunks,
    context_text,
    context_values,
)
from findspot.serve.mcp.client import structured_results
from findspot.serve.mcp.target import find_project, from_index, working_folder
from findspot.serve.mcp.tool import ICON, Answer, Arguments, Tool, failed, sent_schema
from findspot.serve.mcp.tool_call import Call
from findspot.serve.search_answers import COMPACT, single_line

_log = get_logger("mcp")

_ARGUMENTS: dict[str, Any] = {
    "query": text("What to search for, in plain words"),
    **CHUNKS,
    "format": choice(
        [COMPACT, "json"],
        "Format of the text: a compact listing, or the structured answer as JSON",
        default=COMPACT,
    ),
}

_CHUNK = {"id chunk_type title text created_at updated_at": str, "tags": [str], "metadata": dict}


async def _cortex_search(call: Call, arguments: Arguments) -> Answer:
    def answer(chunks: ProjectChunks, project: Project) -> Answer:
        serve = project.settings.serve
        most, shape = max(serve.max_tokens, MIN_TOKENS), structured_results(call.client.name, serve)
        return answer_from(chunks, arguments, max_tokens=most, shape=shape)

    chunks = await _chunks_of_client(call)
    if chunks is not None:
        return await call.quick(lambda engine: answer(chunks, engine.project(chunks.root)))
    target = await find_project(call, None)
    indexed = await call.quick(lambda engine: engine.chunks(target.project.root))
    return await from_index(call, str(target.project.root), lambda found: answer(indexed, found.project))


async def _chunks_of_client(call: Call) -> ProjectChunks | None:
    """Return the first folder of the client that has chunk files; without roots, the working directory."""
    folders = await call.client.folders() or [working_folder()]
    return await call.quick(
        lambda engine: next((each for each in map(engine.chunks, folders) if each.has_files), None)
    )


def answer_from(
    searcher: ContextSearcher,
    arguments: Arguments,
    *,
    max_tokens: int = MAX_CONTEXT_TOKENS,
    shape: str = "full",
) -> Answer:
    """Ask a searcher, and return the two forms of the answer, each within the limit on its own."""
    found = ask_chunks(searcher, arguments["query"], arguments)
    limit = arguments["max_tokens"] or max_tokens
    values = context_values(found, limit, slim=shape == "slim")
    if shape == "only":
        return Answer(values, single_line(len(values["results"])))
    if arguments["format"] == COMPACT:
        return Answer(values, context_text(found, limit))
    if shape == "slim":
        return Answer(values, json.dumps(context_values(found, limit), ensure_ascii=False))
    return Answer(values)


def _failed(error: FindspotError) -> None:
    """Raise errors as this tool's specification has them: those of the protocol, by number."""
    if isinstance(error, IndexNotFoundError | ProjectNotDetectedError):
        return
    if isinstance(error, InvalidArgumentError):
        raise MCPError(types.INVALID_PARAMS, error.user_message) from error
    _log.error("cortex_search failed: %s", error.developer_message)
    raise MCPError(types.INTERNAL_ERROR, error.with_hint()) from error


class _CortexTool(Tool):
    """A limit beyond its bounds is moved to the nearest, at either end."""

    def read(self, given: dict[str, Any], _warnings: list[str]) -> Arguments:
        with contextlib.suppress(KeyError, TypeError, ValueError):  # the reader reports what is not a number
            if float(given["limit"]) < 1:
                given = given | {"limit": 1}
        return super().read(given, [])  # the specification moves it without a word


CORTEX_SEARCH = _CortexTool(
    name="cortex_search",
    title="Search the project's context",
    description=(
        "Search for relevant context in the project codebase and documentation, filtered by kind and tag."
    ),
    search_hint="search chunks of code and documentation by type and tag",
    arguments=_ARGUMENTS,
    required=("query",),
    output={
        "results": [{"chunk": _CHUNK, "combined_score": float}],
        "total": int,
        "stats": dict,
    },
    handler=_cortex_search,
    toolset="cortex",
    failure=_failed,
)


def require_chunks(engine: Engine) -> None:
    """Fail at the start of a server of this tool alone if no query could be answered."""
    here = working_folder()
    chunks = engine.chunks(here)
    if not chunks.has_files:
        try:
            chunks = engine.chunks(engine.detect(here).root)
        except ProjectNotDetectedError:
            """The folder itself says what is missing."""
    chunks.check()


def add_cortex_search_tool(server: MCPServer[Any], searcher: ContextSearcher) -> None:
    """Add `cortex_search` to a server of your own, answered by a searcher of your own."""

    sent = sent_schema(CORTEX_SEARCH.input_schema)

    def argument(name: str) -> Any:
        return Annotated[Any, WithJsonSchema(sent["properties"][name])]

    async def cortex_search(**given: Any) -> types.CallToolResult:
        try:
            arguments = CORTEX_SEARCH.read(given, [])
            answer = await anyio.to_thread.run_sync(lambda: answer_from(searcher, arguments))
        except FindspotError as error:
            _failed(error)
            answer = failed(error)
        return types.CallToolResult(
            content=[types.TextContent(text=answer.shown)],
            structured_content=answer.values,
            is_error=answer.is_error,
        )

    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=argument(name),
            default=schema.get("default", inspect.Parameter.empty if name == "query" else None),
        )
        for name, schema in _ARGUMENTS.items()
    ]
    cortex_search.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=types.CallToolResult
    )
    server.add_tool(
        cortex_search,
        name=CORTEX_SEARCH.name,
        title=CORTEX_SEARCH.title,
        description=CORTEX_SEARCH.description,
        annotations=types.ToolAnnotations.model_validate(CORTEX_SEARCH.annotations),
        icons=[types.Icon(src=ICON, mime_type="image/svg+xml", sizes=["any"])],
    )
