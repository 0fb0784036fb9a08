"""Where `serve --http` listens, and what the tools cost."""

from __future__ import annotations

import pytest

from findspot.core.errors import InvalidArgumentError
from findspot.core.setting_keys import TOOLSETS
from findspot.serve.mcp.http_server import parse_address
from findspot.serve.mcp.tool_results import costs_page, tool_tokens
from findspot.serve.mcp.tools import all_tools


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("", ("127.0.0.1", 8765)),
        ("9000", ("127.0.0.1", 9000)),
        ("localhost", ("localhost", 8765)),
        ("localhost:0", ("localhost", 0)),
        (":9000", ("127.0.0.1", 9000)),
        ("[::1]:9000", ("::1", 9000)),
        ("[::1]", ("::1", 8765)),
        ("::1", ("::1", 8765)),
    ],
)
def test_an_address(given: str, meant: tuple[str, int]) -> None:
    assert parse_address(given) == meant


@pytest.mark.parametrize("given", ["host:port", "host:99999", "host:-1"])
def test_no_address(given: str) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_address(given)


def test_the_cost_of_each_toolset_is_the_sum_of_its_tools() -> None:
    registry = all_tools()
    page = costs_page(registry)
    for toolset in TOOLSETS:
        total = sum(tool_tokens(tool) for tool in registry.offered((toolset,)))
        assert f"{toolset:<24}{total:>7,}\n" in page
    assert all(tool_tokens(tool, enhanced=True) >= tool_tokens(tool) for tool in registry)
