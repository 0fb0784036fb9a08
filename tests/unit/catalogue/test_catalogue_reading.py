"""Sources and index files in every shape, and which servers a build asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.indexfile import IndexFile, parse_index, read_bytes, write_index
from findspot.catalogue.known_clients import project_files
from findspot.catalogue.server_sources import ServerSpec, read_sources
from findspot.catalogue.tool_record import (
    ToolDefinition,
)
from findspot.core.errors import InvalidArgumentError

from .conftest import TOOLS, Write, index

Open = Callable[[], Catalogue]


def read_one(write: Write, entry: Any) -> ServerSpec:
    (spec,) = read_sources([write("mcp.json", {"mcpServers": {"a": entry}})]).servers
    return spec


class TestSources:
    def test_a_program_with_everything(self, write: Write, root: Path) -> None:
        entry = {"command": "run", "args": [1, "-x"], "env": {"K": 2}, "cwd": "sub", "disabled": False}
        assert read_one(write, entry) == ServerSpec(
            "a", "run", ("1", "-x"), {"K": "2"}, "sub", source=root / "mcp.json"
        )

    @pytest.mark.parametrize("entry", ["text", None, {}, {"command": ""}, {"args": ["x"]}])
    def test_an_entry_without_either_is_noted(self, write: Write, entry: Any) -> None:
        read = read_sources([write("mcp.json", {"servers": {"a": entry}})])
        assert read.servers == ()
        assert [note.rpartition("mcp.json")[2] for note in read.notes] == [
            ": server 'a' has neither a command nor a url"
        ]

    @pytest.mark.parametrize("value", [{"mcpServers": []}, {"mcpServers": None}, {"mcpServers": {}}])
    def test_a_configuration_may_name_no_server(self, write: Write, value: Any) -> None:
        assert read_sources([write("mcp.json", value)]).names == set()

    @pytest.mark.parametrize("value", [{"servers": []}, {}, 3, {"tools": {}}, {"result": {}}])
    def test_anything_else_is_refused(self, write: Write, value: Any) -> None:
        with pytest.raises(
            InvalidArgumentError, match="neither a client's configuration nor a list"
        ) as error:
            read_sources([write("mcp.json", value)])
        assert "mcpServers" in error.value.hint

    def test_the_first_file_wins_and_files_remember_their_servers(self, write: Write) -> None:
        one = write("one.json", {"mcpServers": {"a": {"command": "first"}, "b": {"command": "x"}}})
        two = write("two.json", {"mcpServers": {"a": {"command": "second"}, "c": {"command": "x"}}})
        tools = write("b.json", [{"name": "t"}])
        read = read_sources([one, two, tools])
        assert [(spec.name, spec.command) for spec in read.servers] == [
            ("a", "first"), ("b", "x"), ("c", "x"),
        ]  # fmt: skip
        assert read.lists == ()
        assert read.files == {one: ("a", "b"), two: ("a", "c"), tools: ("b",)}

    def test_a_file_has_a_limit(self, write: Write) -> None:
        path = write("tools.json", "[]" + " " * 98)
        assert read_sources([path], 100).names == set()
        with pytest.raises(InvalidArgumentError, match=r"is larger than 0 MB\.$"):
            read_sources([path], 99)

    def test_configurations_of_a_project(self, root: Path, tmp_path: Path) -> None:
        assert project_files(None) == project_files(root) == []
        (root / ".cursor").mkdir()
        (root / ".cursor" / "mcp.json").write_text("{}")
        (root / ".mcp.json").symlink_to(tmp_path / "elsewhere.json")
        (tmp_path / "elsewhere.json").write_text("{}")
        assert project_files(root) == [root / ".cursor" / "mcp.json"]

    @pytest.mark.parametrize(
        ("tool", "name", "server", "schema"),
        [
            ({"name": "t"}, "list__t", "list", {}),
            ({"name": "t", "server": ""}, "t", "", {}),
            ({"name": " t \n u "}, "list__t u", "list", {}),
            ({"name": "s__t", "server": "s"}, "s__t", "s", {}),
            ({"name": "t", "serverName": "s", "server": "r"}, "s__t", "s", {}),
            ({"tool": {"name": "t", "parameters": {"a": 1}}}, "list__t", "list", {"a": 1}),
            ({"name": "t", "input_schema": {"b": 1}, "parameters": {"a": 1}}, "list__t", "list", {"b": 1}),
            ({"tool": {"name": "s__t"}}, "s__t", "s", {}),
            ({"name": "t", "inputSchema": [], "title": "", "description": 3}, "list__t", "list", {}),
        ],
    )
    def test_a_listed_tool(self, write: Write, tool: Any, name: str, server: str, schema: Any) -> None:
        (listed,) = read_sources([write("list.json", [tool])]).lists
        assert listed.tools == (ToolDefinition(name, server, input_schema=schema),)


class TestIndexFile:
    @pytest.fixture
    def path(self, root: Path) -> Path:
        return root / ".please" / "mcp" / "index.json"

    def test_a_file_is_read_as_it_was_written(self, catalogue: Catalogue, path: Path, tmp_path: Path) -> None:
        data = path.read_bytes()
        read = parse_index(path, data)
        assert read.has_embeddings
        other = tmp_path / "other" / ".please" / "mcp" / "index.json"
        (tmp_path / "other").mkdir()
        write_index(other, read)
        assert read_bytes(other) == data
        write_index(other, IndexFile())
        assert parse_index(other, read_bytes(other) or b"") == replace(IndexFile(), updated_at="")


def test_descriptions_are_cut_one_beyond_the_limit(open_catalogue: Open, write: Write) -> None:
    opened = open_catalogue()
    texts = {"fits": "a" * 20_000, "long": "b" * 20_001, "shown": "c" * 2_000, "cut": "d" * 2_001}
    tools = [{"name": name, "description": text, "server": ""} for name, text in texts.items()]
    built = index(opened, write("t.json", tools), provider=None)
    assert built.notes == ("long: its description of 20,001 characters was cut to 20,000",)
    assert opened.get("fits").description == texts["fits"]
    assert opened.get("long").description == "b" * 19_999 + "…"
    found = {name: opened.search(name).tools[0].description for name in ("shown", "cut")}
    assert found == {"shown": texts["shown"], "cut": "d" * 1_999 + "…"}


def test_files_that_name_nothing_change_nothing(catalogue: Catalogue, write: Write) -> None:
    with pytest.raises(InvalidArgumentError, match=r"empty\.json names no server and no tool") as error:
        index(catalogue, write("empty.json", []))
    assert error.value.hint == f"To have no catalogue, delete {catalogue.project_index}."
    assert len(catalogue.tools()) == len(TOOLS)


def test_a_file_that_is_gone_keeps_its_tools_until_it_is_replaced(
    catalogue: Catalogue, write: Write, root: Path
) -> None:
    other = write("other.json", [{"name": "zebra"}])
    index(catalogue, other)
    assert set(catalogue.tools().servers) == {"filesystem", "mail", "weather", "other"}
    other.unlink()
    built = index(catalogue, write("tools.json", TOOLS))
    assert built.notes[0].endswith("Its tools are as they were; --replace leaves them out.")
    assert catalogue.get("zebra").server_name == "other"
    index(catalogue, write("tools.json", TOOLS), replace_sources=True)
    assert "other" not in catalogue.tools().servers
    (root / "tools.json").unlink()
    with pytest.raises(InvalidArgumentError, match=r"^There is no file to read\. The") as error:
        index(catalogue)
    assert "tools.json cannot be read: No such file or directory. Its tools are as" in error.value.hint
    write("tools.json", TOOLS)
    assert catalogue.indexer.remembered() == (write("tools.json", TOOLS),)
