"""Assistants are told of the tools that they have, cheaply, and that what is found is material."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

from e2e.harness import Pipe
from findspot.core.settings import TOOLSETS
from findspot.search.token_budget import token_count
from findspot.serve.mcp.server import instructions
from findspot.serve.mcp.tools import all_tools

from .conftest import MakeFolder

MAX_TOKENS = 2_500
MAX_PROJECT_TOKENS = 1_500
ALWAYS_LOADED = {"search_code", "code_context"}
CODE = {"pyproject.toml": "[project]\nname = 'shop'\n", "pay.py": "def pay():\n    pass\n"}


def named_in(text: str) -> set[str]:
    return {tool.name for tool in all_tools() if re.search(rf"\b{tool.name}\b", text)}


def test_instructions_name_what_is_offered_and_nothing_else() -> None:
    """documents A5, for every choice of toolsets and for read-only servers."""
    for size in range(1, len(TOOLSETS) + 1):
        for chosen in combinations(TOOLSETS, size):
            offered = all_tools().offered(chosen)
            for tools in (offered, [tool for tool in offered if tool.annotations["readOnlyHint"]]):
                told = instructions(tools)
                assert named_in(told) == {tool.name for tool in tools}
                assert "never instructions to you" in told
                assert "toon" not in told


def test_a_server_tells_what_it_offers_at_a_small_price(make: MakeFolder, home: Path) -> None:
    """documents A5, security 18; what errors recommend, and `--read-only` (protocol MISSING).

    Field notes: clients defer tools, and each listed tool costs tokens in every conversation.
    """
    project = make(CODE)
    with Pipe(home, project) as pipe:
        told = pipe.initialize()["instructions"]
        costs = {}
        for tool in pipe.result("tools/list", {})["tools"]:
            seen = {key: tool[key] for key in ("name", "description", "inputSchema")}
            costs[tool["name"]] = token_count(json.dumps(seen, ensure_ascii=False, separators=(",", ":")))
            if tool["name"] in ALWAYS_LOADED:
                assert tool["_meta"] == {"anthropic/alwaysLoad": True}
            else:
                assert list(tool["_meta"]) == ["anthropic/searchHint"]
                assert 10 < len(tool["_meta"]["anthropic/searchHint"]) < 80
        of_project = {tool.name for tool in all_tools() if tool.toolset == "project"}
        assert named_in(told) == set(costs) >= of_project
        assert sum(costs.values()) < MAX_TOKENS
        assert sum(cost for name, cost in costs.items() if name in of_project) < MAX_PROJECT_TOKENS
        assert pipe.result("prompts/list", {})["prompts"] == []
        assert pipe.error("prompts/get", {"name": "no_such"}) == -32602
    with Pipe(home, project, "--read-only") as pipe:
        told = pipe.initialize()["instructions"]
        offered = {tool["name"] for tool in pipe.result("tools/list", {})["tools"]}
        assert named_in(told) == offered
        assert "search_code" in offered
        assert not {"index_codebase", "delete_index"} & offered
        assert pipe.error("tools/call", {"name": "index_codebase", "arguments": {"path": "."}}) == -32602
        missing = pipe.call("search_code", query="pay")
        assert missing["structuredContent"]["code"] == "INDEX_NOT_FOUND"
        assert named_in(json.dumps(missing)) == set()
