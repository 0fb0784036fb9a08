"""`cortex_search` through a real client: every field, default, limit and error of its specification."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from e2e.conftest import Connect
from e2e.cortex_files import chunk, embedding_service, file_value, write_file, write_samples
from e2e.harness import Connection, Pipe, environment, text_of, until
from loopback import Loopback, Reply

INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603


@pytest.fixture(scope="module")
def service() -> Iterator[Loopback]:
    running = embedding_service()
    yield running
    running.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of chunk files alone."""
    root = tmp_path_factory.mktemp("cortex")
    write_samples(root / ".cortex" / "chunks")
    return root


@pytest.fixture(scope="module")
def server(connect: Connect, folder: Path, service: Loopback) -> Iterator[Connection]:
    settings = {"FINDSPOT_TOOLSETS": "cortex", "CORTEX_EMBEDDING_ENDPOINT": f"{service.url}/embed"}
    with connect(folder, home=folder / "home", env=settings) as connection:
        yield connection


def search(server: Connection, query: str = "password", **arguments: Any) -> dict[str, Any]:
    return server.values("cortex_search", query=query, **arguments)


def ids(answer: dict[str, Any]) -> list[str]:
    return [result["chunk"]["id"] for result in answer["results"]]


def refused(server: Connection, **arguments: Any) -> tuple[int, str]:
    with pytest.raises(MCPError) as caught:
        server.call("cortex_search", **arguments)
    return caught.value.error.code, caught.value.error.message


def test_the_tool_as_it_is_listed(server: Connection) -> None:
    (tool,) = server.tools.values()
    assert tool.name == "cortex_search"
    standard = "Search for relevant context in the project codebase and documentation"
    assert tool.description.startswith(standard)
    assert tool.annotations is not None
    assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (True, False)
    assert tool.input_schema["required"] == ["query"]
    properties = tool.input_schema["properties"]
    assert list(properties) == [
        "query", "limit", "tags", "chunk_types", "min_score", "include_stats", "max_tokens", "format",
    ]  # fmt: skip
    limit = properties["limit"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 100, 15)
    assert properties["min_score"]["default"] == 0.0
    assert properties["include_stats"]["default"] is False


def test_every_field_and_no_embedding(server: Connection) -> None:
    result = server.call("cortex_search", query="check the password of a user", limit=1, format="json")
    expected = chunk("login", "check the password of a user", tags=["code", "go", "auth"])
    del expected["embedding"]
    assert result.structured_content == {"results": [{"chunk": expected, "combined_score": 1.0}], "total": 1}
    assert json.loads(text_of(result)) == result.structured_content
    assert list(result.structured_content["results"][0]["chunk"]) == [
        "id", "chunk_type", "title", "text", "tags", "metadata", "created_at", "updated_at",
    ]  # fmt: skip
    assert "embedding" not in text_of(result)


def test_results_are_ordered_and_counted(server: Connection) -> None:
    answer = search(server, "password session invoice")
    scores = [result["combined_score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert answer["total"] == len(scores)
    assert ids(answer)[0] == "overview"
    assert answer == search(server, "password session invoice")


def test_chunk_types_tags_and_scores_filter(
    server: Connection,
) -> None:
    assert set(ids(search(server, chunk_types=["data", "documentation"]))) == {"limits", "guide"}
    assert ids(search(server, chunk_types="data")) == ["limits"]
    assert set(ids(search(server, chunk_types=[]))) == set(ids(search(server)))
    assert set(ids(search(server, "user", tags=["code", "auth"]))) == {"login", "logout"}
    assert ids(search(server, "user", tags=["code", "auth", "go"])) == ["login"]
    assert ids(search(server, "user", tags=["code", "absent"])) == []
    assert ids(search(server, tags=["architecture"])) == ["guide"]
    assert ids(search(server, tags="typescript", query="session")) == ["logout"]
    exact = search(server, "end the session of a user", min_score=0.99)
    assert ids(exact) == ["logout"]
    assert len(ids(search(server, "end the session of a user", min_score=-1))) == 6


@pytest.mark.parametrize(("limit", "count"), [(0, 1), (-5, 1), ("-3", 1), (2, 2), ("3", 3), (1000, 6)])
def test_the_limit_is_moved_into_its_bounds(server: Connection, limit: Any, count: int) -> None:
    answer = search(server, "password", limit=limit, min_score=-1)
    assert len(ids(answer)) == count
    assert "warning" not in answer


def test_stats(server: Connection) -> None:
    assert "stats" not in search(server)
    stats = search(server, include_stats=True)["stats"]
    assert stats["source"] == "files"
    assert stats["total_chunks"] == 6
    assert stats["chunks_by_type"] == {"data": 1, "definitions": 3, "documentation": 1, "symbols": 1}
    assert (stats["model"], stats["dimensions"]) == ("some-model", 48)
    assert stats["search_time_ms"] > 0


def test_wrong_arguments_are_invalid_parameters(server: Connection) -> None:
    for query in ("", "  \n"):
        assert refused(server, query=query) == (INVALID_PARAMS, "Query cannot be empty")
    assert refused(server) == (INVALID_PARAMS, "Missing required argument: query")
    assert refused(server, query="x", limit="many")[0] == INVALID_PARAMS
    code, message = refused(server, query="x", chunk_types=["code"])
    assert (code, "'documentation'" in message) == (INVALID_PARAMS, True)
    code, message = refused(server, query="x", top_k=5)
    assert (code, "Known arguments: query, limit" in message) == (INVALID_PARAMS, True)


def test_a_service_that_fails(server: Connection, service: Loopback) -> None:
    answer, service.answer = service.answer, lambda _: Reply(503)
    code, message = refused(server, query="x")
    service.answer = answer
    assert (code, "HTTP status 503" in message) == (INTERNAL_ERROR, True)
    assert ids(search(server))


def test_hot_reload_and_a_bad_file(connect: Connect, tmp_path: Path, service: Loopback) -> None:
    chunks = tmp_path / ".cortex" / "chunks"
    write_samples(chunks)
    settings = {"CORTEX_EMBEDDING_ENDPOINT": service.url}
    with connect(tmp_path, home=tmp_path / "home", env=settings) as server:
        log = tmp_path / "home" / "logs" / "findspot.log"
        assert "tea" not in ids(search(server))
        write_file(chunks, "code-data.json", file_value("data", [chunk("tea", "password", "data")]))
        until(lambda: "tea" in ids(search(server)))
        until(lambda: "chunk files reloaded: 6 chunks" in log.read_text())
        write_file(chunks, "code-symbols.json", '{"chunks": [')
        until(lambda: ids(search(server)) and "the old state is kept" in log.read_text())
        assert "code-symbols.json" in log.read_text()
        assert {"tea", "overview"} <= set(ids(search(server)))


def test_without_files_the_index_answers(connect: Connect, fresh: Path, tmp_path: Path) -> None:
    (fresh / "src" / "limits.py").write_text("MAX_RETRIES = 3\nRETRY_AFTER_S = 9\n")
    (fresh / "docs").mkdir(exist_ok=True)
    notes = "---\ntags: [architecture]\n---\n# Notes\n\nWhat is required is tea. #brewing\n"
    (fresh / "docs" / "notes.md").write_text(notes)
    with connect(fresh, home=tmp_path / "own-home") as server:
        code, _ = server.refusal("cortex_search", query="payment")
        assert code == "INDEX_NOT_FOUND"
        server.values("index_codebase", path=str(fresh), confirm=True)
        answer = search(server, "how is a failed payment retried", include_stats=True)
        assert answer["stats"]["source"] == "index"
        assert answer["results"][0]["chunk"]["metadata"]["file_path"] == "src/billing/retry.go"
        symbols = search(server, "payment", chunk_types=["symbols"], tags=["code", "go"])
        assert ids(symbols) == ["code-symbols-src-billing-retry-go"]
        (whole,) = (result["chunk"] for result in symbols["results"])
        assert whole["title"] == "src/billing/retry.go symbols"
        assert whole["tags"] == ["code", "go", "symbols", "src", "billing"]
        assert whole["metadata"] == {
            "source": "code", "file_path": "src/billing/retry.go", "language": "go", "package": "billing",
            "start_line": 1, "end_line": 12, "imports_count": 0, "types_count": 0, "functions_count": 1,
        }  # fmt: skip
        data = search(server, "how many retries", chunk_types=["data"])
        assert data["results"][0]["chunk"]["metadata"]["file_path"] == "src/limits.py"
        tagged = search(server, "what is required", tags=["documentation", "architecture", "brewing"])
        assert tagged["results"][0]["chunk"]["metadata"]["file_path"] == "docs/notes.md"
        docs = search(server, "what is required", chunk_types=["documentation"])
        assert {result["chunk"]["metadata"]["source"] for result in docs["results"]} == {"documentation"}


def start_alone(folder: Path, **settings: str) -> tuple[int, str]:
    """Start a server of this tool alone, which must not start; returns its code and what it said."""
    with Pipe(folder / "home", folder, FINDSPOT_TOOLSETS="cortex", **settings) as pipe:
        code = pipe.ended()
        return code, "".join(pipe.errors)


def test_a_server_of_this_tool_alone_does_not_start_without_what_it_needs(
    tmp_path: Path, service: Loopback
) -> None:
    code, said = start_alone(tmp_path)
    assert (code, "Chunks directory not found" in said) == (1, True)
    code, said = start_alone(tmp_path, CORTEX_CHUNKS_DIR=str(tmp_path / "none"))
    assert (code, f"Chunks directory not found: {tmp_path / 'none'}" in said) == (1, True)
    write_samples(tmp_path / ".cortex" / "chunks")
    code, said = start_alone(tmp_path, CORTEX_EMBEDDING_ENDPOINT="http://127.0.0.1:9")
    assert code == 4
    assert "http://127.0.0.1:9/embed" in said
    assert "CORTEX_EMBEDDING_ENDPOINT" in said
    (tmp_path / ".cortex" / "config.yml").write_text("embedding:\n  dimensions: 384\n")
    code, said = start_alone(tmp_path, CORTEX_EMBEDDING_ENDPOINT=service.url)
    assert (code, "Wrong embedding dimensions" in said) == (1, True)


def test_beside_other_tools_a_missing_service_only_fails_the_call(connect: Connect, tmp_path: Path) -> None:
    write_samples(tmp_path / ".cortex" / "chunks")
    settings = {"CORTEX_EMBEDDING_ENDPOINT": "http://127.0.0.1:9"}
    with connect(tmp_path, home=tmp_path / "home", env=settings) as server:
        assert "search_code" in server.tools
        code, message = refused(server, query="x")
        assert (code, "http://127.0.0.1:9/embed" in message) == (INTERNAL_ERROR, True)


def test_malformed_files_are_left_out_at_the_start(
    connect: Connect, tmp_path: Path, service: Loopback
) -> None:
    write_samples(tmp_path / "kept")
    write_file(tmp_path / "kept", "code-data.json", "{")
    (tmp_path / ".cortex").mkdir()
    (tmp_path / ".cortex" / "config.yml").write_text("server:\n  chunks_dir: kept\n")
    with connect(tmp_path, home=tmp_path / "home", env={"CORTEX_EMBEDDING_ENDPOINT": service.url}) as server:
        answer = search(server, include_stats=True)
        assert "limits" not in ids(answer)
        assert answer["stats"]["skipped_files"][0].startswith("code-data.json: ")
    assert "code-data.json" in (tmp_path / "home" / "logs" / "findspot.log").read_text()


@pytest.mark.parametrize("of_project", [False, True])
def test_the_example_server_runs(portal: BlockingPortal, shop: Path, home: Path, of_project: bool) -> None:
    """A server that somebody else builds, with our tool in it."""
    script = Path(__file__).parents[2] / "examples" / "own_server.py"
    arguments = [str(script), *([str(shop)] if of_project else [])]
    started = StdioServerParameters(command=sys.executable, args=arguments, env=environment(home), cwd=shop)
    with portal.wrap_async_context_manager(Client(started, mode="legacy")) as client:
        tools = {tool.name: tool for tool in portal.call(client.list_tools).tools}
        assert set(tools) == {"cortex_search", "brew"}
        assert tools["cortex_search"].input_schema["properties"]["limit"]["maximum"] == 100
        assert tools["cortex_search"].input_schema["required"] == ["query"]

        def call(**given: Any) -> Any:
            return portal.call(client.call_tool, "cortex_search", given)

        with pytest.raises(MCPError) as caught:
            call(query=" ")
        assert caught.value.error.code == INVALID_PARAMS
        if of_project:
            assert (
                call(query="payment").structured_content.get("code", "INDEX_NOT_FOUND") == "INDEX_NOT_FOUND"
            )
            return
        answer = call(query="how is tea oxidised", limit=500).structured_content
        assert ids(answer) == ["tea", "coffee"]
        assert answer["total"] == 2
        assert ids(call(query="tea", tags=["absent"]).structured_content) == []
