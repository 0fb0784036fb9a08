"""The MCP server: what it offers, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError

from findspot import __version__
from findspot.core.config import home_folder, load_settings
from findspot.core.errors import ProjectNotDetectedError
from findspot.core.log import get_logger
from findspot.core.paths import index_folder
from findspot.core.settings import Settings
from findspot.discover.checkouts import find_root, folders_around
from findspot.serve.mcp import resources
from findspot.serve.mcp.access import OPEN, Terms
from findspot.serve.mcp.call import Library
from findspot.serve.mcp.calling import Calls
from findspot.serve.mcp.client import forget_roots, grant_of
from findspot.serve.mcp.content import wire_tool
from findspot.serve.mcp.failures import with_known_errors
from findspot.serve.mcp.instructions import instructions
from findspot.serve.mcp.metrics import Meter
from findspot.serve.mcp.offering import Offering, check_cursor
from findspot.serve.mcp.offers import Offers
from findspot.serve.mcp.projects import working_folder
from findspot.serve.mcp.prompts import PROMPTS
from findspot.serve.mcp.registry import Registry, Tool
from findspot.serve.mcp.resources import PLACES
from findspot.serve.mcp.sessions import log_requests
from findspot.serve.mcp.tasks import Tasks
from findspot.serve.mcp.taskwire import TaskMethods

_log = get_logger("mcp")

NAME = "findspot"
PROJECT_TOOLSET = "project"
_GREETINGS = ("initialize", "server/discover")
"""Methods whose results carry instructions."""

Context = ServerRequestContext[Any, Any]


OFFERS = Offers(PLACES, resources.read, PROMPTS, resources.complete)


def make_server(
    registry: Registry,
    library: Library,
    offers: Offers = OFFERS,
    meter: Meter | None = None,
    terms: Terms = OPEN,
) -> Server[Any]:
    """Yield a server of these tools; how it is reached is the transport's matter."""
    tasks = Tasks()
    calls = Calls(library, tasks, terms)
    meter = meter or Meter()
    toolsets = settings_here().serve.toolsets

    def offered(context: Context, sets: Sequence[str]) -> list[Tool]:
        return [tool for tool in registry.offered(sets) if _refusal(context, tool, terms) is None]

    def offered_names(context: Context) -> frozenset[str]:
        return frozenset(tool.name for tool in offered(context, settings_here().serve.toolsets))

    async def tell_instructions(ctx: Context, call_next: CallNext) -> HandlerResult:
        """Middleware: an assistant is told of the tools that this very client is offered."""
        result = await call_next(ctx)
        if isinstance(result, dict) and ctx.method in _GREETINGS and "instructions" in result:
            return result | {"instructions": instructions(offered_names(ctx))}
        return result

    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        check_cursor(params)
        nonlocal toolsets  # what was listed last is what can be called
        serve = settings_here().serve
        toolsets, enhanced = serve.toolsets, serve.enhanced_tool_descriptions
        tools = [wire_tool(tool, enhanced=enhanced) for tool in offered(context, toolsets)]
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
        tool = registry.find(params.name, toolsets)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        with meter.call(tool.name) as outcome:
            if (refusal := _refusal(context, tool, terms)) is not None:
                raise MCPError(types.INVALID_PARAMS, refusal)
            result = await calls.answer(context, tool, params)
            outcome.failed = isinstance(result, dict) and bool(result.get("isError"))
            return result

    async def roots_changed(context: Context, _: types.NotificationParams) -> None:
        forget_roots(context)

    @asynccontextmanager
    async def lifetime(_: Server[Any]) -> AsyncIterator[None]:
        _log.info("server started: version %s in %s", __version__, Path.cwd())
        try:
            async with tasks.running():
                yield
        finally:
            _log.info("server stopped")

    server: Server[Any] = Server(
        NAME,
        version=__version__,
        title="Findspot",
        instructions=instructions(()),
        lifespan=lifetime,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.append(log_requests)
    server.middleware.append(with_known_errors)
    server.middleware.append(tell_instructions)
    changed = "notifications/roots/list_changed"
    server.add_notification_handler(changed, types.NotificationParams, roots_changed)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    TaskMethods(tasks).register(server)
    Offering(offers, calls.call, offered_names).register(server)
    return server


def _refusal(context: Context, tool: Tool, terms: Terms) -> str | None:
    """Return why a tool is not offered to a client, if it is not."""
    if terms.read_only and not tool.annotations["readOnlyHint"]:
        return f"{tool.name} changes what is indexed, and this server is read-only."
    grant = grant_of(context)
    if grant is not None and not grant.everything and tool.toolset != PROJECT_TOOLSET:
        # The other tools answer from what belongs to no project: a token for some has no part in it.
        return f"{tool.name} is not among the tools of this token."
    return None


def settings_here() -> Settings:
    """Return the configuration in force where the server runs, read anew so that edits count at once."""
    try:
        home, here = home_folder(), working_folder()
    except ProjectNotDetectedError:
        return load_settings()
    indexed = (root for root in folders_around(here) if index_folder(home, root).is_dir())
    root = next(indexed, None) or find_root(here)
    return load_settings(root, index_folder(home, root) if root else None)
