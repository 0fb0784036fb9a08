"""A catalogue starts only what the user agreed to, and says what it leaves out."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e.harness import is_running
from findspot.catalogue.indexfile import INDEX_PATH
from program import Outcome, Program
from trust.conftest import MakeFolder, Serve, until

SERVER = Path(__file__).parents[1] / "unit" / "catalogue" / "example_server.py"
SECRET = "sesame-opens-everything"


class Project:
    """A project with a catalogue of small servers; `started` tells which of them ran."""

    def __init__(self, root: Path, findspot: Program, user: Path) -> None:
        self.root, self._findspot, self.user = root, findspot, user
        self._log = user / "started"

    def entry(self, *tools: str, **more: Any) -> dict[str, Any]:
        return {"command": sys.executable, "args": [str(SERVER), "tools", *tools], **more}

    def write(self, name: str = ".mcp.json", **servers: Any) -> Path:
        path = self.root / name
        path.write_text(json.dumps({"mcpServers": servers}))
        return path

    def run(self, *arguments: str, **popen: Any) -> Outcome:
        environment = {"HOME": str(self.user), **popen.pop("env", {})}
        return self._findspot("tools", *arguments, cwd=self.root, env=environment, **popen)

    def index(self, *arguments: str, **popen: Any) -> dict[str, tuple[str, int]]:
        done = self.run("index", *arguments, "--json", **popen)
        assert done.code == 0, done.err
        return {server["name"]: (server["status"], server["tools"]) for server in done.json["servers"]}

    def started(self) -> list[str]:
        """What has been started since the last time."""
        if not self._log.exists():
            return []
        lines = [line.partition(" ")[2] for line in self._log.read_text().splitlines()]
        self._log.unlink()
        return sorted(lines)

    def processes(self) -> list[int]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [int(line.split()[0]) for line in lines]


@pytest.fixture
def project(make: MakeFolder, findspot: Program, tmp_path: Path) -> Project:
    user = tmp_path / "user"
    user.mkdir()
    return Project(make({"a.py": "x = 1\n"}, git=True), findspot, user)


def test_a_changed_configuration_starts_nothing(project: Project, serve: Serve, home: Path) -> None:
    """security 2, documents A1: one `search_tools` ran the commands of a changed `.mcp.json`."""
    project.write(time=project.entry("clock"), mail=project.entry("send", env={"KEY": SECRET}))
    refused = project.run("index", "--json")
    assert (refused.code, refused.json["status"]) == (2, "confirmation_required")
    assert "time" in refused.json["question"]
    assert f"{SERVER} tools clock" in refused.err, "what would run"
    assert {"time", "mail", "  with: KEY=…"} <= set(refused.err.splitlines()), "one server per paragraph"
    assert project.started() == [], "nobody was asked"
    assert project.index("--yes") == {"time": ("indexed", 1), "mail": ("indexed", 1)}
    assert project.started() == ["clock", "send"]
    agreed = home / "catalogues" / "agreed.json"
    assert stat.S_IMODE(agreed.stat().st_mode) == 0o600
    for path in (*home.rglob("*"), *(project.root / ".please").rglob("*")):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path

    pulled = {"time": project.entry("clock", "x"), "mail": project.entry("send"), "evil": project.entry("id")}
    project.write(**pulled)
    pipe = serve(project.root, HOME=str(project.user))
    found = pipe.values("search_tools", query="clock")
    assert [tool["name"] for tool in found["tools"]] == ["time__clock"]
    for answer in (found, pipe.values("get_tool", name="time__clock")):
        assert "time (changed), mail (changed), evil (new)" in answer["warning"]
    shown = project.run("show", "time__clock")
    assert "evil (new)" in shown.err
    done = project.run("index")
    assert done.code == 2, "nobody agreed to any of them"
    assert "time, mail, evil" in done.err
    assert project.started() == [], "a changed command, a changed variable and a new server"

    project.write(time=project.entry("clock"), evil=project.entry("id"))
    partly = project.run("index", "--json")
    assert "Not started, since you have not agreed to them as they are now: evil." in partly.err
    states = {server["name"]: server["status"] for server in partly.json["servers"]}
    assert states == {"time": "indexed", "evil": "not_agreed", "mail": "removed"}
    assert project.started() == ["clock"]
    project.write(time=project.entry("clock", "tick"), evil=project.entry("id"))
    assert project.run("disable", "evil").code == 0
    assert project.index("--yes") == {"time": ("indexed", 2), "evil": ("disabled", 0)}
    assert "warning" not in pipe.values("search_tools", query="clock")
    assert project.started() == ["clock tick"]


def test_the_question_shows_what_would_run(project: Project) -> None:
    """security 2: the question named only the file, and the whole environment went to the servers."""
    project.write(a=project.entry("env", env={"KEY": SECRET}), b={"url": "https://example.org/mcp"})
    environment = {"HOME": str(project.user), "OPENAI_API_KEY": "mine", "FINDSPOT_HTTP_TOKEN": "ours"}
    no = project._findspot.on_terminal(
        "tools", "index", cwd=project.root, env=environment, answers={"Start a, ": "n\n", "Start b, ": "n\n"}
    )
    assert no.code == 1
    assert f"{SERVER}" in no.err.replace("\r\n", "")
    assert "https://example.org/mcp" in no.err
    assert "KEY" in no.err
    assert SECRET not in no.err
    assert project.started() == []
    project.write(a=project.entry("env", env={"KEY": SECRET}), b=project.entry("evil"))
    answers = {"Start a, ": "y\n", "Start b, ": "n\n"}
    one = project._findspot.on_terminal("tools", "index", cwd=project.root, env=environment, answers=answers)
    assert one.code == 0
    assert project.started() == ["env"], "each server is asked about"
    project.write(a=project.entry("env", env={"KEY": SECRET}))
    project.index("--yes", "--no-embeddings", env=environment)
    given = project.run("show", "a__env", "--json").json["tool"]["description"].split()
    assert {"HOME", "PATH", "KEY"} <= set(given)
    assert not {"OPENAI_API_KEY", "FINDSPOT_HTTP_TOKEN", "FINDSPOT_HOME"} & set(given)


def test_servers_are_followed_only_when_asked_for(project: Project, serve: Serve) -> None:
    """documents C: following cost 840 MB and was on by default; a hanging server stayed."""
    project.write(time=project.entry("clock"))
    project.index("--yes")
    project.started()
    pipe = serve(project.root, HOME=str(project.user))
    for _ in range(10):
        pipe.values("search_tools", query="clock")
        assert pipe.children() == []
    pipe.close_input()
    pipe.ended()
    assert project.started() == []

    project.index("--follow")
    project.started()
    project.write(time=project.entry("clock"), other=project.entry("never"))
    pipe = serve(project.root, HOME=str(project.user))
    until(lambda: bool(pipe.values("search_tools", query="clock")) and bool(project.processes()))
    followed = project.processes()
    pipe.close_input()
    pipe.ended()
    until(lambda: not any(map(is_running, followed)))
    assert project.started() == ["clock"]


def test_files_are_added_and_a_failure_changes_nothing(project: Project) -> None:
    """documents A7: a second file replaced the catalogue, and one that failed emptied it with code 0."""
    first = str(project.write("first.json", a=project.entry("one", "two"), b=project.entry("other")))
    second = str(project.write("second.json", c=project.entry("three")))
    empty = str(project.write("empty.json"))
    failing = str(project.write("failing.json", d=project.entry("fail"), e={"command": "no-such-program"}))
    project.index(first, "--yes", "--no-embeddings")
    assert project.index(second, "--yes", "--no-embeddings") == {
        "c": ("indexed", 1),
        "a": ("unchanged", 2),
        "b": ("unchanged", 1),
    }
    before = (project.root / INDEX_PATH).read_bytes()
    nothing = project.run("index", empty)
    assert nothing.code == 2
    assert "names no server and no tool" in nothing.err
    failed = project.run("index", failing, "--yes", "--json")
    assert (failed.code, failed.json["status"]) == (1, "failed")
    assert "no luck today" in failed.err
    assert (project.root / INDEX_PATH).read_bytes() == before
    Path(second).unlink()
    assert project.index("--no-embeddings") == {
        "a": ("indexed", 2),
        "b": ("indexed", 1),
        "c": ("unchanged", 1),
        "d": ("failed", 0),
        "e": ("failed", 0),
    }, "the servers that failed are known, and asked again"
    assert project.index(first, "--replace", "--no-embeddings")["c"] == ("removed", 0)


def test_small_texts(project: Project) -> None:
    """documents A12: SDK tracebacks for a banner; first-impression B10: a hint at the mode in use."""
    project.write(a=project.entry("banner"))
    done = project.run("index", "--yes")
    assert (done.code, done.err) == (0, "")
    assert "Traceback" not in done.out
    for mode, hinted in (("bm25", True), ("hybrid", False), ("embedding", False)):
        found = project.run("search", "zoological taxonomy of ctenophores", "--mode", mode)
        assert ("--mode hybrid" in found.err) == hinted


def test_a_committed_catalogue_chooses_no_provider(project: Project, serve: Serve) -> None:
    """security 14: a committed `embeddingProvider` sent the question to a service with the user's key."""
    tools = [{"name": "clock", "description": "Tell the time.", "serverName": "time"}]
    (project.root / "tools.json").write_text(json.dumps(tools))
    project.index("tools.json")
    path = project.root / INDEX_PATH
    path.write_text(path.read_text().replace("local:static", "api:openai"))
    pipe = serve(project.root, HOME=str(project.user), OPENAI_API_KEY="mine")
    for mode in ("hybrid", "embedding"):
        refused = pipe.call("search_tools", query="tell the time", mode=mode)
        assert refused["structuredContent"]["code"] == "MODEL_MISMATCH", refused
        assert "findspot tools index" in refused["content"][1]["text"]
    assert pipe.values("search_tools", query="time", mode="bm25")["tools"]


def test_a_catalogue_is_not_read_or_written_through_links(project: Project, tmp_path: Path) -> None:
    """security 15: `tools index` wrote through a committed `.please -> elsewhere`."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project.root / ".please").symlink_to(elsewhere)
    (project.root / "tools.json").write_text('[{"name": "clock"}]')
    done = project.run("index", "tools.json")
    assert done.code == 1
    assert list(elsewhere.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_command_that_is_ended_leaves_no_server_behind(project: Project, findspot: Program) -> None:
    """A server that neither answers nor minds the end of its input went on after SIGTERM."""
    project.write(slow=project.entry("hang"))
    environment = {"HOME": str(project.user)}
    with findspot.start("tools", "index", "--yes", cwd=project.root, env=environment) as running:
        until(lambda: (project.user / "started").exists() and bool(project.processes()))
        running.terminate()
        running.communicate()
    assert running.returncode == 128 + signal.SIGTERM
    (server,) = project.processes()
    assert not is_running(server)
