"""An assistant has the tools at hand from the start, at a price that is small and known."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import Draft202012Validator

from e2e.harness import Pipe
from findspot.search.token_budget import token_count
from findspot.serve.mcp.tools import all_tools

from .conftest import MakeFolder

MAX_TOKENS = 2_500
MAX_PROJECT_TOKENS = 1_500
ALWAYS_LOADED = {"search_code", "code_context"}


def test_what_listing_the_tools_costs_and_which_are_always_loaded(make: MakeFolder, home: Path) -> None:
    """Field notes: clients defer tools, and each listed tool costs tokens in every conversation."""
    folder = make({"pay.py": "def pay():\n    pass\n"})
    with Pipe(home, folder) as pipe:
        pipe.initialize()
        listed = pipe.result("tools/list", {})["tools"]
    costs = {}
    for tool in listed:
        seen = {key: tool[key] for key in ("name", "description", "inputSchema")}
        costs[tool["name"]] = token_count(json.dumps(seen, ensure_ascii=False, separators=(",", ":")))
        for schema in (tool["inputSchema"], tool.get("outputSchema", {})):
            Draft202012Validator.check_schema(schema)
        if tool["name"] in ALWAYS_LOADED:
            assert tool["_meta"] == {"anthropic/alwaysLoad": True}
        else:
            assert list(tool["_meta"]) == ["anthropic/searchHint"]
            assert 10 < len(tool["_meta"]["anthropic/searchHint"]) < 80
    assert set(costs) >= ALWAYS_LOADED
    assert sum(costs.values()) < MAX_TOKENS
    project = {tool.name for tool in all_tools() if tool.toolset == "project"}
    assert sum(cost for name, cost in costs.items() if name in project) < MAX_PROJECT_TOKENS
    with Pipe(home, folder, "--toolsets", "project") as pipe:
        assert "search_tools" not in pipe.initialize()["instructions"]
        assert {tool["name"] for tool in pipe.result("tools/list", {})["tools"]} == project
        assert pipe.error("tools/call", {"name": "search_index", "arguments": {"query": "pay"}}) == -32602
