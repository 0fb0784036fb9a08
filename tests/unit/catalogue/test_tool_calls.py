"""Which tools need confirmation, and which addresses a server may ask to open."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest

from findspot.catalogue.server_pool import LiveConnection
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_calls import is_destructive
from findspot.catalogue.tool_record import ToolDefinition


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        (None, None),
        ({}, None),
        ({"readOnlyHint": False}, None),
        ({"readOnlyHint": True}, False),
        ({"readOnlyHint": True, "destructiveHint": True}, True),
        ({"readOnlyHint": True, "destructiveHint": False}, False),
        ({"destructiveHint": False}, False),
        ({"destructiveHint": True}, True),
        ({"destructiveHint": "yes"}, None),
    ],
)
def test_what_a_server_says_about_its_tool(hints: Any, expected: bool | None) -> None:
    assert is_destructive(ToolDefinition("s__t", "s", annotations=hints)) is expected


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("https://example.com/login", True),
        ("HTTP://127.0.0.1:1/x", True),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)//https://example.com", False),
        ("vscode://command", False),
        (" https://example.com", False),
    ],
)
def test_a_server_asks_to_open_web_addresses_only(url: str, is_one: bool) -> None:
    """Nobody is asked about others: without a call that could be asked, the answer would be `cancel`."""
    params = types.ElicitRequestURLParams(message="Open it", url=url, elicitation_id="1")
    spec = ServerSpec("s", url="https://example.com")

    async def ask() -> types.ElicitResult:
        return await LiveConnection(spec)._elicit(None, params)

    assert anyio.run(ask).action == ("cancel" if is_one else "decline")
