"""What tools take, and how they say what they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from e2e.harness import Connection, Pipe

REQUIRED = {
    "index_codebase": "path",
    "search_code": "query",
    "search_docs": "query",
    "search_by_path": "pattern",
    "reindex_file": "path",
}
OTHERS = ["create_index", "get_index_status", "list_projects", "reindex_project", "delete_index"]


@pytest.mark.parametrize("tool", [*REQUIRED, *OTHERS])
def test_an_unknown_argument_is_refused_with_the_known_ones(server: Connection, tool: str) -> None:
    code, text = server.refusal(tool, nonsense=1)
    assert code == "INVALID_ARGUMENT"
    known = ", ".join(server.tools[tool].input_schema["properties"]) or "none"
    assert text == f"Unknown argument: 'nonsense'. Known arguments: {known}."


@pytest.mark.parametrize(("tool", "name"), REQUIRED.items())
def test_a_missing_or_empty_argument_is_named(server: Connection, tool: str, name: str) -> None:
    expected = ("INVALID_ARGUMENT", f"Missing required argument: {name}")
    assert server.refusal(tool) == expected
    assert server.refusal(tool, **{name: None}) == expected
    assert server.refusal(tool, **{name: " "}) == ("INVALID_ARGUMENT", f"{name.capitalize()} cannot be empty")


@pytest.mark.parametrize(
    "arguments",
    [
        {"limit": "3"},
        {"limit": 3.0},
        {"limit": "3.0"},
        {"languages": "python"},
        {"languages": ["python", "go"]},
        {"languages": "python, go"},
        {"explain": "true"},
        {"include_tests": True},
        {"include_tests": False},
        {"group_by": "passage"},
        {"offset": "0", "max_tokens": "4000", "semantic_weight": "0.5"},
        {"path": None, "mode": None, "limit": None, "exclude": None},
    ],
)
def test_what_is_clear_is_accepted(server: Connection, arguments: dict[str, Any]) -> None:
    assert server.values("search_code", query="login", **arguments)["results"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"limit": "many"}, "'limit' must be a whole number from 1 to 100, not 'many'."),
        ({"limit": 1.5}, "'limit' must be a whole number from 1 to 100, not 1.5."),
        ({"limit": True}, "'limit' must be a whole number from 1 to 100, not True."),
        ({"limit": -1}, "'limit' must be a whole number from 1 to 100, not -1."),
        ({"limit": "1e999"}, "'limit' must be a whole number from 1 to 100, not '1e999'."),
        ({"limit": [1]}, "'limit' must be a whole number from 1 to 100, not [1]."),
        ({"offset": -1}, "'offset' must be a whole number of at least 0, not -1."),
        ({"query": 7}, "'query' must be a string, not 7."),
        ({"query": {"a": 1}}, "'query' must be a string, not {'a': 1}."),
        ({"explain": "maybe"}, "'explain' must be true or false, not 'maybe'."),
        ({"explain": 3}, "'explain' must be true or false, not 3."),
        ({"languages": 3}, "'languages' must be a list of strings, not 3."),
        ({"languages": ["go", 3]}, "'languages' must be a list of strings, not ['go', 3]."),
        ({"mode": "magic"}, "'mode' must be one of 'hybrid', 'semantic', 'keyword', 'regex', not 'magic'."),
        ({"format": "xml"}, "'format' must be one of 'json', 'toon', 'human', 'compact', not 'xml'."),
        ({"include_tests": "maybe"}, "'include_tests' must be one of 'auto', 'yes', 'no', not 'maybe'."),
    ],
)
def test_what_is_not_clear_is_refused(server: Connection, arguments: dict[str, Any], text: str) -> None:
    assert server.refusal("search_code", **{"query": "login", **arguments}) == ("INVALID_ARGUMENT", text)


def test_a_path_that_does_not_exist_is_named(server: Connection, shop: Path) -> None:
    for tool, name, more in (
        ("search_code", "path", {"query": "x"}),
        ("search_docs", "path", {"query": "x"}),
        ("index_codebase", "path", {}),
        ("create_index", "project", {}),
        ("search_by_path", "project", {"pattern": "*"}),
        ("get_index_status", "project", {}),
        ("reindex_project", "project", {}),
        ("reindex_file", "project", {"path": "x.py"}),
        ("delete_index", "project", {}),
    ):
        for path in ("/no/such/folder", str(shop / "README.md"), "not/here", "~nobody/x", "\x00"):
            expected = ("PATH_NOT_FOUND", f"Path does not exist or is not a directory: {path}")
            assert server.refusal(tool, **{name: path}, **more) == expected


def test_an_unknown_tool_is_a_protocol_error(pipe: Pipe) -> None:
    pipe.initialize()
    for name in ("no_such_tool", "", "Search_Code"):
        error = pipe.answer(pipe.ask_tool(name, {}))["error"]
        assert error["code"] == -32602
        assert error["message"] == f"Unknown tool: {name}"
    assert "error" in pipe.answer(pipe.ask("tools/call", {"name": "search_code", "arguments": "text"}))
    refused = pipe.answer(pipe.ask("tools/call", {"name": "search_code"}))["result"]
    assert refused["content"][0]["text"] == "Missing required argument: query"
