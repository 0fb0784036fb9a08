"""`call_tool`: call a tool of another MCP server, and pass everything on in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types

from findspot.core.errors import InvalidArgumentError
from findspot.search.token_budget import CHARS_PER_TOKEN, MIN_TOKENS
from findspot.serve.activity import log_call
from findspot.serve.arguments import CONFIRM, argument, text
from findspot.serve.mcp.client import Reply, key_of
from findspot.serve.mcp.other_servers import note_links, opened_catalogue
from findspot.serve.mcp.server import settings_here
from findspot.serve.mcp.target import agree
from findspot.serve.mcp.tool import Answer, Arguments, Tool, undescribed
from findspot.serve.mcp.tool_call import Call
from findspot.serve.mcp.tools.catalogue_tools import catalogue_failure

if TYPE_CHECKING:
    from findspot.catalogue.live_connection import CallHandlers
    from findspot.catalogue.tool_calls import CallOutcome, Confirm, Confirmation
    from findspot.engine import Engine

_CONFIRMED, _FORGETS = "findspot.confirmed_tools", "findspot.forgets_results"

_ADDRESS = "findspot://results/"
_ALWAYS = "Always allow this tool, until it changes"


async def _call_tool(call: Call, arguments: Arguments) -> Answer:
    name = arguments["name"]
    if name.startswith(_ADDRESS):
        return _stored_page(call, name)
    from findspot.catalogue.tool_calls import ToolCaller

    catalogue, pool, client = await opened_catalogue(call)
    caller = ToolCaller(catalogue, pool, call.client.name or "unknown", log_call, client)
    outcome = await caller.call(
        name,
        arguments["arguments"] or {},
        timeout_s=arguments["timeout"],
        confirm=_confirmation(call, bool(arguments["confirm"])),
        handlers=lambda server: _handlers(call, server),
    )
    note_links(call, outcome.tool.server_name, outcome.result)
    return Answer({}, is_error=outcome.is_error, passed_on=await _fitted(call, outcome))


async def _fitted(call: Call, outcome: CallOutcome) -> dict[str, Any]:
    """Return the result within the token budget; its settings are read only for one that may exceed it."""
    from findspot.catalogue.call_results import fit_result, written_chars

    if written_chars(outcome.result) <= MIN_TOKENS * CHARS_PER_TOKEN:
        return outcome.result
    owner, results = call.client.owner, call.library.results
    call.client.when_gone(_FORGETS, lambda: results.forget(owner))

    def fit(_: Engine) -> dict[str, Any]:
        budget = max(MIN_TOKENS, settings_here().serve.max_call_tokens)
        return fit_result(outcome.result, budget, results, owner)

    return await call.quick(fit)


def _stored_page(call: Call, address: str) -> Answer:
    """Return a page of a stored result."""
    page = call.library.results.read(address, call.client.owner)
    if page is None:
        raise InvalidArgumentError(f"There is no stored result at {address}.", hint="Call the tool again.")
    content = [{"type": "text", "text": text} for text in (page.text, page.note)]
    return Answer({}, passed_on={"content": content, "isError": False})


def _confirmation(call: Call, confirmed: bool) -> Confirm:
    async def confirm(asked: Confirmation) -> bool:
        """Ask about a declared destructive tool each time, about others once per connection."""
        remembered: set[str] = call.client.memory.setdefault(_CONFIRMED, set())
        if not (asked.declared or asked.changed) and asked.tool.name in remembered:
            return False
        about = {"tool": asked.tool.name, "arguments": asked.shown_arguments}
        reply = await agree(call, asked.question, about, confirmed=confirmed, needed=True, always=_ALWAYS)
        remembered.add(asked.tool.name)
        return reply is Reply.ALWAYS

    return confirm


def _handlers(call: Call, server: str) -> CallHandlers:
    """Return what passes a server's messages on to the client, as far as the client takes them."""
    from findspot.catalogue.live_connection import CallHandlers

    client = call.client

    async def report(progress: float, total: float | None, message: str | None) -> None:
        await client.report(progress, total, message)

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        await client.log(params.level, params.data, ": ".join(filter(None, (server, params.logger))))

    async def elicit(params: types.ElicitRequestParams) -> types.ElicitResult:
        """Ask the user in the server's name; a client that cannot ask has its user dismiss the question."""
        named = params.model_copy(update={"message": f"[{server}] {params.message}"})
        answer = await client.user.answer_to(named, key_of(params.model_dump_json(exclude={"meta"})))
        if answer is None:
            call.warnings.append(f"The server asked the user, whom this client cannot ask: {params.message}")
        return answer or types.ElicitResult(action="cancel")

    return CallHandlers(report if client.wants_progress else None, elicit, log)


CALL_TOOL = Tool(
    name="call_tool",
    title="Run an MCP tool",
    description="Run a tool that search_tools found, with the arguments that get_tool shows.",
    search_hint="run a tool of another MCP server",
    arguments={
        "name": text(
            "The tool's name as search_tools gives it: server__tool. Or the address of a page that an "
            "earlier answer named",
            "server__tool",
        ),
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
    asks_midway=True,
)
