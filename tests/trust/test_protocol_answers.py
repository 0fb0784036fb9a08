"""Every message gets the protocol's answer, within its time, whatever it holds."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.harness import Pipe
from program import Program

from .conftest import MakeFolder, Serve

CODE = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "shop/pay.py": "def pay(amount):\n    return amount\n",
}


def line(method: str, params: str, identity: str = "900") -> bytes:
    return f'{{"jsonrpc": "2.0", "id": {identity}, "method": "{method}", "params": {params}}}'.encode()


def test_input_that_ends_does_not_take_the_answers_with_it(make: MakeFolder, serve: Serve) -> None:
    """protocol AWKWARD: `printf … | findspot serve` gives a result."""
    pipe = serve(make(CODE))
    indexing = pipe.ask_tool("create_index", {})
    listing = pipe.ask_tool("list_projects", {})
    pipe.close_input()
    answers = {}
    while len(answers) < 2:
        message = pipe.next()
        if "method" not in message:
            answers[message["id"]] = message["result"]["structuredContent"]
    assert answers[indexing]["status"] == "success"
    assert answers[listing]["total"] in (0, 1)
    assert pipe.ended() == 0


def test_a_client_that_answers_nothing_is_not_waited_for_again(make: MakeFolder, serve: Serve) -> None:
    """protocol B9 and AWKWARD: a model only where a call asks for it, roots once per connection."""
    project = make(CODE)
    pipe = serve(project, capabilities={"roots": {}, "sampling": {}})
    pipe.values("index_codebase", path=str(project))
    asked = pipe.ask_tool("code_research", {"query": "what calls pay"})
    methods = []
    while (message := pipe.next()).get("id") != asked or "method" in message:
        methods.append(message["method"])
    assert [method for method in methods if method != "notifications/cancelled"] == ["roots/list"]
    answer = message["result"]["structuredContent"]
    assert answer["madeBy"] == "index"
    assert "warning" not in answer
    asked = pipe.ask_tool("search_code", {"query": "pay", "format": "human"})
    assert "result" in pipe.next(), "asked again for roots that were not listed"


def test_a_call_does_not_overtake_the_news_that_roots_have_changed(
    findspot: Program, make: MakeFolder, serve: Serve
) -> None:
    """Both lines are there before the server reads the first."""
    first, second = make(CODE), make({"stock.py": "def pay(): return 0\n"}, "second", git=True)
    for project in (first, second):
        findspot.make_index(project)
    pipe = serve(first, capabilities={"roots": {"listChanged": True}})
    changed = json.dumps({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).encode()
    call = line("tools/call", '{"name": "search_code", "arguments": {"query": "pay"}}')
    for root, path in [(first, "shop/pay.py"), (second, "stock.py"), (first, "shop/pay.py")]:
        pipe.send_line(changed + b"\n" + call)
        pipe.until("roots/list")
        pipe.send({"jsonrpc": "2.0", "id": pipe.last_id, "result": {"roots": [{"uri": root.as_uri()}]}})
        found = pipe.answer(900)["result"]["structuredContent"]
        assert [hit["path"] for hit in found["results"]] == [path]


def test_resources_and_lists_say_what_is_true(make: MakeFolder, serve: Serve) -> None:
    """protocol B15, MISSING (links), smaller (code 0), AWKWARD (cursors, missing roots)."""
    project = make(CODE)
    pipe = serve(project, capabilities={"roots": {}})
    pipe.values("index_codebase", path=str(project))

    asked = pipe.ask_tool("search_code", {"query": "pay", "format": "human"})
    pipe.until("roots/list")
    roots = [{"uri": "file:///no/such/folder"}]
    pipe.send({"jsonrpc": "2.0", "id": pipe.last_id, "result": {"roots": roots}})
    found = pipe.answer(asked)["result"]
    assert "file:///no/such/folder" in found["structuredContent"]["warning"]
    assert "file:///no/such/folder" in json.dumps(found["content"])

    link = next(part for part in found["content"] if part["type"] == "resource_link")
    (read,) = pipe.result("resources/read", {"uri": link["uri"]})["contents"]
    assert read["text"].rstrip("\n") == found["structuredContent"]["results"][0]["text"].rstrip("\n")
    for unknown in ("nosuch://x", f"findspot://results/{'9' * 5000}/1", "file:///etc/passwd#L1-L2"):
        pipe.ask("resources/read", {"uri": unknown})
        error = pipe.next()["error"]  # no question for the client's roots comes before it
        assert (error["code"], error["data"]) == (-32002, {"uri": unknown})

    for listing in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        assert pipe.error(listing, {"cursor": "made up"}) == -32602


def test_errors_have_codes_and_tasks_name_themselves(make: MakeFolder, serve: Serve) -> None:
    """protocol smaller: JSON-RPC code 0, and progress of a task without its `_meta`."""
    nowhere = make({"only.txt": "no project"}, "nowhere")
    pipe = serve(nowhere)
    error = pipe.answer(pipe.ask("resources/read", {"uri": "dep://pypi/x@1/x.py"}))["error"]
    assert error["code"] == -32602
    assert "Could not detect project root" in error["message"]
    pipe = serve(make(CODE))
    request = pipe.ask_tool("index_codebase", {"path": "."}, token="t", task={})
    answer, progress = None, None
    while answer is None or progress is None:  # a short task may report before it is answered
        message = pipe.next()
        if message.get("id") == request:
            answer = message["result"]
        elif message.get("method") == "notifications/progress":
            progress = message["params"]
    task = {"taskId": answer["task"]["taskId"]}
    assert progress["_meta"] == {"io.modelcontextprotocol/related-task": task}


def test_the_newest_version_looks_at_an_address_before_it_asks(make: MakeFolder, home: Path) -> None:
    """protocol B15: the address is looked at before the client is asked for its roots."""
    named = "io.modelcontextprotocol/"
    about = {
        f"{named}protocolVersion": "2026-07-28",
        f"{named}clientInfo": {"name": "pipe", "version": "1"},
        f"{named}clientCapabilities": {"roots": {}},
    }
    with Pipe(home, make(CODE)) as pipe:
        error = pipe.answer(pipe.ask("resources/read", {"uri": "nosuch://x", "_meta": about}))["error"]
        assert (error["code"], error["data"]) == (-32602, {"uri": "nosuch://x"})
