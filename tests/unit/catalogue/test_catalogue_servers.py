"""Asking real servers, over pipes and HTTP, good ones and bad ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from findspot.catalogue import server_pool
from findspot.catalogue.catalogue import Built, Catalogue
from findspot.catalogue.search_modes import EmbeddingStrategy
from findspot.catalogue.server_registry import read_build_record
from findspot.catalogue.transports import ProcessNotes
from findspot.engine import Engine
from remote_server import RemoteServer

from .conftest import TOOLS, Write, entry, index

Open = Callable[[], Catalogue]


def outcomes(built: Built) -> dict[str, tuple[str, int]]:
    return {server.name: (str(server.outcome), server.tools) for server in built.servers}


def errors(built: Built) -> dict[str, str]:
    return {server.name: server.error for server in built.servers if server.error}


def names(catalogue: Catalogue) -> set[str]:
    return set(catalogue.tools().names)


def test_servers_over_pipes_and_http_are_asked(open_catalogue: Open, write: Write) -> None:
    opened = open_catalogue()
    with RemoteServer(needs_login=False) as server:
        config = {"local": entry("notes"), "web": {"type": "http", "url": server.url}}
        built = index(opened, write("mcp.json", {"mcpServers": config}))
    assert outcomes(built) == {"local": ("indexed", 3), "web": ("indexed", 1)}
    local = {f"local__{tool}" for tool in ("read_note", "write_note", "weather")}
    assert names(opened) == {"web__add"} | local
    tool = opened.get("local__write_note")
    assert (tool.title, tool.description) == ("Write Note", "Save a note.")
    assert tool.input_schema["properties"]["color"]["enum"] == ["crimson", "teal"]
    assert tool.annotations == {"readOnlyHint": True}


def test_bad_servers_do_not_spoil_the_rest(open_catalogue: Open, write: Write) -> None:
    opened = open_catalogue()
    config = {
        "good": entry("notes"),
        "silent": entry("silent"),
        "chatty": {"command": sys.executable, "args": ["-c", "print('Hello', flush=True); [*open(0)]"]},
        "dying": entry("dying"),
        "missing": {"command": "no-such-program-anywhere"},
        "unset": entry("notes", "${SURELY_NOT_SET}"),
        "refused": {"url": "http://127.0.0.1:9/mcp"},
    }
    built = index(opened, write("mcp.json", {"mcpServers": config}), timeout_s=5)
    assert outcomes(built).pop("good") == ("indexed", 3)
    told = errors(built)
    assert set(told) == set(config) - {"good"}
    assert told["silent"] == "no answer within 5 s"
    assert told["chatty"] == "no answer within 5 s (its standard output is no message of MCP: Hello)"
    assert told["dying"].endswith("(exit status 3; it wrote: out of cheese)")
    assert "no-such-program-anywhere" in told["missing"]
    assert told["unset"] == "the environment variable SURELY_NOT_SET is not set"
    assert opened.search("note").tools[0].server_name == "good"


def test_a_list_that_never_ends_is_cut(
    open_catalogue: Open, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_pool, "_MAX_PAGES", 5)
    built = index(open_catalogue(), write("mcp.json", {"mcpServers": {"far": entry("endless")}}))
    assert outcomes(built) == {"far": ("indexed", 3)}


def test_indexing_and_calling_see_the_same_tools(open_catalogue: Open, write: Write) -> None:
    """A server may offer a tool only to clients that can be asked something."""
    opened = open_catalogue()
    command = {"command": sys.executable, "args": [str(Path(__file__).parents[2] / "calling_server.py")]}
    index(opened, write("mcp.json", {"mcpServers": {"one": command}}))
    assert "one__asking" in names(opened)
    assert opened.get("one__research").runs_as_task


def test_only_named_and_changed_servers_are_asked(open_catalogue: Open, write: Write) -> None:
    opened = open_catalogue()
    one = write("one.json", {"mcpServers": {"a": entry("notes"), "b": entry("notes")}})
    first = index(opened, one)
    assert first.embedded == 6
    again = index(opened, one)
    assert outcomes(again) == {"a": ("indexed", 3), "b": ("indexed", 3)}
    assert again.embedded == 0
    assert again.index.created_at == first.index.created_at
    two = write("two.json", {"mcpServers": {"c": entry("notes")}})
    assert outcomes(index(opened, two)) == {
        "c": ("indexed", 3), "a": ("unchanged", 3), "b": ("unchanged", 3),
    }  # fmt: skip
    write("one.json", {"mcpServers": {"b": entry("notes", "--more")}})
    changed = index(opened, refresh=False)
    assert outcomes(changed) == {"b": ("indexed", 3), "c": ("unchanged", 3), "a": ("removed", 0)}
    assert changed.embedded == 0, "the tools of b are what they were"
    forced = index(opened, two, force=True)
    assert outcomes(forced) == {"b": ("indexed", 3), "c": ("indexed", 3)}
    assert forced.embedded == 6


def test_a_server_that_fails_later_keeps_its_tools(open_catalogue: Open, write: Write) -> None:
    opened = open_catalogue()
    index(opened, write("mcp.json", {"mcpServers": {"a": entry("notes")}}))
    failed = index(opened, write("mcp.json", {"mcpServers": {"a": entry("dying")}}))
    assert outcomes(failed) == {"a": ("failed", 3)}
    assert names(opened) == {"a__read_note", "a__write_note", "a__weather"}
    mended = index(opened, write("mcp.json", {"mcpServers": {"a": entry("notes")}}))
    assert outcomes(mended) == {"a": ("indexed", 3)}, "another entry is another agreement"


def test_what_was_indexed_is_remembered_at_home(open_catalogue: Open, write: Write, tmp_path: Path) -> None:
    opened = open_catalogue()
    path = write("mcp.json", {"mcpServers": {"a": entry("notes")}})
    index(opened, path)
    assert opened.indexer.remembered() == (path,)
    assert opened.project_index is not None
    about = read_build_record(tmp_path / "findspot", opened.project_index)
    assert about.files == {path: ("a",)}
    assert about.provider == "local:static"
    assert str(path) not in opened.project_index.read_text("utf-8")
    assert open_catalogue().indexer.remembered(user_wide=True) == ()


def test_the_model_that_a_project_has_loaded_searches_its_tools(root: Path, write: Write) -> None:
    with closing(Engine()) as engine:
        model = engine.embedder("local:static")
        opened = engine.catalogue(root)
        index(opened, write("tools.json", TOOLS))
        assert EmbeddingStrategy(opened._model).model_of(opened.tools()) is model


def test_the_last_words_of_a_server_hold_no_secret() -> None:
    notes = ProcessNotes()
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0xLrUoI"
    notes.add(f"starting\nbad token {token}\n".encode())
    assert notes.about("failed") == "failed (it wrote: bad token [removed])"
    notes.add(b"login refused: password=hunter2\n")
    assert notes.about("failed") == "failed (it wrote: login refused: password=[removed])"
