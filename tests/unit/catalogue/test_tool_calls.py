"""Arguments against schemas, and which tools need confirmation."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest

from findspot.catalogue.server_pool import LiveConnection
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_calls import (
    ToolArgumentsError,
    check_arguments,
    is_destructive,
)
from findspot.catalogue.tool_record import ToolDefinition


def problem(schema: dict[str, Any], arguments: dict[str, Any]) -> str | None:
    try:
        check_arguments(ToolDefinition("s__t", "s", input_schema=schema), arguments)
    except ToolArgumentsError as error:
        return error.user_message
    return None


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"),
    [
        ({}, {"anything": 1}, None),
        (of(a={"type": "integer"}), {"a": "two"}, None),
        (of() | {"required": ["q"]}, {}, "'q' is a required property"),
        (of(q={"enum": ["css"], "default": "css"}) | {"required": ["q"]}, {}, None),
        (of(q={"default": 1}, r={}) | {"required": ["q", "r"]}, {}, ": 'r' is a required property."),
        (of(a={}) | {"additionalProperties": False}, {"a": 1, "b": 2}, ": 'b' was unexpected."),
        (of() | {"additionalProperties": False, "patternProperties": {"b": {}}}, {"b": 2}, None),
        ({"properties": [], "required": "q", "additionalProperties": {}}, {"a": 1}, None),
        (of(q=3) | {"required": ["q", {}]}, {"q": 1}, None),
    ],
)
def test_the_exact_problem_is_named(schema: Any, arguments: Any, expected: str | None) -> None:
    found = problem(schema, arguments)
    assert (found is None) if expected is None else (found is not None and expected in found)


def test_many_problems_are_counted() -> None:
    found = problem(of() | {"required": [f"p{number}" for number in range(9)]}, {})
    assert found is not None
    assert found.endswith("; and 4 more.")


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
