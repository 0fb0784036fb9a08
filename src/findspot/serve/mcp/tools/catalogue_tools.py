"""`search_tools` and `get_tool`: the tools of other MCP servers, from a catalogue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from findspot.catalogue.tool_record import CatalogueNotFoundError, SearchMode, ToolSearchOptions
from findspot.core.errors import FindspotError
from findspot.serve.arguments import TOOLS, text
from findspot.serve.mcp.other_servers import opened_catalogue
from findspot.serve.mcp.tool import STATUS_ICON, Answer, Arguments, Tool, fields
from findspot.serve.mcp.tool_call import Call
from findspot.serve.mcp.tool_results import failed
from findspot.serve.shapes import tool_object, tool_results_object

if TYPE_CHECKING:
    from findspot.engine import Engine


async def _search_tools(call: Call, arguments: Arguments) -> Answer:
    catalogue, *_ = await opened_catalogue(call)
    options = ToolSearchOptions(
        mode=SearchMode(arguments["mode"]) if arguments["mode"] else None,
        top_k=arguments["top_k"],
        threshold=arguments["threshold"],
        server=arguments["server"],
    )
    results = await call.quick(lambda _: catalogue.search(arguments["query"], options))
    warnings = " ".join(filter(None, (*arguments.warnings, results.warning)))
    return Answer(tool_results_object(replace(results, warning=warnings or None)))


async def _get_tool(call: Call, arguments: Arguments) -> Answer:
    catalogue, *_ = await opened_catalogue(call)

    def shown(_: Engine) -> dict[str, Any]:
        tool = catalogue.get(arguments["name"])
        access = catalogue.access(tool, call.client.environ)
        shown = tool_object(tool, access, catalogue.registry.notice())
        is_usable = access.spec is not None and catalogue.registry.is_usable(access.spec)
        instructions = catalogue.registry.instructions(tool.server_name) if is_usable else ""
        return shown | ({"instructions": instructions} if instructions else {})

    return Answer(await call.quick(shown))


def catalogue_failure(error: FindspotError) -> Answer:
    """Return the answer for an error; where the user has to index a catalogue, the error's hint says how."""
    answer = failed(error)
    made_by_hand = isinstance(error, CatalogueNotFoundError) or "tools index" in error.hint
    return replace(answer, hint=error.hint or None) if made_by_hand else answer


SEARCH_TOOLS = Tool(
    name="search_tools",
    title="Search MCP tools",
    description="Find a tool of another MCP server that does something, instead of listing them all.",
    search_hint="find tools of other MCP servers",
    arguments={"query": text("What the tool should do, or a pattern in mode 'regex'"), **TOOLS},
    required=("query",),
    output={
        "tools": [
            {
                **fields(str, "name", "title", "description", "serverName", "matchType"),
                "score": float,
            }
        ],
        "total": int,
        "totalIndexed": int,
        "searchTimeMs": float,
        "message": str,
        "nearest": [str],
    },
    handler=_search_tools,
    toolset="catalogue",
    failure=catalogue_failure,
)

GET_TOOL = Tool(
    name="get_tool",
    title="Show an MCP tool",
    description="Show the input schema of a result of search_tools, and whether it can be called.",
    search_hint="schema of a tool of another MCP server",
    arguments={"name": text("The tool's name as search_tools gives it: server__tool", "server__tool")},
    required=("name",),
    output={
        "tool": {
            **fields(str, "name", "title", "description"),
            **fields(dict, "inputSchema", "outputSchema", "annotations", "execution"),
        },
        "serverName": str,
        "instructions": str,
        "access": fields(str, "state", "transport", "configuration", "use", "reason"),
    },
    icon=STATUS_ICON,
    handler=_get_tool,
    toolset="catalogue",
    failure=catalogue_failure,
)
