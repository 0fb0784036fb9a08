"""Arguments against schemas, and which tools need confirmation."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest

from findspot.catalogue.tool_calls import (
    ToolArgumentsError,
    check_arguments,
    is_destructive,
    only_web_addresses,
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
        (of(a={"type": "integer"}), {"a": 1}, None),
        (of(a={"type": "integer"}), {"a": True}, "a: true is not of type 'integer'"),
        (of(a={"type": "integer"}), {"a": None}, "a: null is not of type 'integer'"),
        (of(a={"enum": ["x", None]}), {"a": "y"}, 'a: "y" is not one of ["x", null]'),
        (of(a=of(b={"type": "array", "items": {"type": "string"}})), {"a": {"b": ["x", 2]}}, "a.b[1]: 2 is"),
        (of(a={"$ref": "#/$defs/n"}) | {"$defs": {"n": {"minimum": 2}}}, {"a": 1}, "a: 1 is less than"),
        (of() | {"required": ["q"]}, {}, "'q' is a required property"),
        (of(q={"enum": ["css"], "default": "css"}) | {"required": ["q"]}, {}, None),
        (of(q={"default": 1}, r={}) | {"required": ["q", "r"]}, {}, ": 'r' is a required property."),
    ],
)
def test_the_exact_problem_is_named(schema: Any, arguments: Any, expected: str | None) -> None:
    found = problem(schema, arguments)
    assert (found is None) if expected is None else (found is not None and expected in found)


@pytest.mark.parametrize(
    "schema",
    [
        of(a={"type": "no such type"}),
        of(a={"$ref": "https://example.org/schema.json"}),
        of(a={"$ref": "#/missing"}),
        {"type": 5},
        {"properties": []},
        {"$schema": "https://example.org/other", "properties": {"a": {"minimum": "x"}}},
    ],
)
def test_a_schema_that_cannot_be_used_checks_nothing(schema: Any) -> None:
    assert problem(schema, {"a": 1}) is None


def test_patterns_are_left_to_the_server() -> None:
    hostile = of(a={"pattern": "(a+)+$"}) | {
        "additionalProperties": False,
        "patternProperties": {"(x+)+$": {}},
    }
    assert problem(hostile, {"a": "a" * 60 + "b", "x" * 60 + "y": 1}) is None
    assert problem(of(a={"pattern": "("}), {"a": "x"}) is None


def doubling(**about: Any) -> dict[str, Any]:
    """A schema of two references per level: 2^40 steps."""
    levels = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(40)}
    return {"$defs": levels | {"l40": {"type": "object"}}, "allOf": [{"$ref": "#/$defs/l0"}], **about}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (doubling(), {"a": 1}),
        (doubling(unevaluatedProperties=False), {"a": 1}),
        ({"$schema": "http://json-schema.org/draft-07/schema#", **doubling()}, {"a": 1}),
        ({"allOf": [{"type": "string"}] * 40_000}, {"a": "x" * 1_000_000}),
        ({"allOf": [of(**{f"p{n}": {} for n in range(1_000)})] * 100}, {"p1": 1}),
        (of(a={"uniqueItems": True}), {"a": [{"n": n} for n in range(30_000)]}),
        (of(a={"type": "string"}, b={"description": "x" * 2_000_000}), {"a": 1}),
        ({"$defs": {"n": {"$anchor": "n"}}, "allOf": [{"$ref": "#n"}] * 10_000}, {"a": 1}),
    ],
)
def test_a_check_that_would_take_long_is_left_to_the_server(schema: Any, arguments: Any) -> None:
    assert problem(schema, arguments) is None


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
    ("url", "action"),
    [
        ("https://example.com/login", "accept"),
        ("HTTP://127.0.0.1:1/x", "accept"),
        ("file:///etc/passwd", "decline"),
        ("javascript:alert(1)//https://example.com", "decline"),
        ("vscode://command", "decline"),
        (" https://example.com", "decline"),
    ],
)
def test_a_server_asks_to_open_web_addresses_only(url: str, action: str) -> None:
    async def accept(_params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept")

    params = types.ElicitRequestURLParams(message="Open it", url=url, elicitation_id="1")
    assert anyio.run(only_web_addresses(accept), params).action == action
