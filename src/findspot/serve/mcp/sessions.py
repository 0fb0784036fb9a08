"""What the log says of sessions: who connected, and which calls took how long; never what was asked."""

from __future__ import annotations

import time
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from findspot.core.log import get_logger

_log = get_logger("mcp")

_MOST_CHARS = 60
"""As much of a client's name as is shown."""


async def log_requests(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware: log connections, and at the level `debug` every request with its duration."""
    started = time.monotonic()
    outcome = "failed"
    try:
        result = await call_next(ctx)
        outcome = "answered"
        return result
    finally:
        if ctx.method == "initialize":
            _log.info("connected: %s", _client(ctx.params))
        took_ms = (time.monotonic() - started) * 1000
        _log.debug("%s %s %s in %.0f ms", ctx.method, _tool(ctx), outcome, took_ms)


def _client(params: Any) -> str:
    """Return a client's name and version, and its version of the protocol."""
    held = params if isinstance(params, dict) else {}
    info = held.get("clientInfo")
    named = info if isinstance(info, dict) else {}
    about = (named.get("name"), named.get("version"), "protocol", held.get("protocolVersion"))
    return " ".join(str(part)[:_MOST_CHARS] for part in about if part)


def _tool(ctx: ServerRequestContext[Any, Any]) -> str:
    if ctx.method != "tools/call" or not isinstance(ctx.params, dict):
        return ""
    return str(ctx.params.get("name"))[:_MOST_CHARS]
