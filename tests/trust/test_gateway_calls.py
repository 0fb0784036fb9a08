"""`call_tool`: everything that a tool of another server can do reaches the client that called it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from program import Program
from trust import tool_server
from trust.conftest import MakeFolder, Serve

SERVER = Path(tool_server.__file__)


class Gateway:
    """A project whose catalogue has the tools of one agreed server, and the calls that arrived there."""

    def __init__(self, root: Path, findspot: Program, user: Path) -> None:
        self.root, self._findspot, self.user = root, findspot, user
        self.log = user / "calls"
        entry = {"command": sys.executable, "args": [str(SERVER), str(self.log)]}
        (root / ".mcp.json").write_text(json.dumps({"mcpServers": {"any": entry}}))

    def run(self, *arguments: str, **popen: Any) -> Any:
        environment = {"HOME": str(self.user), **popen.pop("env", {})}
        return self._findspot("tools", *arguments, cwd=self.root, env=environment, **popen)

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def gateway(make: MakeFolder, findspot: Program, tmp_path: Path) -> Gateway:
    user = tmp_path / "user"
    user.mkdir()
    made = Gateway(make({"a.py": "x = 1\n"}, git=True), findspot, user)
    done = made.run("index", "--yes", "--no-embeddings")
    assert done.code == 0, done.err
    return made


def test_results_errors_and_refusals(gateway: Gateway, serve: Serve) -> None:
    """documents B1: a found tool could not be used."""
    pipe = serve(gateway.root, HOME=str(gateway.user))
    listed = {tool["name"]: tool for tool in pipe.result("tools/list", {})["tools"]}
    assert "outputSchema" not in listed["call_tool"]
    assert listed["call_tool"]["annotations"]["destructiveHint"]

    result = pipe.call("call_tool", name="any__everything")
    for name, value in tool_server.EVERYTHING.items():
        assert result[name] == value, name
    assert not result["isError"]
    assert pipe.call("call_tool", name="add", arguments='{"a": 2, "b": 3}')["structuredContent"] == {
        "status": 5,
        "code": None,
    }, "by its own name, with arguments as JSON"

    failed = pipe.call("call_tool", name="any__fail")
    assert (failed["isError"], failed["content"][0]["text"]) == (True, "It did not work.")
    refused = pipe.call("call_tool", name="any__refuse")
    assert refused["isError"]
    assert "no such thing" in json.dumps(refused)

    before = gateway.calls()
    wrong = pipe.call("call_tool", name="any__add", arguments={"a": "two", "c": 1})
    assert wrong["isError"]
    message, hint = (part["text"] for part in wrong["content"])
    assert "'b' is a required property" in message
    assert "a: 'two' is not of type 'integer'" in message
    assert "'c' was unexpected" in message
    assert '"required": ["a", "b"]' in hint
    unknown = pipe.call("call_tool", name="any__ad")
    assert "any__add" in unknown["content"][1]["text"]
    assert gateway.calls() == before
    shown = pipe.values("get_tool", name="any__add")
    assert shown["access"] == {
        "state": "ready",
        "transport": "stdio",
        "configuration": str(gateway.root / ".mcp.json"),
        "use": "call_tool, or findspot tools call any__add --args JSON",
    }
