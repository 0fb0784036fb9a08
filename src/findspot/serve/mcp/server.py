"""The MCP server: its handlers for tools, what every request passes through, and all of it put together."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.methods import INPUT_REQUIRED_METHODS, is_input_required
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from findspot import __version__
from findspot.core.config import home_folder, load_settings
from findspot.core.errors import FindspotError, ProjectNotDetectedError
from findspot.core.log import get_logger
from findspot.core.paths import index_folder
from findspot.core.setting_keys import PROJECT_TOOLSET
from findspot.core.settings import Settings
from findspot.discover.checkouts import find_root, folders_around
from findspot.serve.mcp.access import OPEN, Terms, grant_of
from findspot.serve.mcp.client import forget_roots
from findspot.serve.mcp.metrics import Meter
from findspot.serve.mcp.prompts import PROMPTS, instructions
from findspot.serve.mcp.resources import (
    RESOURCES,
    Offering,
    Offers,
    check_cursor,
    complete_path,
    read_resource,
)
from findspot.serve.mcp.sdk import Context, on_disconnect, transport_session
from findspot.serve.mcp.target import working_folder
from findspot.serve.mcp.task_methods import TaskMethods, shape_result
from findspot.serve.mcp.tasks import Tasks
from findspot.serve.mcp.tool import Answer, Registry, Tool
from findspot.serve.mcp.tool_call import Library, ToolCalls
from findspot.serve.mcp.tool_results import UNEXPECTED, sent_result, wire_tool

if TYPE_CHECKING:
    from mcp.server.request_state import RequestStateBoundary

_log = get_logger("mcp")

NAME = "findspot"
_GREETINGS = ("initialize", "server/discover")
"""Methods whose results carry instructions."""

_ROOTS_CHANGED = "notifications/roots/list_changed"

_MAX_NAME_CHARS = 60
"""As much of a name that a client sends as the log shows."""

OFFERS = Offers(RESOURCES, read_resource, PROMPTS, complete_path)


def make_server(
    registry: Registry,
    library: Library,
    offers: Offers = OFFERS,
    meter: Meter | None = None,
    terms: Terms = OPEN,
    *,
    state_key: bytes | None = None,
) -> FindspotServer:
    """Return a server of these tools; how it is reached is up to the transport.

    `state_key` seals what clients carry from one call to the next; without it, only this process reads that.
    """
    tasks = Tasks()
    calls = ToolCalls(library, tasks, terms)
    tools = _ToolHandlers(registry, calls, meter or Meter(), terms)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[None]:
        _log.info("server started: version %s in %s", __version__, Path.cwd())
        try:
            async with tasks.running():
                yield
        finally:
            with anyio.CancelScope(shield=True):
                await library.disconnect()
            _log.info("server stopped")

    server = FindspotServer(
        NAME,
        version=__version__,
        title="Findspot",
        instructions=instructions(()),
        lifespan=lifespan,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
    )
    server.add_notification_handler(_ROOTS_CHANGED, types.NotificationParams, _roots_changed)
    server.middleware += [
        log_requests,
        give_errors_a_code,
        tools.complete_results,
        _CarriedState(state_key),
    ]
    server.at_once = tools.at_once
    TaskMethods(tasks).register(server)
    Offering(offers, calls.new_call, tools.offered_names).register(server)
    return server


class FindspotServer(Server[Any]):
    """The SDK's server, and the calls that need not go through it."""

    at_once: AtOnce


class AtOnce:
    """Answers searches as soon as their message is read, without a task, a thread or a copy per layer.

    It takes plain calls on connections that had a call answered before. Everything else, errors included, is
    left to the SDK.
    """

    def __init__(self, tools: _ToolHandlers) -> None:
        self._tools = tools
        self._contexts: dict[str | None, Context] = {}
        """The last request that each connection made, by the session of the transport."""

    def note(self, context: Context) -> None:
        """Remember a request that was answered; later calls of its connection can be answered at once."""
        session = transport_session(context)
        if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS and session not in self._contexts:
            self._contexts[session] = context
            on_disconnect(context, lambda: self._contexts.pop(session, None))

    def answer(
        self, body: bytes, session: str | None = None, request: Any = None, *, alone: bool = True
    ) -> bytes | None:
        """Return the answer to a message; None if the SDK has to answer it.

        Call it with every message of a connection, in order. `alone` says that no other call of the client
        waits for an answer; otherwise this call takes its turn.
        """
        known = self._contexts.get(session)
        if known is None or not isinstance(get_tracer_provider(), ProxyTracerProvider):
            return None
        try:
            message = from_json(body)
        except ValueError:
            return None
        if isinstance(message, dict) and message.get("method") == _ROOTS_CHANGED:
            forget_roots(known)  # now: the SDK may get to it only after the next call was answered
            return None
        if not alone or len(body) > _MOST_BYTES or not _is_plain_call(message):
            return None
        version, params = known.session.protocol_version, message["params"]
        context = replace(known, params=params, protocol_version=version, meta=None, request=request)
        answer = self._tools.call_at_once(context, params["name"], params.get("arguments") or {})
        if answer is None:
            return None
        sent = {"jsonrpc": "2.0", "id": message["id"], "result": sent_result(answer, version)}
        try:
            return to_json(sent, inf_nan_mode="null")
        except ValueError:  # a text that cannot be encoded
            return None


_MOST_BYTES = 2_000
"""Of a call that is answered at once: a question of thousands of words takes seconds, and all others wait."""
_OF_A_CALL = {"name", "arguments", "_meta"}
_OF_A_REQUEST = {"jsonrpc", "id", "method", "params"}
_SPECIAL_META = ("io.modelcontextprotocol/", "traceparent", "tracestate", "baggage")


def _is_plain_call(message: Any) -> bool:
    """Return whether a message is a tool call with nothing but a name and arguments."""
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return False
    params, identity = message.get("params"), message.get("id")
    return (
        message.keys() == _OF_A_REQUEST
        and message["jsonrpc"] == "2.0"
        and isinstance(identity, str | int)
        and not isinstance(identity, bool)
        and isinstance(params, dict)
        and params.keys() <= _OF_A_CALL
        and isinstance(params.get("name"), str)
        and isinstance(params.get("arguments", {}), dict)
        and _is_plain_meta(params.get("_meta", {}))
    )


def _is_plain_meta(meta: Any) -> bool:
    if not isinstance(meta, dict) or any(name.startswith(_SPECIAL_META) for name in meta):
        return False
    token = meta.get("progressToken", "")
    return isinstance(token, str | int) and not isinstance(token, bool)


class _ToolHandlers:
    """Answers the requests about tools, on the terms of one server."""

    def __init__(self, registry: Registry, calls: ToolCalls, meter: Meter, terms: Terms) -> None:
        self._registry = registry
        self._calls = calls
        self._meter = meter
        self._terms = terms
        self._toolsets = terms.toolsets or settings_here().serve.toolsets
        """Those that were listed last: their tools can be called."""
        self.at_once = AtOnce(self)

    async def list(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        check_cursor(params)
        serve = settings_here().serve
        self._toolsets = self._terms.toolsets or serve.toolsets
        tools = self._offered(context, self._toolsets)
        enhanced = serve.enhanced_tool_descriptions
        return types.ListToolsResult(tools=[wire_tool(tool, enhanced=enhanced) for tool in tools])

    async def call(self, context: Context, params: types.CallToolRequestParams) -> Any:
        tool = self._registry.find(params.name, self._toolsets)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        with self._meter.call(tool.name) as outcome:
            if (refusal := self._refusal(context, tool)) is not None:
                raise MCPError(types.INVALID_PARAMS, refusal)
            result = await self._calls.answer(context, tool, params)
            outcome.failed = isinstance(result, dict) and bool(result.get("isError"))
            self.at_once.note(context)
            return result

    def call_at_once(self, context: Context, name: str, given: dict[str, Any]) -> Answer | None:
        """Return the answer of a tool; None if the call has to be answered the usual way."""
        tool, started = self._registry.find(name, self._toolsets), time.perf_counter()
        if tool is None or self._refusal(context, tool) is not None:
            return None
        answer = self._calls.answer_at_once(context, tool, given)
        if answer is not None:
            took_s = time.perf_counter() - started
            self._meter.note(tool.name, "ok", took_s)
            _log.debug("tools/call %s answered in %.0f ms", tool.name, took_s * 1000)
        return answer

    async def complete_results(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Middleware: add what the SDK's result types lack, and instructions about the tools offered."""
        result = await call_next(ctx)
        if not isinstance(result, dict):
            return result
        result = shape_result(ctx, result)
        if ctx.method in _GREETINGS and "instructions" in result:
            return result | {"instructions": instructions(self.offered_names(ctx))}
        return result

    def offered_names(self, context: Context) -> frozenset[str]:
        """Return the names of the tools that a client is offered."""
        toolsets = self._terms.toolsets or settings_here().serve.toolsets
        return frozenset(tool.name for tool in self._offered(context, toolsets))

    def _offered(self, context: Context, toolsets: Sequence[str]) -> Sequence[Tool]:
        tools = self._registry.offered(toolsets)
        return [tool for tool in tools if self._refusal(context, tool) is None]

    def _refusal(self, context: Context, tool: Tool) -> str | None:
        """Return why a tool is not offered to a client, if it is not."""
        if self._terms.read_only and not tool.annotations["readOnlyHint"]:
            return f"{tool.name} may change something, and this server is read-only."
        grant = grant_of(context)
        if grant is not None and not grant.everything and tool.toolset != PROJECT_TOOLSET:
            # The other tools answer from what belongs to no project: a token for some has no part in it.
            return f"This token does not allow {tool.name}."
        return None


class _CarriedState:
    """Middleware: seals what clients carry from one call to the next, and opens what they bring back.

    The SDK's middleware is made on first use, because it imports a library of ciphers.
    """

    def __init__(self, key: bytes | None) -> None:
        self._key = key

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method not in INPUT_REQUIRED_METHODS:
            return await call_next(ctx)
        if ctx.params is not None and ctx.params.get("requestState") is not None:
            return await self._boundary(ctx, call_next)
        result = await call_next(ctx)
        if not is_input_required(result):
            return result

        async def answered(_: Context) -> HandlerResult:
            return result

        return await self._boundary(ctx, answered)

    @cached_property
    def _boundary(self) -> RequestStateBoundary:
        from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

        key = self._key
        state = RequestStateSecurity(keys=[key]) if key else RequestStateSecurity.ephemeral()
        return RequestStateBoundary(state, default_audience=NAME)


async def _roots_changed(context: Context, _: types.NotificationParams) -> None:
    forget_roots(context)


async def log_requests(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware: log connections, and at the level `debug` every request with its duration.

    The log never says what was asked.
    """
    started = time.monotonic()
    outcome = "failed"
    try:
        result = await call_next(ctx)
        outcome = "answered"
        return result
    finally:
        if ctx.method == "initialize":
            _log.info("connected: %s", _client_name(ctx.params))
        took_ms = (time.monotonic() - started) * 1000
        _log.debug("%s %s %s in %.0f ms", ctx.method, _tool_name(ctx), outcome, took_ms)


def _client_name(params: Any) -> str:
    """Return a client's name and version, and its version of the protocol."""
    fields = params if isinstance(params, dict) else {}
    info = fields.get("clientInfo")
    named = info if isinstance(info, dict) else {}
    parts = (named.get("name"), named.get("version"), "protocol", fields.get("protocolVersion"))
    return " ".join(str(part)[:_MAX_NAME_CHARS] for part in parts if part)


def _tool_name(ctx: Context) -> str:
    if ctx.method != "tools/call" or not isinstance(ctx.params, dict):
        return ""
    return str(ctx.params.get("name"))[:_MAX_NAME_CHARS]


async def give_errors_a_code(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware: give every error a code of JSON-RPC; the SDK sends unexpected ones with the code 0."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except FindspotError as error:
        raise MCPError(types.INVALID_PARAMS, error.with_hint(), {"code": error.code}) from error
    except Exception as error:
        _log.exception("%s failed unexpectedly", ctx.method)
        raise MCPError(types.INTERNAL_ERROR, UNEXPECTED) from error


def settings_here() -> Settings:
    """Return the settings where the server runs, read each time so that edits count at once."""
    try:
        home, here = home_folder(), working_folder()
    except ProjectNotDetectedError:
        return load_settings()
    indexed = (root for root in folders_around(here) if index_folder(home, root).is_dir())
    root = next(indexed, None) or find_root(here)
    return load_settings(root, index_folder(home, root) if root else None)
