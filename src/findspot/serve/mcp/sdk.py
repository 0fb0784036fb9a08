"""What the server uses of the MCP SDK beyond its public interface, all in one place.

Each of these attributes is named by `tests/unit/serve/mcp/test_sdk_contract.py`: a release of the SDK that
changes one fails there, and is adapted to here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession

Context = ServerRequestContext[Any, Any]
"""A request, as the SDK hands it to a handler."""


def connection_memory(context: Context) -> dict[str, Any]:
    """Return the values that are remembered for as long as the client stays connected."""
    return context.session._connection.state


def on_disconnect(context: Context, action: Callable[[], object]) -> None:
    context.session._connection.exit_stack.callback(action)


async def notify(session: ServerSession, method: str, params: dict[str, Any]) -> None:
    """Send the client a notification that belongs to no request."""
    await session._connection.notify(method, params)


def is_cancelled(session: ServerSession) -> bool:
    requested = getattr(session._request_outbound, "cancel_requested", None)
    return requested is not None and requested.is_set()
