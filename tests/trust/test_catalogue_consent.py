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

from e2e.harness import is_running, until
from program import Outcome, Program
from trust.conftest import MakeFolder, Serve

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
    assert "Waiting for a …" in one.err
    assert project.started() == ["env"], "each server is asked about"
    project.write(a=project.entry("env", env={"KEY": SECRET}))
    project.index("--yes", "--no-embeddings", env=environment)
    given = project.run("show", "a__env", "--json").json["tool"]["description"].split()
    assert {"HOME", "PATH", "KEY"} <= set(given)
    assert not {"OPENAI_API_KEY", "FINDSPOT_HTTP_TOKEN", "FINDSPOT_HOME"} & set(given)


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
