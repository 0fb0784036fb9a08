"""A search over MCP passes through few modules before search begins."""

from __future__ import annotations

from call_path import MOST_MODULES, call_path


def test_a_search_passes_through_few_modules() -> None:
    path = call_path()
    assert path[0] == "findspot.serve.mcp.server"
    assert path[-1] == "findspot.project"
    assert len(path) <= MOST_MODULES, path
