"""`call_tool`: everything that a tool of another server can do reaches the client that called it."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import calling_server
import warm_start
from e2e.harness import Person, Pipe, connected, parameters, until
from findspot.catalogue.indexfile import INDEX_PATH
from findspot.catalogue.server_registry import Choices
from findspot.serve.mcp.resources import with_addresses
from program import Program
from trust.conftest import MakeFolder, Serve

SERVER = Path(calling_server.__file__)


class Gateway:
    """A project whose catalogue has the tools of one agreed server, and the calls that arrived there."""

    def __init__(self, root: Path, findspot: Program, user: Path) -> None:
        self.root, self._findspot, self.user = root, findspot, user
        self.log = user / "calls"
        entry = {"command": sys.executable, "args": [str(SERVER), f"log={self.log}"]}
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

    result = pipe.call("call_tool", name="any__content")
    assert not result["isError"]
    assert [result[name] for name in ("content", "_meta")] == list(
        with_addresses("any", calling_server.content()).values()
    )
    assert pipe.call("call_tool", name="any__structured")["structuredContent"] == {"sum": 5}
    assert pipe.call("call_tool", name="add", arguments='{"a": 2, "b": 3}')["structuredContent"] == {
        "status": 5,
        "code": None,
    }, "by its own name, with arguments as JSON"

    failed = pipe.call("call_tool", name="any__failing")
    assert (failed["isError"], failed["content"][0]["text"]) == (True, "no such note")
    refused = pipe.call("call_tool", name="any__refuse")
    assert refused["isError"]
    assert "refuse failed" in json.dumps(refused)

    before = gateway.calls()
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


def test_progress_cancelling_and_questions(gateway: Gateway, serve: Serve) -> None:
    """documents B1: progress, cancellation and elicitation pass through."""
    pipe = serve(gateway.root, capabilities={"elicitation": {}}, HOME=str(gateway.user))
    number = pipe.ask_tool("call_tool", {"name": "any__count"}, token="t")
    reports = [pipe.until("notifications/progress") for _ in range(3)]
    assert [(r["progressToken"], r["progress"], r["total"], r["message"]) for r in reports] == [
        ("t", step, 3, f"step {step}") for step in (1, 2, 3)
    ]
    assert pipe.answer(number)["result"]["content"][0]["text"] == "counted"

    number = pipe.ask_tool("call_tool", {"name": "any__wait"}, token="w")
    pipe.until("notifications/progress")
    pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    until(lambda: "wait cancelled" in gateway.calls())
    late = pipe.call("call_tool", name="any__wait", timeout=1)
    assert late["structuredContent"]["code"] == "SERVER_TIMEOUT"

    for name, answer in (
        ("any__ask", {"action": "accept", "content": {"colour": "red"}}),
        ("ask", {"action": "decline"}),
    ):
        number = pipe.ask_tool("call_tool", {"name": name})
        asked = pipe.until("elicitation/create")
        assert asked["message"] == "[any] Which?"
        assert asked["requestedSchema"]["properties"] == {"colour": {"type": "string"}}
        pipe.send({"jsonrpc": "2.0", "id": pipe.last_id, "result": answer})
        assert json.loads(pipe.answer(number)["result"]["content"][0]["text"]) == answer


def test_what_may_destroy_something_asks_first(gateway: Gateway, serve: Serve) -> None:
    """documents B1: annotations travel, and those of a committed index are not believed."""
    index = gateway.root / INDEX_PATH
    committed = json.loads(index.read_text())
    for entry in committed["tools"]:
        entry["tool"]["annotations"] = {"readOnlyHint": True}
    index.write_text(json.dumps(committed))

    pipe = serve(gateway.root, HOME=str(gateway.user))
    waiting = pipe.values("call_tool", name="any__erase", arguments={"what": "disk"})
    assert waiting["status"] == "confirmation_required"
    assert "any__erase" in waiting["question"]
    assert waiting["arguments"] == '{"what": "disk"}'
    assert gateway.calls() == []
    for _ in range(2):
        done = pipe.call("call_tool", name="any__erase", arguments={"what": "disk"}, confirm=True)
        assert done["content"][0]["text"] == "erase {'what': 'disk'}"
        assert pipe.values("call_tool", name="any__erase")["status"] == "confirmation_required", "each time"
    assert pipe.values("call_tool", name="any__plain")["status"] == "confirmation_required"
    assert pipe.call("call_tool", name="any__plain", confirm=True)["content"][0]["text"] == "plain {}"
    assert pipe.call("call_tool", name="any__plain")["content"][0]["text"] == "plain {}", "once per session"

    asking = serve(gateway.root, capabilities={"elicitation": {}}, HOME=str(gateway.user))
    before = gateway.calls()
    number = asking.ask_tool("call_tool", {"name": "any__erase", "confirm": True})
    assert "any__erase" in asking.until("elicitation/create")["message"]
    asking.send({"jsonrpc": "2.0", "id": asking.last_id, "result": {"action": "decline"}})
    assert asking.answer(number)["result"]["structuredContent"]["status"] == "cancelled"
    assert gateway.calls() == before


def test_only_what_was_agreed_to_is_called(gateway: Gateway, serve: Serve, home: Path) -> None:
    """documents B1: a changed entry cannot be called, and the answers say why."""
    pipe = serve(gateway.root, HOME=str(gateway.user))
    config = gateway.root / ".mcp.json"
    original = config.read_text()
    config.write_text(original.replace(str(gateway.log), str(gateway.log) + "2"))
    refused = pipe.call("call_tool", name="any__content")
    assert refused["structuredContent"]["code"] == "TOOL_NOT_CALLABLE"
    assert "not agreed to start this version of the server any" in refused["content"][0]["text"]
    assert pipe.values("get_tool", name="any__content")["access"]["state"] == "not_agreed"
    config.write_text(original)
    index = gateway.root / INDEX_PATH
    Choices(home, [index]).make(index, "any__content", enabled=False)
    assert "disabled this tool" in pipe.call("call_tool", name="any__content")["content"][0]["text"]
    agreed = home / "catalogues" / "agreed.json"
    agreed.unlink()
    assert "call_tool" in {tool["name"] for tool in pipe.result("tools/list", {})["tools"]}, (
        "a list that stays"
    )
    assert "not agreed to start" in pipe.call("call_tool", name="any__add")["content"][0]["text"]
    assert gateway.calls() == []


def test_a_tool_is_called_in_a_terminal(gateway: Gateway, tmp_path: Path, home: Path) -> None:
    """documents B1: `findspot tools call NAME --args JSON`."""
    done = gateway.run("call", "any__add", "--args", '{"a": 2, "b": 40}')
    assert (done.code, done.out, done.err) == (0, "42\n", "")
    file = tmp_path / "arguments.json"
    file.write_text('{"a": 1, "b": 1}')
    with file.open() as given:
        added = gateway.run("call", "add", "--args", "-", "--json", stdin=given).json
    assert added["structuredContent"]["status"] == 2
    every = gateway.run("call", "any__content")
    assert every.out == "words\ninside\n"
    assert "[image image/png 2 bytes; --json shows it]" in every.err
    failed = gateway.run("call", "any__failing")
    assert (failed.code, failed.out) == (1, "no such note\n")
    for given, expected in (("[1]", "must be a JSON object"), ("{", "not valid JSON")):
        refused = gateway.run("call", "any__add", "--args", given)
        assert (refused.code, expected in refused.err) == (2, True), refused.err

    refused = gateway.run("call", "any__erase", "--json")
    assert (refused.code, refused.json["status"]) == (2, "confirmation_required")
    assert gateway.run("call", "any__erase", "--yes").out == "erase {}\n"
    logged = gateway.run("log", "--json").json["calls"]
    assert [call["outcome"] for call in logged[:2]] == ["ok", "error"]
    assert {call["client"] for call in logged} == {"command line"}


def test_progress_and_ctrl_c(gateway: Gateway, findspot: Program) -> None:
    """documents B1: progress on a terminal, and Ctrl-C cancels the call at its server."""
    environment = {"HOME": str(gateway.user)}
    counted = findspot.on_terminal(
        "tools", "call", "any__count", answers={}, cwd=gateway.root, env=environment
    )
    assert "step 2 (2 of 3)" in counted.err
    refused = gateway.run("call", "any__ask").out
    assert json.loads(refused)["action"] == "cancel", "a server that asks is not answered"
    with findspot.start("tools", "call", "any__wait", cwd=gateway.root, env=environment) as running:
        until(lambda: "wait" in gateway.calls())
        running.send_signal(signal.SIGINT)
        running.communicate()
    assert running.returncode == 130
    assert gateway.calls()[-1] == "wait cancelled"


def test_the_gateway_serves_three_tools(gateway: Gateway, findspot: Program, home: Path) -> None:
    """surface 8.5: `findspot gateway` serves `search_tools`, `get_tool` and `call_tool` alone."""
    settings = {"HOME": str(gateway.user)}
    with Pipe(home, gateway.root, command="gateway", **settings) as pipe:
        about = pipe.initialize()
        assert "search_code" not in about["instructions"]
        assert "call_tool: run a tool of another" in about["instructions"]
        assert "before you say that you have none. Servers: any.\n" in about["instructions"]
        assert "confirmation_required" in about["instructions"]
        names = [tool["name"] for tool in pipe.result("tools/list", {})["tools"]]
        assert names == ["search_tools", "get_tool", "call_tool"]
        assert pipe.result("resources/list", {})["resources"] == []
        assert pipe.result("resources/templates/list", {})["resourceTemplates"] == []
        assert pipe.result("prompts/list", {})["prompts"] == []
        found = pipe.values("search_tools", query="add", mode="bm25")["tools"][0]["name"]
        assert pipe.call("call_tool", name=found, arguments={"a": 1, "b": 2})["content"][0]["text"] == "3"

    options = ("gateway", "--http", "127.0.0.1:0", "--no-token")
    with findspot.start(*options, cwd=gateway.root, env=settings) as process:
        assert process.stderr is not None
        address = process.stderr.readline().split()[-1]
        with (
            start_blocking_portal() as portal,
            connected(portal, streamable_http_client(address)) as connection,
        ):
            assert list(connection.tools) == names
            result = portal.call(connection.client.call_tool, "call_tool", {"name": "any__content"})
            assert [part.type for part in result.content] == [
                part["type"] for part in calling_server.content()["content"]
            ]
        process.terminate()
        process.communicate()


def test_resources_prompts_and_messages_of_agreed_servers(
    make: MakeFolder, findspot: Program, serve: Serve, tmp_path: Path
) -> None:
    """The lists of a gateway were empty, and a resource that a tool named could not be read."""
    program = [str(Path(calling_server.__file__))]
    servers = {
        "my notes": {"command": sys.executable, "args": [*program, "offers"]},
        "plain": {"command": sys.executable, "args": program},
        "dying": {"command": sys.executable, "args": [*program, "offers", "more"]},
        "gone": {"command": sys.executable, "args": [str(tmp_path / "gone.py"), "offers"]},
    }
    shutil.copy(*program, tmp_path / "gone.py")
    config = {"mcpServers": servers}
    root, user = make({".mcp.json": json.dumps(config)}), {"HOME": str(tmp_path)}
    indexed = findspot("tools", "index", "--yes", "--no-embeddings", cwd=root, env=user)
    assert indexed.code == 0, indexed.err
    (tmp_path / "gone.py").unlink()

    pipe = serve(root, **user)
    pipe.result("logging/setLevel", {"level": "info"})
    listed = pipe.result("resources/list", {})["resources"]
    addresses = [resource["uri"] for resource in listed if "findspot://servers/" in resource["uri"]]
    notes = "findspot://servers/my%20notes/note://"
    assert [address for address in addresses if "my%20notes" in address] == [f"{notes}1", f"{notes}2"]
    assert {address.split("/")[3] for address in addresses} == {"my%20notes", "dying"}, (
        "without the failing one"
    )
    templates = [t["uriTemplate"] for t in pipe.result("resources/templates/list", {})["resourceTemplates"]]
    assert f"{notes}{{id}}" in templates
    (read,) = pipe.result("resources/read", {"uri": f"{notes}7"})["contents"]
    assert read["uri"] == f"{notes}7"
    assert read["text"].startswith("the note note://7 for ")
    named = {prompt["name"] for prompt in pipe.result("prompts/list", {})["prompts"]}
    assert {"my notes__summarise", "dying__summarise"} <= named
    asked = {"name": "my notes__summarise", "arguments": {"what": "all"}}
    (message,) = pipe.result("prompts/get", asked)["messages"]
    assert message["content"]["text"] == "summarise {'what': 'all'}"
    shown = pipe.values("get_tool", name="my notes__echo")
    assert shown["instructions"] == "Read the notes first."

    assert pipe.error("resources/read", {"uri": "note://2"}) == -32002, "it says no server"
    named = pipe.call("call_tool", name="my notes__content", confirm=True)["content"]
    (address,) = (part["uri"] for part in named if part["type"] == "resource_link")
    (linked,) = pipe.result("resources/read", {"uri": address})["contents"]
    assert linked["text"].startswith("the note note://2 for ")
    number = pipe.ask_tool("call_tool", {"name": "my notes__half", "confirm": True})
    logged = pipe.until("notifications/message")
    assert (logged["logger"], logged["level"], logged["data"]) == ("my notes", "info", "Party \ufffd")
    pipe.answer(number)

    servers["dying"]["args"] = [*program, "bad-start"]
    (root / ".mcp.json").write_text(json.dumps(config))
    checks = findspot("doctor", "--json", cwd=root, env=user).json["checks"]
    found = {check["text"].split(":")[0]: check for check in checks if check["name"] == "servers"}
    assert found["my notes"]["state"] == "ok"
    assert "starts, " in found["my notes"]["text"]
    assert "gone.py" in found["gone"]["text"]
    assert (found["gone"]["state"], found["dying"]["state"]) == ("warning", "warning")
    assert "not agreed to as it is now" in found["dying"]["text"]
    other = serve(root, **user)
    listed = other.result("resources/list", {})["resources"]
    assert "dying" not in json.dumps(listed), "not agreed to as it is now"
    assert other.error("resources/read", {"uri": "findspot://servers/dying/note://1"}) == -32002
    assert other.error("prompts/get", {"name": "dying__summarise"}) == -32602
    assert "the note" in json.dumps(other.result("resources/read", {"uri": f"{notes}1"}))


def test_a_client_without_sessions_is_asked_before_a_call_not_during_it(gateway: Gateway, home: Path) -> None:
    """From 2026-07-28 on a call is answered with the question; a server's work would not outlive that."""
    person = Person(content={"colour": "red"})
    transport = stdio_client(parameters(home, gateway.root, HOME=str(gateway.user)))
    with ExitStack() as opened:
        portal = opened.enter_context(start_blocking_portal())
        with warm_start.for_libraries():
            connection = opened.enter_context(
                connected(portal, transport, "2026-07-28", elicitation_callback=person)
            )

        def call(name: str, **arguments: Any) -> str:
            result = portal.call(connection.client.call_tool, "call_tool", {"name": name, **arguments})
            return str(result.content[0].text)

        assert json.loads(call("any__ask"))["action"] == "cancel"
        assert person.asked == []
        assert call("any__erase") == "erase {}"
        assert "any__erase" in person.asked[0].message
        assert call("any__add", arguments={"a": 1, "b": 1}) == "2"
        assert call("any__plain") == call("any__plain") == "plain {}"
        assert ["any__plain" in asked.message for asked in person.asked] == [False, True, True], "each time"
    assert gateway.calls() == ["ask", "erase", "add", "plain", "plain"], "each ran once"
