"""`search_tools`, `get_tool` and `call_tool`: the tools of other MCP servers, from a catalogue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types as types

from findspot.catalogue.call_results import fit_result
from findspot.catalogue.server_pool import CallHandlers
from findspot.catalogue.tool_calls import Confirm, Confirmation, ToolCaller
from findspot.catalogue.tool_record import ToolSearchOptions
from findspot.core.errors import FindspotError
from findspot.engine import Engine
from findspot.search.token_budget import MIN_TOKENS
from findspot.serve.arguments import CONFIRM, TOOLS, argument, text
from findspot.serve.mcp.client import Reply, key_of
from findspot.serve.mcp.resources import opened_catalogue, with_addresses
from findspot.serve.mcp.server import settings_here
from findspot.serve.mcp.target import agree
from findspot.serve.mcp.tool import Answer, Arguments, Tool, failed, undescribed
from findspot.serve.mcp.tool_call import Call
from findspot.serve.shapes import ACCESS, FOUND_TOOLS, tool_object, warned

_CONFIRMED = "findspot.confirmed_tools"

_ALWAYS = "Always allow this tool, until it changes"


async def _search_tools(call: Call, arguments: Arguments) -> Answer:
    catalogue, *_ = await opened_catalogue(call)
    options = ToolSearchOptions(**{name: arguments[name] for name in TOOLS})
    results = await call.quick(lambda _: catalogue.search(arguments["query"], options))
    return Answer(warned(FOUND_TOOLS(results), results.warning))


async def _get_tool(call: Call, arguments: Arguments) -> Answer:
    catalogue, *_ = await opened_catalogue(call)

    def shown(_: Engine) -> dict[str, Any]:
        tool = catalogue.get(arguments["name"])
        shown = tool_object(tool, catalogue.access(tool), catalogue.registry.notice())
        instructions = catalogue.registry.instructions(tool.server_name)
        return shown | ({"instructions": instructions} if instructions else {})

    return Answer(await call.quick(shown))


def catalogue_failure(error: FindspotError) -> Answer:
    """Return the answer for an error, with its own hint: nothing here is a matter of a project's index."""
    return replace(failed(error), hint=error.hint or None)


SEARCH_TOOLS = Tool(
    name="search_tools",
    title="Search MCP tools",
    description="Find a tool of another MCP server that does something, instead of listing them all.",
    search_hint="find tools of other MCP servers",
    arguments={"query": text("What the tool should do, or a pattern in mode 'regex'"), **TOOLS},
    required=("query",),
    output=FOUND_TOOLS.kinds,
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
        "tool": {"name title description": str, "inputSchema outputSchema annotations execution": dict},
        "serverName instructions": str,
        "access": ACCESS,
    },
    handler=_get_tool,
    toolset="catalogue",
    failure=catalogue_failure,
)


async def _call_tool(call: Call, arguments: Arguments) -> Answer:
    catalogue, pool, client = await opened_catalogue(call)
    caller = ToolCaller(catalogue, pool, client)
    tool, result = await caller.call(
        arguments["name"],
        arguments["arguments"] or {},
        timeout_s=arguments["timeout"],
        confirm=_confirmation(call),
        handlers=lambda server: _handlers(call, server),
    )

    def fitted(_: Engine) -> dict[str, Any]:
        limit = max(MIN_TOKENS, settings_here().serve.max_call_tokens)
        return fit_result(with_addresses(tool.server_name, result), limit)

    return Answer({}, is_error=bool(result.get("isError")), passed_on=await call.quick(fitted))


def _confirmation(call: Call) -> Confirm:
    async def confirm(asked: Confirmation) -> bool:
        """Ask about a declared destructive tool each time, about others once per connection."""
        remembered: set[str] = call.client.memory.setdefault(_CONFIRMED, set())
        if not (asked.declared or asked.changed) and asked.tool.name in remembered:
            return False
        about = {"tool": asked.tool.name, "arguments": asked.shown_arguments}
        reply = await agree(call, asked.question, about, needed=True, always=_ALWAYS)
        remembered.add(asked.tool.name)
        return reply is Reply.ALWAYS

    return confirm


def _handlers(call: Call, server: str) -> CallHandlers:
    """Return what passes a server's messages on to the client, as far as the client takes them."""
    client = call.client

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        await client.log(params.level, params.data, ": ".join(filter(None, (server, params.logger))))

    async def elicit(params: types.ElicitRequestParams) -> types.ElicitResult:
        """Ask the user in the server's name; a client that cannot be asked now dismisses the question.

        From 2026-07-28 on a client is asked by ending its call, which the server's work would not outlive.
        """
        named = params.model_copy(update={"message": f"[{server}] {params.message}"})
        key = key_of(params.model_dump_json(exclude={"meta"}))
        answer = None if client.modern else await client.elicit(named, key)
        if answer is None:
            call.warnings.append(f"The server asked the user, whom this client cannot ask: {params.message}")
        return answer or types.ElicitResult(action="cancel")

    return CallHandlers(client.report if client.wants_progress else None, elicit, log)


CALL_TOOL = Tool(
    name="call_tool",
    title="Run an MCP tool",
    description="Run a tool that search_tools found, with the arguments that get_tool shows.",
    search_hint="run a tool of another MCP server",
    arguments={
        "name": text("The tool's name as search_tools gives it: server__tool", "server__tool"),
        "arguments": argument("object", "What the tool's inputSchema asks for"),
        "timeout": argument(
            "number",
            "Seconds to wait for the answer, and again after each report of progress",
            "Seconds",
            minimum=1,
            maximum=600,
            default=60,
        ),
        "confirm": undescribed(CONFIRM),
    },
    required=("name",),
    output=None,
    annotations={
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    },
    handler=_call_tool,
    toolset="catalogue",
    failure=catalogue_failure,
)
