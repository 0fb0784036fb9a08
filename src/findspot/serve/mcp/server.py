"""The MCP server: tools listed and called, wire types made from plain values."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from findspot import __version__
from findspot.core.config import Settings, home_folder, load_settings
from findspot.core.errors import FindspotError, ProjectNotDetectedError
from findspot.core.log import get_logger
from findspot.core.paths import index_folder
from findspot.discover.root import find_root
from findspot.serve.mcp.call import Call, Library
from findspot.serve.mcp.client import Client
from findspot.serve.mcp.failures import AnsweredError, broken, failed
from findspot.serve.mcp.instructions import INSTRUCTIONS
from findspot.serve.mcp.projects import working_folder
from findspot.serve.mcp.registry import Answer, Registry, Tool
from findspot.serve.mcp.work import Threads

_log = get_logger("mcp")

Context = ServerRequestContext[Any, Any]


def make_server(registry: Registry, library: Library) -> Server[Any]:
    """A server of these tools; how it is reached is the transport's matter."""
    threads = Threads()
    toolsets = settings_here().serve.toolsets

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        nonlocal toolsets  # what was listed last is what can be called
        serve = settings_here().serve
        toolsets, enhanced = serve.toolsets, serve.enhanced_tool_descriptions
        tools = registry.offered(toolsets)
        return types.ListToolsResult(tools=[_wire_tool(tool, enhanced=enhanced) for tool in tools])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = registry.find(params.name, toolsets)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        call = Call(library, threads, Client(context))
        return _wire_result(await _answered(tool, call, params.arguments or {}))

    return Server(
        "findspot",
        version=__version__,
        title="Findspot",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _answered(tool: Tool, call: Call, given: dict[str, Any]) -> Answer:
    """A tool's answer, whatever happens."""
    try:
        return await tool.handler(call, tool.read(given))
    except AnsweredError as early:
        return early.answer
    except FindspotError as error:
        return (tool.failure or failed)(error)
    except Exception as error:  # noqa: BLE001 - one call's trouble must not end the server
        _log.exception("%s failed unexpectedly", tool.name)
        return broken(error)


def settings_here() -> Settings:
    """The configuration in force where the server runs, read anew so that edits count at once."""
    try:
        home, here = home_folder(), working_folder()
    except ProjectNotDetectedError:
        return load_settings()
    around = (here, *here.parents)
    indexed = (root for root in around if index_folder(home, root).is_dir())
    root = next(indexed, None) or find_root(here)
    return load_settings(root, index_folder(home, root) if root else None)


def _wire_tool(tool: Tool, *, enhanced: bool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.described(enhanced=enhanced),
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations.model_validate(tool.annotations),
        icons=[types.Icon(src=tool.icon, mime_type="image/svg+xml", sizes=["any"])],
    )


def _wire_result(answer: Answer) -> types.CallToolResult:
    texts = [answer.shown] if answer.hint is None else [answer.shown, answer.hint]
    return types.CallToolResult(
        content=[types.TextContent(text=_encodable(text)) for text in texts],
        structured_content=_encodable_values(answer.values),
        is_error=answer.is_error,
    )


def _encodable(text: str) -> str:
    """File names may hold bytes that are no text; the wire carries only text."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _encodable_values(value: Any) -> Any:
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, dict):
        return {name: _encodable_values(part) for name, part in value.items()}
    return [_encodable_values(part) for part in value] if isinstance(value, list) else value
