"""Readers: `serve --from` answers from a published index, any of several does, and one may be killed."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.door import HELLO, Door, message_in, opened, post
from e2e.harness import COMMAND, Pipe, environment
from e2e.sample import make_sample
from program import Program
from warm_start import Popen

COMMIT = "ab" * 20
QUESTIONS = ("check a password", "session", "send mail", "how are users stored")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where an index is published whose files are nowhere."""
    folder = tmp_path_factory.mktemp("publisher")
    project, published = make_sample(folder / "shop"), folder / "published"
    publisher = Program(home=folder / "home", cwd=project)
    assert publisher("publish", published, "--commit", COMMIT, "--branch", "main").code == 0
    return published


def answer(door: str, question: str, session: dict[str, str]) -> list[tuple[str, int]]:
    """The places that a reader finds, asked in a session that is opened with the first question."""
    if not session:
        session["Mcp_Session_Id"] = post(door, HELLO).headers["Mcp-Session-Id"]
    asked = {"name": "search_code", "arguments": {"query": question, "format": "json"}}
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked}
    found: dict[str, Any] = message_in(post(door, message, **session).read())["result"]["structuredContent"]
    assert "commit abababa of main" in found["warning"]
    return [(hit["path"], hit["startLine"]) for hit in found["results"]]


def test_readers_answer_alike_and_one_may_be_killed(address: Path, tmp_path: Path) -> None:
    options = ("--no-token", "--from", str(address))
    with opened(tmp_path / "two", tmp_path, *options) as second:
        first = Popen(
            [*COMMAND, "--http", "127.0.0.1:0", *options],
            env=environment(tmp_path / "one"),
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            place = Door(first).address
            expected = {question: answer(place, question, {}) for question in QUESTIONS}
        finally:
            first.kill()
            first.communicate()
        assert all(expected.values())
        assert expected == {question: answer(second.address, question, {}) for question in QUESTIONS}


def test_an_assistant_can_start_a_reader(address: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with Pipe(tmp_path / "home", tmp_path / "elsewhere", "--from", str(address)) as server:
        server.initialize()
        tools = {tool["name"] for tool in server.result("tools/list", {})["tools"]}
        assert "search_code" in tools
        assert "index_codebase" not in tools
        assert server.values("search_code", query="check a password")["results"]
        assert server.process.stdin is not None
        server.process.stdin.close()
        server.process.wait()
    home = tmp_path / "home"
    assert not [path.name for name in ("indexes", "published") for path in home.glob(f"{name}/*")]


def test_a_killed_reader_leaves_no_project(address: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with Pipe(tmp_path / "home", tmp_path / "elsewhere", "--from", str(address)) as server:
        server.initialize()
        named = server.values("search_code", query="check a password", path="published")["results"]
        assert named[0]["project"] == "published"
        server.process.kill()
    listed = Program(home=tmp_path / "home", cwd=tmp_path)("projects", "--json").json
    assert listed["projects"] == []
