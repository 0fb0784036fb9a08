"""The official servers behind the gateway: filesystem, everything, memory, git and time.

One set of servers serves all tests of this module: those on pipes are started by the first call, and the
server `everything` also runs over streamable HTTP and over SSE.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contents import write_files
from e2e.door import HELLO, opened, post
from e2e.harness import Pipe, environment, until
from program import INSTALLED
from real_servers import SERVERS, filled, install

pytestmark = pytest.mark.programs

NAMES = ("filesystem", "everything", "memory", "git", "time")


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
    def pipe(self, **capabilities: Any) -> Iterator[Pipe]:
        with Pipe(self.home, self.root, **self.settings) as pipe:
            pipe.initialize(**capabilities)
            yield pipe


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
    write_files(root, {"notes.txt": "hello from a file\n", "long.txt": "a line of text\n" * 4_000})
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "start")):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True)
    entries = install(folder / "servers", root, NAMES)
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
    """A client whose user can be asked."""
    with gateway.pipe(elicitation={}) as pipe:
        yield pipe


def text(result: Mapping[str, Any]) -> str:
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


def call(pipe: Pipe, name: str, /, **arguments: Any) -> dict[str, Any]:
    result = pipe.call("call_tool", name=name, arguments=arguments)
    assert not result.get("isError"), result
    return result


def answer_question(pipe: Pipe, action: str) -> str:
    """Answer the next question to the user; return it."""
    question = pipe.until("elicitation/create")
    content = {"content": {"confirm": True}} if action == "accept" else {}
    pipe.send({"jsonrpc": "2.0", "id": pipe.last_id, "result": {"action": action, **content}})
    return json.dumps(question)


@pytest.mark.parametrize("name", NAMES)
def test_an_official_server_on_a_pipe(gateway: Gateway, pipe: Pipe, name: str) -> None:
    """documents B1: found tools of real servers are called, with the names and arguments that were found."""
    about = SERVERS[name]
    shown = pipe.values("get_tool", name=f"{name}__{about.tool}")
    assert shown["access"]["state"] == "ready"
    result = call(pipe, f"{name}__{about.tool}", **filled(dict(about.arguments), gateway.root))
    expected = {
        "filesystem": "[FILE] notes.txt",
        "everything": "Echo: hello",
        "memory": '"entities": []',
        "git": "On branch main",
        "time": '"timezone": "UTC"',
    }
    assert expected[name] in text(result)


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


def test_progress_arrives_before_the_answer(pipe: Pipe) -> None:
    arguments = {
        "name": "everything__trigger-long-running-operation",
        "arguments": {"duration": 1, "steps": 2},
    }
    number = pipe.ask_tool("call_tool", arguments, token="p1")
    pipe.progress_above(1)
    assert not pipe.answer(number)["result"].get("isError")


def test_destructive_tools_ask_first(gateway: Gateway, pipe: Pipe) -> None:
    path = gateway.root / "written.txt"
    arguments = {"name": "filesystem__write_file", "arguments": {"path": str(path), "content": "new"}}
    number = pipe.ask_tool("call_tool", arguments)
    assert "filesystem__write_file" in answer_question(pipe, "decline")
    assert pipe.answer(number)["result"]["structuredContent"]["status"] == "cancelled"
    assert not path.exists()
    number = pipe.ask_tool("call_tool", arguments)
    answer_question(pipe, "accept")
    assert not pipe.answer(number)["result"].get("isError")
    assert path.read_text() == "new"

    with gateway.pipe() as other:
        refused = other.call("call_tool", name="git__git_reset", arguments={"repo_path": str(gateway.root)})
        assert refused["structuredContent"]["status"] == "confirmation_required", "nobody can be asked"


def test_errors_of_a_tool_and_wrong_arguments(pipe: Pipe) -> None:
    outside = pipe.call("call_tool", name="filesystem__read_text_file", arguments={"path": "/etc/passwd"})
    assert outside["isError"]
    assert "Access denied" in text(outside)
    wrong = pipe.call("call_tool", name="time__convert_time", arguments={"time": 5})
    assert wrong["isError"]
    assert "'source_timezone' is a required property" in text(wrong)
    assert '"target_timezone"' in text(wrong), "the schema"


def test_a_long_answer_is_shortened_and_read_in_pages(gateway: Gateway, pipe: Pipe) -> None:
    path = gateway.root / "long.txt"
    result = call(pipe, "filesystem__read_text_file", path=str(path))
    whole = path.read_text()
    assert len(json.dumps(result)) < len(whole)
    assert "findspot://results/" in json.dumps(result)


def test_each_client_has_its_own_process_of_a_server(gateway: Gateway, pipe: Pipe) -> None:
    entity = {"name": "Alice", "entityType": "person", "observations": ["works at Acme"]}
    call(pipe, "memory__create_entities", entities=[entity])
    with gateway.pipe() as other:
        assert "Alice" in text(call(other, "memory__search_nodes", query="Acme")), "in the same file"
        assert len(running(gateway, "memory")) == 2
    until(lambda: len(running(gateway, "memory")) == 1)


def running(gateway: Gateway, name: str) -> list[str]:
    """The command lines of the processes of a server."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            lines.append(path.read_bytes().decode())
    return [line for line in lines if SERVERS[name].program in line and str(gateway.root.parent) in line]


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


def test_the_log_has_every_call_without_contents(gateway: Gateway, pipe: Pipe) -> None:
    call(pipe, "everything__echo", message="a particular message")
    logged = json.loads(gateway.run("tools", "log", "-n", "500", "--json"))["calls"]
    assert {call["serverName"] for call in logged} >= {"everything"}
    assert logged[0]["tool"] == "everything__echo"
    assert logged[0]["client"] == "pipe"
    assert logged[0]["answerBytes"] > logged[0]["argumentBytes"] > 20
    stored = b"".join(path.read_bytes() for path in gateway.home.glob("activity.sqlite*"))
    assert b"particular" not in stored
