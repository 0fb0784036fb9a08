"""What a client sees before it calls anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from e2e.conftest import Connect
from e2e.harness import Connection
from findspot.serve.mcp.tool import Registry
from findspot.serve.mcp.tools import all_tools

ORDER = [
    "create_index",
    "index_codebase",
    "search_code",
    "search_docs",
    "search_by_path",
    "code_research",
    "code_context",
    "get_index_status",
    "list_projects",
    "reindex_project",
    "reindex_file",
    "delete_index",
]
SURFACE = [
    *ORDER,
    "cortex_search",
    "search_index",
    "search_add_document",
    "search_create_index",
    "search_tools",
    "get_tool",
    "call_tool",
]
"""Every tool there is to be, in order; what is not built yet is not listed."""

READ_ONLY = {
    "search_code",
    "search_docs",
    "search_by_path",
    "code_research",
    "code_context",
    "get_index_status",
    "list_projects",
}
DESTRUCTIVE = {"reindex_project", "delete_index"}
IN_EVERY_ANSWER = {"code", "userMessage", "developerMessage", "error", "status", "warning"}


def in_order(names: Iterable[str]) -> bool:
    """Whether these are tools of the surface, in its order, with all of the project's among them."""
    listed = list(names)
    return listed == [name for name in SURFACE if name in listed] and set(ORDER) <= set(listed)


def test_tools_are_listed_in_their_order_with_the_standard_descriptions(server: Connection) -> None:
    assert in_order(server.tools)
    assert server.tools["search_docs"].description.startswith("Search documentation files (.md, .txt)")
    assert server.tools["search_code"].description.startswith("Search your codebase for relevant code")


@pytest.mark.parametrize("name", ORDER)
def test_every_tool_is_fully_described_and_says_what_it_may_do(server: Connection, name: str) -> None:
    tool = server.tools[name]
    assert tool.title
    assert tool.description
    assert tool.icons
    assert tool.icons[0].src.startswith("data:image/svg+xml,")
    assert tool.input_schema["type"] == "object"
    assert tool.output_schema is not None
    assert tool.output_schema["type"] == "object"
    assert "required" not in tool.output_schema
    assert set(tool.output_schema["properties"]) >= IN_EVERY_ANSWER
    for schema in (tool.input_schema, tool.output_schema):
        Draft202012Validator.check_schema(schema)
    told = server.tools[name].annotations
    assert told is not None
    assert told.read_only_hint is (name in READ_ONLY)
    assert told.destructive_hint is (name in DESTRUCTIVE)
    assert told.idempotent_hint is (name not in DESTRUCTIVE)
    assert told.open_world_hint is False


def test_enhanced_descriptions_and_toolsets_follow_the_settings(connect: Connect, shop: Path) -> None:
    settings = {"FINDSPOT_ENHANCED_TOOL_DESCRIPTIONS": "true"}
    with connect(shop, env=settings) as enhanced:
        assert enhanced.tools["search_docs"].description == (
            "Search documentation files (.md, .txt). **TIP:** For follow-up questions about a doc already "
            "in context, use this tool instead of re-reading the entire file - more precise results, less "
            "context usage."
        )
        assert enhanced.tools["search_code"].description == (
            "Search your codebase for relevant code using natural language. **TIP:** Prefer this over "
            "reading full files when looking for specific functions, patterns, or implementations."
        )
        assert in_order(enhanced.tools)


def test_registering_again_replaces_in_place() -> None:
    again = replace(next(iter(all_tools())), title="Another title")
    registry = Registry([*all_tools(), again])
    assert in_order(tool.name for tool in registry)
    assert next(iter(registry)).title == "Another title"
