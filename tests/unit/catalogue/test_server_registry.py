"""Servers of a catalogue: added, enabled and disabled, and the state of each."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.server_registry import Availability, Choices, ServerRegistry
from findspot.catalogue.tool_record import SearchMode, ToolSearchOptions

from .conftest import TOOLS, Write, entry, index

Open = Callable[[], Catalogue]
PROJECT, USER = Path("/p/.please/mcp/index.json"), Path("/u/.please/mcp/index.json")


class TestChoices:
    @pytest.fixture
    def choices(self, tmp_path: Path) -> Choices:
        return Choices(tmp_path, [PROJECT, USER])

    def test_a_server_and_a_tool_are_disabled_by_name(self, choices: Choices, tmp_path: Path) -> None:
        choices.make(PROJECT, "a", enabled=False)
        choices.make(PROJECT, "b__y", enabled=False)
        assert not choices.is_enabled("a")
        assert choices.is_enabled("b")
        assert choices.is_enabled("b__x")
        assert not choices.is_enabled("b__y")
        assert Choices(tmp_path, [PROJECT]).disabled() == {"a", "b__y"}
        assert Choices(tmp_path, [Path("/other/index.json"), USER]).is_enabled("a")

    def test_a_project_wins_over_the_user(self, choices: Choices, tmp_path: Path) -> None:
        choices.make(USER, "a", enabled=False)
        assert not choices.is_enabled("a")
        choices.make(PROJECT, "a", enabled=True)
        assert choices.is_enabled("a")
        assert choices.disabled() == set()
        assert not Choices(tmp_path, [USER]).is_enabled("a")

    def test_a_removed_server_leaves_no_choices(self, choices: Choices) -> None:
        for name in ("a", "a__x", "ab"):
            choices.make(PROJECT, name, enabled=False)
        choices.forget(PROJECT, "a")
        choices.forget(USER, "a")
        assert choices.disabled() == {"ab"}


def test_added_servers_belong_to_the_user(tmp_path: Path) -> None:
    registry = ServerRegistry(tmp_path, [PROJECT, USER])
    added = registry.added(PROJECT)
    with added.changing() as stored:
        stored["mcpServers"]["a"] = {"command": "x", "env": {"KEY": "hunter2"}}
    assert [spec.name for spec in registry.servers(PROJECT)] == ["a"]
    assert registry.servers(USER) == ()
    assert stat.S_IMODE(added.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(added.path.parent.stat().st_mode) == 0o700


def test_disabled_tools_are_in_no_answer_until_they_are_enabled(catalogue: Catalogue) -> None:
    def names(mode: SearchMode) -> set[str]:
        found = catalogue.search("read a file or send a message", ToolSearchOptions(mode))
        return {tool.name for tool in found.tools}

    choices, project = catalogue.registry.choices, catalogue.paths[0]
    before = {mode: names(mode) for mode in (SearchMode.BM25, SearchMode.EMBEDDING, SearchMode.HYBRID)}
    assert all("mail__send_email" in found for found in before.values())
    choices.make(project, "mail__send_email", enabled=False)
    assert all("mail__send_email" not in names(mode) for mode in before)
    assert catalogue.search("send_email", ToolSearchOptions(SearchMode.REGEX)).tools == ()
    choices.make(project, "filesystem", enabled=False)
    assert all("filesystem__read_file" not in names(mode) for mode in before)
    assert catalogue.search("read", ToolSearchOptions(server="filesystem")).tools == ()
    choices.make(project, "mail__send_email", enabled=True)
    choices.make(project, "filesystem", enabled=True)
    assert {mode: names(mode) for mode in before} == before


def commit_index(opened: Catalogue, *tools: tuple[str, str]) -> None:
    """Put an index file into the project that claims things about tools, each a name and a server."""
    listed = [
        {
            "serverName": server,
            "tool": {
                "name": name,
                "description": "Claimed.",
                "inputSchema": {"type": "object", "required": ["claimed"]},
                "annotations": {"readOnlyHint": True},
            },
        }
        for name, server in tools
    ]
    opened.paths[0].parent.mkdir(parents=True, exist_ok=True)
    opened.paths[0].write_text(json.dumps({"tools": listed}))


def test_a_project_does_not_describe_the_users_own_servers(open_catalogue: Open, write: Write) -> None:
    """A committed index replaced the schema and the annotations of tools of the user's servers."""
    opened = open_catalogue()
    index(opened, write("mine.json", {"mcpServers": {"notes": entry("notes")}}), user_wide=True)
    mine = opened.get("notes__read_note")
    claims = [("notes__read_note", "notes"), ("notes__write_note", "other"), ("notes__new", "notes")]
    commit_index(opened, *claims, ("other__tool", "other"))
    assert opened.get("notes__read_note") == mine
    assert opened.get("notes__write_note").server_name == "notes"
    assert "notes__new" not in opened.tools().names
    assert opened.get("other__tool").description == "Claimed."
    assert open_catalogue().get("notes__read_note") == mine

    (spec,) = opened.registry.servers(opened.user_index)
    opened.registry.agreements.remove(spec.name, spec.source, spec.project)
    assert opened.get("notes__read_note").description == "Claimed.", "nobody can call it"
    assert opened.access(mine).state == "not_agreed"


def test_the_state_of_each_server(open_catalogue: Open, write: Write) -> None:
    opened = open_catalogue()
    assert opened.servers() == []
    config = {
        "mcpServers": {
            "notes": entry("notes"),
            "off": {"command": "no-such-program-anywhere"},
            "later": {"command": "no-such-program-anywhere"},
            "bad": {"command": "no-such-program-anywhere"},
        }
    }
    project = opened.paths[0]
    opened.registry.choices.make(project, "off", enabled=False)
    built = index(
        opened,
        write("mcp.json", config),
        write("tools.json", TOOLS),
        agree=lambda specs: [spec for spec in specs if spec.name != "later"],
    )
    assert {server.name: str(server.outcome) for server in built.servers} == {
        "filesystem": "indexed", "mail": "indexed", "weather": "indexed",
        "notes": "indexed", "off": "disabled", "later": "not_agreed", "bad": "failed",
    }  # fmt: skip
    states = {server.name: str(server.state) for server in opened.servers()}
    assert states == {
        "notes": "agreed", "off": "disabled", "later": "new", "bad": "failed",
        "filesystem": "listed", "mail": "listed", "weather": "listed",
    }  # fmt: skip
    rows = {server.name: server for server in opened.servers()}
    assert "no-such-program-anywhere" in str(rows["bad"].error)
    assert (rows["notes"].tools, rows["notes"].index) == (3, project)
    assert "off" not in str(opened.registry.notice())
    config["mcpServers"]["notes"]["args"].append("more")
    write("mcp.json", config)
    opened.registry.choices.make(project, "mail", enabled=False)
    opened.registry.choices.make(project, "weather__get_forecast", enabled=False)
    rows = {server.name: server for server in opened.servers()}
    assert rows["notes"].state is Availability.CHANGED
    assert rows["mail"].state is Availability.DISABLED
    assert rows["weather"].disabled_tools == ("weather__get_forecast",)


def test_a_disabled_server_keeps_its_tools_for_later(open_catalogue: Open, write: Write) -> None:
    opened = open_catalogue()
    path = write("mcp.json", {"mcpServers": {"notes": entry("notes")}})
    index(opened, path)
    opened.registry.choices.make(opened.paths[0], "notes", enabled=False)
    assert [str(server.outcome) for server in index(opened, path, force=True).servers] == ["disabled"]
    assert opened.search("note").tools == ()
    opened.registry.choices.make(opened.paths[0], "notes", enabled=True)
    assert opened.search("note").tools
