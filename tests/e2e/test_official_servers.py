"""The official servers behind the gateway: filesystem, everything, memory, git and time.

One set of servers serves all tests of this module: those on pipes are started by the first call, and the
server `everything` also runs over streamable HTTP and over SSE.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contents import write_files
from e2e.door import HELLO, opened, post
from e2e.harness import Pipe, environment, until
from program import INSTALLED

pytestmark = [pytest.mark.programs, pytest.mark.nightly]

NPM_OPTIONS = (
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--silent",
    "--prefer-offline",
    "--ignore-scripts",
)
OF_NPM = ("filesystem", "everything", "memory")
CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "filesystem": ("list_directory", {"path": "{work}"}, "[FILE] notes.txt"),
    "everything": ("echo", {"message": "hello"}, "Echo: hello"),
    "memory": ("read_graph", {}, '"entities": []'),
    "git": ("git_status", {"repo_path": "{work}"}, "On branch main"),
    "time": ("get_current_time", {"timezone": "UTC"}, '"timezone": "UTC"'),
}
"""Of each server a tool that changes nothing, its arguments, and what it answers; `{work}` is the project."""


def install(folder: Path, work: Path) -> dict[str, dict[str, Any]]:
    """Install the servers of npm; return the entries of all in a client's configuration."""
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}')
    packages = [f"@modelcontextprotocol/server-{name}@2026.8.31" for name in OF_NPM]
    subprocess.run(["npm", "install", *NPM_OPTIONS, *packages], cwd=folder, check=True, timeout=600)
    programs = folder / "node_modules" / ".bin"
    entries: dict[str, dict[str, Any]] = {
        name: {"command": str(programs / f"mcp-server-{name}"), "args": []} for name in OF_NPM
    }
    entries["filesystem"]["args"] = [str(work)]
    entries["memory"]["env"] = {"MEMORY_FILE_PATH": str(work / "memory.jsonl")}
    for name in ("git", "time"):  # what development needs has them
        entries[name] = {"command": sys.executable, "args": ["-m", f"mcp_server_{name}"]}
    return entries


@dataclass(frozen=True)
class Gateway:
    """A project whose catalogue has the tools of all servers, each agreed to."""

    root: Path
    home: Path
    settings: Mapping[str, str]

    def run(self, *arguments: str) -> str:
        env = environment(self.home, **self.settings)
        command = [INSTALLED, *arguments]
        return subprocess.run(
            command, cwd=self.root, env=env, check=True, capture_output=True, text=True
        ).stdout


@contextmanager
def listening(entry: Mapping[str, Any], transport: str) -> Iterator[int]:
    """Run the server `everything` on a free port."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    command = [entry["command"], transport]
    env = os.environ | {"PORT": str(port)}
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: process.poll() is not None or accepts(port))
            yield port
        finally:
            process.kill()


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("official").resolve()
    root, user = folder / "project", folder / "user"
    user.mkdir()
    write_files(root, {"notes.txt": "hello from a file\n"})
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "start")):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True)
    entries = install(folder / "servers", root)
    with ExitStack() as servers:
        http = servers.enter_context(listening(entries["everything"], "streamableHttp"))
        sse = servers.enter_context(listening(entries["everything"], "sse"))
        remote = {
            "over-http": {"type": "http", "url": f"http://127.0.0.1:{http}/mcp"},
            "over-sse": {"type": "sse", "url": f"http://127.0.0.1:{sse}/sse"},
        }
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {**entries, **remote}}))
        settings = {"HOME": str(user), "FINDSPOT_TOOLSETS": "catalogue"}
        made = Gateway(root, folder / "home", settings)
        made.run("tools", "index", str(folder / "mcp.json"), "--yes", "--no-embeddings")
        yield made


@pytest.fixture(scope="module")
def pipe(gateway: Gateway) -> Iterator[Pipe]:
    with Pipe(gateway.home, gateway.root, **gateway.settings) as pipe:
        pipe.initialize()
        yield pipe


def text(result: Mapping[str, Any]) -> str:
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


def call(pipe: Pipe, name: str, /, **arguments: Any) -> dict[str, Any]:
    result = pipe.call("call_tool", name=name, arguments=arguments)
    assert not result.get("isError"), result
    return result


@pytest.mark.parametrize("name", CALLS)
def test_an_official_server_on_a_pipe(gateway: Gateway, pipe: Pipe, name: str) -> None:
    """documents B1: found tools of real servers are called, with the names and arguments that were found."""
    tool, given, answer = CALLS[name]
    shown = pipe.values("get_tool", name=f"{name}__{tool}")
    assert shown["access"]["state"] == "ready"
    arguments = {key: value.replace("{work}", str(gateway.root)) for key, value in given.items()}
    assert answer in text(call(pipe, f"{name}__{tool}", **arguments))


def test_every_kind_of_content(pipe: Pipe) -> None:
    image = call(pipe, "everything__get-tiny-image")["content"]
    assert [part["type"] for part in image] == ["text", "image", "text"]
    assert image[1]["mimeType"] == "image/png"
    weather = call(pipe, "everything__get-structured-content", location="New York")
    assert weather["structuredContent"] == json.loads(text(weather))
    links = call(pipe, "everything__get-resource-links", count=2)["content"]
    assert [part["type"] for part in links] == ["text", "resource_link", "resource_link"]
    note = call(pipe, "everything__get-annotated-message", messageType="error", includeImage=False)
    assert note["content"][0]["annotations"]["priority"] == 1


@pytest.mark.parametrize("name", ["over-http", "over-sse"])
def test_an_official_server_over_the_network(pipe: Pipe, name: str) -> None:
    assert text(call(pipe, f"{name}__echo", message="hello")) == "Echo: hello"
    assert text(call(pipe, f"{name}__get-sum", a=2, b=3)) == "The sum of 2 and 3 is 5."


def test_the_gateway_over_http(gateway: Gateway) -> None:
    hello = {**HELLO, "id": 1}
    with opened(gateway.home, gateway.root, "--no-token", **gateway.settings) as door:
        session = post(door.address, hello).getheader("mcp-session-id") or ""
        asked = {"name": "git__git_log", "arguments": {"repo_path": str(gateway.root), "max_count": 1}}
        params = {"name": "call_tool", "arguments": asked}
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        answer = post(door.address, message, mcp_session_id=session).read().decode()
    assert "start" in answer
    assert '"isError":true' not in answer
