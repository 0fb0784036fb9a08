"""Which searches of an assistant get the note about Findspot, and how often."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from findspot.serve.cli.reminder import NOTE, is_search, remind

SEARCHES = [
    'grep -rn "authentication" src/',
    "rg 'rate limit'",
    "cd app && rg -t py 'login|session' | head -20",
    "git grep -n 'connection pool'",
]
OTHERS = [
    "ls -la",
    "ps aux | grep python",
    "git log --oneline | grep fix",
    "echo grep -r things",
    "pytest -k retry",
    "grep",
    "",
]


def call(command: str, **others: Any) -> dict[str, Any]:
    return {
        "session_id": "s1",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
    } | others


@pytest.mark.parametrize("command", SEARCHES)
def test_a_search_through_files(command: str) -> None:
    """Assistants drift to grep."""
    assert is_search(call(command))


@pytest.mark.parametrize("command", OTHERS)
def test_other_commands(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(call(command), monkeypatch, capsys) == ""


def test_the_search_tool_of_an_assistant() -> None:
    assert is_search(call("", tool_name="Grep", tool_input={"pattern": "retry|backoff", "path": "src"}))
    assert is_search({"toolName": "bash", "toolArgs": json.dumps({"command": "rg retry"})})


def run(payload: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    remind()
    return capsys.readouterr().out


def test_once_per_conversation_in_the_words_of_each_assistant(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path))
    first = json.loads(run(call("rg retry"), monkeypatch, capsys))
    assert first == {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": NOTE}}
    assert run(call("rg backoff"), monkeypatch, capsys) == ""
    assert run(call("rg backoff", agent_id="a1"), monkeypatch, capsys) != "", (
        "a sub-agent has its own context"
    )
    gemini = call("rg retry", session_id="s2", hook_event_name="AfterTool", tool_name="run_shell_command")
    assert json.loads(run(gemini, monkeypatch, capsys))["hookSpecificOutput"]["hookEventName"] == "AfterTool"
    cursor = {"conversation_id": "c1", "tool_name": "Shell", "tool_input": {"command": "rg retry"}}
    assert json.loads(run(cursor, monkeypatch, capsys)) == {"additional_context": NOTE}
    copilot = {"sessionId": "x1", "toolName": "bash", "toolArgs": {"command": "rg retry"}}
    assert json.loads(run(copilot, monkeypatch, capsys)) == {"additionalContext": NOTE}
    assert run(copilot, monkeypatch, capsys) == ""
    assert run({"tool_input": {"command": "rg retry"}}, monkeypatch, capsys) == "", "which conversation?"


def test_old_conversations_are_forgotten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path))
    file = tmp_path / "reminded.txt"
    file.write_text("\n".join(map(str, range(501))))
    assert run(call("rg retry"), monkeypatch, capsys) != ""
    assert len(file.read_text().split()) == 501


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"tool_input": 3}', b"{}"]
)
def test_nothing_makes_it_fail(
    data: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(data, monkeypatch, capsys) == ""


def test_a_home_that_cannot_be_written_makes_no_noise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "file"))
    assert run(call("rg retry"), monkeypatch, capsys) == ""
