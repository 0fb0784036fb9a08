"""`search_tools` and `get_tool` through a real client: every field, default, limit and error text."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from e2e.conftest import Connect
from e2e.harness import Connection, text_of
from findspot.catalogue.catalogue import BuildOptions, Catalogue
from findspot.embed.provider_registry import open_embedder

TOOLS: list[dict[str, Any]] = [
    {
        "name": "read_file",
        "title": "Read File",
        "description": "Read contents of a file",
        "serverName": "filesystem",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": True},
    },
    {"name": "get_forecast", "description": "Weather for the next days in a city.", "serverName": "weather"},
    *({"name": f"numbered_{n:02}", "description": "One of many.", "serverName": "many"} for n in range(60)),
]


def make(
    folder: Path,
    user: Path,
    tools: Any = TOOLS,
    name: str = "tools.json",
    *,
    provider: str | None = "local:static",
) -> Path:
    """An indexed project; returns its root."""
    folder.mkdir(parents=True, exist_ok=True)
    user.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(tools))
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(user)
    try:
        catalogue = Catalogue(folder, user / "findspot", open_embedder)
        catalogue.indexer.index(
            [folder / name],
            BuildOptions(),
            provider=provider,
            agree=list,
            replace_sources=True,
        )
    finally:
        os.environ["HOME"] = before or ""
    return folder


@pytest.fixture(scope="module")
def server(connect: Connect, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A server of these tools alone, in a project with a catalogue."""
    user = tmp_path_factory.mktemp("user")
    root = make(user / "project", user)
    settings = {"FINDSPOT_TOOLSETS": "catalogue", "HOME": str(user)}
    with connect(root, home=user / "findspot", env=settings) as connection:
        yield connection


def found(server: Connection, query: str, /, **arguments: Any) -> list[str]:
    return [tool["name"] for tool in server.values("search_tools", query=query, **arguments)["tools"]]


def test_these_tools_are_offered_in_order(server: Connection) -> None:
    assert list(server.tools) == ["search_tools", "get_tool", "call_tool"], "before a server is agreed to"
    search, get, _ = server.tools.values()
    for tool in (search, get):
        assert all((tool.title, tool.description, tool.icons))
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert "required" not in (tool.output_schema or {})
    properties = search.input_schema["properties"]
    assert list(properties) == ["query", "mode", "top_k", "threshold", "server"]
    assert search.input_schema["required"] == ["query"]
    assert properties["mode"]["enum"] == ["regex", "bm25", "embedding", "hybrid"]
    assert properties["mode"]["description"] == "Default: hybrid"
    top_k, threshold = properties["top_k"], properties["threshold"]
    assert (top_k["default"], top_k["minimum"], top_k["maximum"]) == (10, 1, 50)
    assert (threshold["default"], threshold["minimum"], threshold["maximum"]) == (0, 0, 1)
    assert list(get.input_schema["properties"]) == get.input_schema["required"] == ["name"]


def test_the_fields_of_an_answer(server: Connection) -> None:
    result = server.call("search_tools", query="read a file", mode="bm25")
    answer = result.structured_content
    assert isinstance(answer, dict)
    assert json.loads(text_of(result)) == answer
    assert set(answer) == {"tools", "total", "totalIndexed", "searchTimeMs"}
    assert (answer["total"], answer["totalIndexed"]) == (1, 62)
    assert 0 <= answer["searchTimeMs"] < 10_000
    assert answer["tools"] == [
        {
            "name": "filesystem__read_file",
            "title": "Read File",
            "description": "Read contents of a file",
            "serverName": "filesystem",
            "score": answer["tools"][0]["score"],
            "matchType": "bm25",
        }
    ]
    assert server.values("search_tools", query="read a file")["tools"][0]["matchType"] == "hybrid"
    assert "title" not in server.values("search_tools", query="weather")["tools"][0]


@pytest.mark.parametrize(
    ("mode", "query", "score"),
    [
        ("regex", "read.*file", 1.0),
        ("bm25", "file contents", None),
        ("hybrid", "open a file and read it", None),
        ("embedding", "open a file and read it", None),
    ],
)
def test_every_mode(server: Connection, mode: str, query: str, score: float | None) -> None:
    first = server.values("search_tools", query=query, mode=mode)["tools"][0]
    assert (first["name"], first["matchType"]) == ("filesystem__read_file", mode)
    assert first["score"] == score if score is not None else 0.4 < first["score"] < 1


def test_counts_limits_and_one_server(server: Connection) -> None:
    assert len(found(server, "numbered")) == 10
    assert found(server, "numbered", top_k=2, mode="bm25") == ["many__numbered_00", "many__numbered_01"], (
        "ties by name"
    )
    answer = server.values("search_tools", query="numbered", top_k=500, mode="bm25")
    assert (len(answer["tools"]), answer["total"]) == (50, 60)
    assert answer["warning"] == "top_k was lowered from 500 to its maximum of 50."
    assert found(server, "city read", threshold=1) == []
    assert found(server, "numbered", top_k="3") == found(server, "numbered", top_k=3)
    assert found(server, "a", mode="regex", server="weather") == ["weather__get_forecast"]
    code, text = server.refusal("search_tools", query="a", server="elsewhere")
    assert (code, text) == ("INVALID_ARGUMENT", "There is no server 'elsewhere' in the catalogue.")


@pytest.mark.parametrize("mode", ["embedding", "hybrid"])
def test_a_query_that_no_tool_fits_is_told_so(server: Connection, mode: str) -> None:
    answer = server.values("search_tools", query="zoological taxonomy of ctenophores", mode=mode)
    assert 1 <= len(answer["tools"]) == answer["total"] <= 6
    assert answer["nearest"] == [tool["name"] for tool in answer["tools"][:3]]
    assert answer["message"].startswith(f"Nothing fits well. Nearest: {', '.join(answer['nearest'])}. ")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "Missing required argument: query"),
        ({"query": " "}, "Query cannot be empty"),
        ({"query": "x", "mode": "fuzzy"},
         "'mode' must be one of 'regex', 'bm25', 'embedding', 'hybrid', not 'fuzzy'."),
        ({"query": "x", "top_k": 0}, "'top_k' must be a whole number from 1 to 50, not 0."),
        ({"query": "x", "threshold": 1.5}, "'threshold' must be a number from 0 to 1, not 1.5."),
        ({"query": "x", "limit": 3},
         "Unknown argument: 'limit'. Known arguments: query, mode, top_k, threshold, server."),
    ],
)  # fmt: skip
def test_what_is_refused(server: Connection, arguments: dict[str, Any], text: str) -> None:
    assert server.refusal("search_tools", **arguments) == ("INVALID_ARGUMENT", text)


def test_patterns_are_checked_bounded_and_never_hang(server: Connection) -> None:
    """A matcher that backtracks would take years for the last two."""
    result = server.call("search_tools", query="read(file", mode="regex")
    assert text_of(result) == "The search pattern 'read(file' is invalid. Please check the syntax."
    assert getattr(result.content[1], "text", None) == "Wrong at character 5: unclosed group."
    assert server.refusal("search_tools", query="x" * 2_001, mode="regex")[0] == "INVALID_PATTERN"
    for pattern in ("x" * 2_000, "(a+)+$", "(.*.*)*=.*"):
        assert found(server, pattern, mode="regex") == []


def test_one_tool_in_full(server: Connection) -> None:
    expected = {key: value for key, value in TOOLS[0].items() if key != "serverName"}
    expected["name"] = "filesystem__read_file"
    answer = server.values("get_tool", name="filesystem__read_file")
    assert server.values("get_tool", name="read_file") == answer
    assert answer.pop("access")["state"] == "no_server", "its tools come from a file"
    assert answer == {"tool": expected, "serverName": "filesystem"}
    small = server.values("get_tool", name="weather__get_forecast")["tool"]
    assert set(small) == {"name", "description", "inputSchema"}
    result = server.call("get_tool", name="filesystem__raed_file")
    assert result.is_error
    assert text_of(result) == "Tool not found: filesystem__raed_file"
    assert result.content[1].text == "Did you mean: filesystem__read_file?"  # type: ignore[union-attr]
    assert server.refusal("get_tool") == ("INVALID_ARGUMENT", "Missing required argument: name")


def test_a_catalogue_is_missing_made_damaged_mended_and_joined_by_the_users(
    connect: Connect, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    index = root / ".please" / "mcp" / "index.json"
    settings = {"FINDSPOT_TOOLSETS": "catalogue", "HOME": str(tmp_path)}
    with connect(root, home=tmp_path / "findspot", env=settings) as connection:
        for name, arguments in (("search_tools", {"query": "x"}), ("get_tool", {"name": "x"})):
            result = connection.call(name, **arguments)
            assert result.is_error
            assert result.structured_content["code"] == "INDEX_NOT_FOUND"  # type: ignore[index]
            assert text_of(result) == "There is no tool catalogue yet."
            assert "findspot tools index" in result.content[1].text  # type: ignore[union-attr]
        make(root, tmp_path)
        assert found(connection, "read")[0] == "filesystem__read_file"
        index.write_text('{"tools": [')
        code, text = connection.refusal("search_tools", query="read")
        assert code == "INDEX_CORRUPT"
        assert text.startswith(f"The tool catalogue {index} cannot be read: ")
        index.unlink()
        make(root, tmp_path)
        make(tmp_path, tmp_path, [{"name": "knit", "description": "Knit a jumper."}], "own.json")
        assert found(connection, "jumper")[0] == "own__knit"
        assert found(connection, "read")[0] == "filesystem__read_file"
        with pytest.raises(MCPError, match="Unknown tool: search_code"):
            connection.portal.call(connection.client.call_tool, "search_code", {"query": "x"})


def test_a_catalogue_without_vectors_or_with_another_models(connect: Connect, tmp_path: Path) -> None:
    tools = [{"name": "tell", "description": "word " * 1_000, "serverName": name} for name in ("a", "b")]
    root = make(tmp_path / "project", tmp_path, tools, provider=None)
    settings = {"FINDSPOT_TOOLSETS": "catalogue", "HOME": str(tmp_path)}
    with connect(root, home=tmp_path / "findspot", env=settings) as connection:
        for mode in ("embedding", "hybrid"):
            code, text = connection.refusal("search_tools", query="word", mode=mode)
            assert code == "INVALID_ARGUMENT"
            assert text == f"This tool catalogue was built without embeddings, which mode '{mode}' needs."
        shown = connection.values("search_tools", query="word")["tools"]
        assert [len(tool["description"]) for tool in shown] == [2_000, 2_000], "a list shows the beginning"
        assert len(connection.values("get_tool", name="a__tell")["tool"]["description"]) == 5_000
        result = connection.call("get_tool", name="tell")
        assert getattr(result.content[1], "text", None) == "Did you mean: a__tell, b__tell?"
        path = make(root, tmp_path) / ".please" / "mcp" / "index.json"
        path.write_text(path.read_text().replace('"embeddingRevision": "', '"embeddingRevision": "other-'))
        assert connection.refusal("search_tools", query="read", mode="embedding")[0] == "MODEL_MISMATCH"
        assert found(connection, "read") == ["filesystem__read_file"]
