"""`findspot tools index`, `search`, `show` and `log`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from findspot.serve import activity
from program import Outcome, Program

EXAMPLE_SERVER = Path(__file__).parents[1] / "unit" / "catalogue" / "example_server.py"

TOOLS = [
    {"name": "read_file", "title": "Read File", "description": "Read contents of a file", "serverName": "fs"},
    {"name": "forecast", "description": "Weather of the next days.\nIn a city.", "serverName": "weather"},
]

Run = Callable[..., Outcome]


@pytest.fixture
def run(findspot: Program, tmp_path: Path) -> Run:
    """The program in a project, with a user's home of its own."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)

    def call(*arguments: str, **more: Any) -> Outcome:
        cwd = more.pop("cwd", root)
        return findspot(
            *arguments, cwd=cwd, env={"HOME": str(tmp_path / "user"), **more.pop("env", {})}, **more
        )

    return call


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.fixture
def indexed(run: Run, root: Path) -> Run:
    (root / "tools.json").write_text(json.dumps(TOOLS))
    assert run("tools", "index", "tools.json").code == 0
    return run


def test_indexing_for_people(run: Run, root: Path) -> None:
    (root / "tools.json").write_text(json.dumps(TOOLS))
    done = run("tools", "index", "tools.json")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        f"2 tools in {root}/.please/mcp/index.json",
        "status   tools  server",
        "indexed      1  fs",
        "indexed      1  weather",
    ]


def test_the_options_of_indexing(indexed: Run, root: Path, tmp_path: Path) -> None:
    without = indexed("tools", "index", "--no-embeddings", "--json").json
    assert (without["hasEmbeddings"], without["embeddingProvider"]) == (False, None)
    assert indexed("tools", "index", "--json").json["embedded"] == 2
    assert indexed("tools", "index", "--force", "--dtype", "q8", "--json").json["embedded"] == 2
    assert indexed("tools", "index", "--provider", "local:static", "--json").code == 0
    own = indexed("tools", "index", "--user", str(root / "tools.json"), "--json").json
    assert own["path"] == str(tmp_path / "user" / ".please" / "mcp" / "index.json")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("tools.json", "--dtype", "q3"), 2, "'dtype' must be one of fp32, fp16, q8, not 'q3'."),
        (("tools.json", "--provider", "local:none"), 2, "There is no embedding provider 'local:none'."),
        (("gone.json",), 1, "File does not exist: "),
        (("broken.json",), 2, "broken.json is not valid JSON at line 1."),
    ],
)
def test_what_indexing_refuses(run: Run, root: Path, arguments: Any, code: int, message: str) -> None:
    (root / "tools.json").write_text(json.dumps(TOOLS))
    (root / "broken.json").write_text("{")
    done = run("tools", "index", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_nothing_to_index(run: Run) -> None:
    done = run("tools", "index")
    assert done.code == 2
    assert "There is nothing to index" in done.err


def test_a_bad_server_is_told_of_and_the_rest_is_indexed(run: Run, root: Path) -> None:
    program = [str(EXAMPLE_SERVER), "notes"]
    config = {"good": {"command": sys.executable, "args": program}, "bad": {"command": "no-such-program"}}
    (root / "mcp.json").write_text(json.dumps({"mcpServers": config}))
    done = run("tools", "index", "mcp.json", "--timeout", "30", "--yes")
    assert done.code == 0
    assert "failed       0  bad" in done.out
    assert "warning: bad: " in done.err


def test_searching_for_people(indexed: Run) -> None:
    done = indexed("tools", "search", "read", "a", "file")
    assert done.out.splitlines()[0].endswith("  fs__read_file")
    assert done.out.splitlines()[1] == "       Read contents of a file"
    assert " in " in done.err
    nothing = indexed("tools", "search", "bake a cake")
    assert nothing.code == 0
    assert "Nothing fits well. Nearest: " in nothing.err


def test_showing_a_tool(indexed: Run) -> None:
    shown = indexed("tools", "show", "weather__forecast")
    advice = "`findspot tools index FILE` reads a configuration that names it."
    assert shown.out.splitlines() == [
        "weather__forecast", "  server  weather",
        f"  call    No configuration of the catalogue names the server weather. {advice}",
        "  Weather of the next days.", "  In a city.",
    ]  # fmt: skip
    value = indexed("tools", "show", "read_file", "--json").json
    assert value["serverName"] == "fs"
    assert value["tool"]["title"] == "Read File"
    missing = indexed("tools", "show", "read_fiel")
    assert missing.code == 2
    assert "Tool not found: read_fiel" in missing.err


def test_texts_cannot_speak_to_the_terminal(run: Run, root: Path) -> None:
    (root / "t.json").write_text(
        json.dumps([{"name": "x", "description": "\x1b[31mred\x07", "serverName": "a\x1b"}])
    )
    outputs = [run("tools", "index", "t.json"), run("tools", "search", "red"), run("tools", "show", "x")]
    for done in outputs:
        assert done.code == 0
        assert not {"\x1b", "\x07"} & set(done.out + done.err)


def test_the_log_shows_the_latest_calls(run: Run, findspot: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("tools", "log").out == "No calls have been logged.\n"
    monkeypatch.setenv("FINDSPOT_HOME", str(findspot.home))
    for tool, outcome in (("fs__do", "ok"), ("weather__do", "SERVER_TIMEOUT"), ("fs__do", "error")):
        activity.note(activity.Entry("some client", "", "call_tool", tool, (), 0, outcome, 1_234.5, 512))
    activity.note(activity.Entry("some client", "", "search_code", "a question", (), 0, "ok", 1, 1))
    header, *rows = run("tools", "log", "-n", "2").out.splitlines()
    assert header.split() == ["time", "tool", "result", "ms", "tokens", "client"]
    assert [row.split()[2] for row in rows] == ["fs__do", "weather__do"]
    assert rows[1].split()[3:] == ["SERVER_TIMEOUT", "1,234", "512", "some", "client"]
    call = run("tools", "log", "--json").json["calls"][1]
    assert call.pop("time").endswith("Z")
    assert call == {
        "tool": "weather__do",
        "client": "some client",
        "outcome": "SERVER_TIMEOUT",
        "durationMs": 1234.5,
        "tokens": 512,
    }
    assert run("tools", "log", "--clear").out == "No calls have been logged.\n"
    assert [each.question for each in activity.entries()] == ["a question"]


def test_adding_disabling_and_removing_a_server(run: Run, tmp_path: Path) -> None:
    """documents-chunks-tools B3: `tools add | list | remove | enable | disable`."""
    server = (sys.executable, str(EXAMPLE_SERVER), "notes", "-y", "--json")  # its own argument
    done = run("tools", "add", "--env", "TOKEN=hunter2", "notes", *server)
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "Added notes",
        f"  runs: {shlex.join(server)}",
        f"  in: {tmp_path / 'project'}",
        "  with: TOKEN=…",
    ]
    assert "warning: What is hidden here is stored as it was typed." in done.err
    assert "hunter2" not in done.out + run("tools", "list", "--json").out
    listed = run("tools", "list").out.splitlines()
    assert listed[1].split()[:5] == ["notes", "agreed", "3", "this", "project"]
    found = run("tools", "search", "note", "--json").json["tools"]
    assert {tool["name"] for tool in found} >= {"notes__read_note", "notes__write_note"}

    assert (
        run("tools", "disable", "notes__read_note").out == "notes__read_note is disabled in this project.\n"
    )
    left = run("tools", "search", "note", "--json").json["tools"]
    assert {tool["name"] for tool in found} - {tool["name"] for tool in left} == {"notes__read_note"}
    assert run("tools", "list", "--json").json["servers"][0]["disabledTools"] == ["notes__read_note"]
    assert run("tools", "disable", "notes", "--user").code == 0
    assert run("tools", "search", "note", "--json").json["tools"] == []
    assert run("tools", "list", "--json").json["servers"][0]["state"] == "disabled"
    assert run("tools", "enable", "notes").err == ""
    assert len(run("tools", "search", "note", "--json").json["tools"]) == len(left)
    unknown = run("tools", "disable", "notes__read_notes")
    assert unknown.code == 2
    assert "Did you mean: notes__read_note" in unknown.err

    assert run("tools", "remove", "notes").out == "Removed notes.\n"
    assert run("tools", "list", "--json").json == {"servers": []}
    assert not (tmp_path / "project" / ".please").exists()
    done = run("tools", "add", "--url", "http://127.0.0.1:9", "--header", "A: Bearer ${X}", "web")
    assert "is hidden" not in done.err


def test_what_adding_refuses(indexed: Run) -> None:
    refused: list[tuple[tuple[str, ...], str]] = [
        (("a", "--url", "https://x"), "--url must come before NAME."),
        (("a",), "Name either a COMMAND or, with --url, an address."),
        (("--url", "https://x", "a", "run"), "Name either a COMMAND or, with --url, an address."),
        (("--url", "ftp://x", "a"), "'ftp://x' is not an http or https address."),
        (("--env", "X", "a", "run"), "--env takes NAME=VALUE."),
        (("--url", "https://x", "--header", "X", "a"), "--header takes NAME: VALUE."),
        (("--url", "https://x", "--env", "A=1", "a"), "--env is for a COMMAND"),
        (("a__b", "run"), "'a__b' cannot be the name of a server."),
        (("findspot", "run"), "'findspot' cannot be the name of a server."),
        (("fs", "run"), "There is a server 'fs' already, from a file of tools."),
    ]
    for arguments, message in refused:
        done = indexed("tools", "add", *arguments)
        assert (done.code, done.out) == (2, "")
        assert message in done.err


def test_servers_of_a_file_are_not_removed(indexed: Run) -> None:
    done = indexed("tools", "remove", "fs")
    assert done.code == 2
    assert "'fs' comes from a file of tools, which Findspot does not change." in done.err
    assert "findspot tools disable fs" in done.err
    assert "Use another name, or take it out of there." in indexed("tools", "add", "fs", "run").err


def test_a_server_that_does_not_answer_is_added_and_told_of(run: Run) -> None:
    done = run("tools", "add", "--user", "bad", sys.executable, "-c", "exit('no luck')")
    assert (done.code, done.out.splitlines()[0]) == (1, "Added bad")
    (told,) = done.err.splitlines()
    assert "no luck" in told
    assert told.endswith("). `findspot tools index --user` asks it again.")
    assert run("tools", "add", "bad", "run").err.endswith("remove it first: findspot tools remove bad\n")


def test_the_servers_of_an_assistant_are_moved(run: Run, root: Path, tmp_path: Path) -> None:
    """Taken out of the assistant's file, they could not be called, added or removed any more."""
    user = tmp_path / "user"
    theirs, own = user / ".cursor" / "mcp.json", user / ".please" / "mcp.json"
    for path in (theirs, own):
        path.parent.mkdir(parents=True)
    server = {"command": sys.executable, "args": [str(EXAMPLE_SERVER), "notes"]}
    theirs.write_text(json.dumps({"mcpServers": {"notes": server}}))
    for option in ((), ("--user",), ()):
        assert run("tools", "index", *option, str(theirs), "--yes", "--no-embeddings").code == 0
        assert run("tools", "list").out.splitlines()[1].split()[:2] == ["notes", "agreed"]
    theirs.write_text('{"mcpServers": {}}')
    refused = run("tools", "call", "notes__weather").err
    assert f"The entry of the server notes is gone from {theirs}." in refused
    assert "`findspot tools index FILE` reads a configuration that names it." in refused
    assert run("tools", "index", "--replace").err.startswith("error: There is nothing to index")

    own.write_text(json.dumps({"mcpServers": {"notes": server}}))
    assert run("tools", "index", "--user", str(own), "--yes").code == 0
    assert "Method not found" in run("tools", "call", "notes__weather").err, "it is called"
    run("tools", "disable", "notes")
    assert "without --user, this will enable it here" in run("tools", "enable", "notes", "--user").err
    own.unlink()
    assert f"{own} cannot be read" in run("tools", "list").err
    assert run("tools", "add", "notes", sys.executable, *server["args"]).code == 0
    for _ in range(2):
        assert run("tools", "remove", "notes").code == 0
    assert run("tools", "list", "--json").json == {"servers": []}
    assert not (root / ".please").exists()
    assert list(own.parent.parent.glob(".please/*")) == []
    (agreed,) = tmp_path.rglob("agreed.json")
    assert str(own) not in agreed.read_text(), "what is removed is not agreed to any more"
