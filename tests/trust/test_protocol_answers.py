"""Every message gets the protocol's answer, within its time, whatever it holds."""

from __future__ import annotations

import json
from typing import Any

from .conftest import MakeFolder, Serve

CODE = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "shop/pay.py": "def pay(amount):\n    return amount\n",
}
CUT_EMOJI = '"\\ud83d pay"'


def line(method: str, params: str, identity: str = "900") -> bytes:
    return f'{{"jsonrpc": "2.0", "id": {identity}, "method": "{method}", "params": {params}}}'.encode()


def test_unreadable_messages_and_cut_characters_are_answered(make: MakeFolder, serve: Serve) -> None:
    """protocol B8, documents A11, security 19: no line leaves its sender waiting."""
    pipe = serve(make(CODE))
    pipe.values("index_codebase", path=".")
    wrong: list[tuple[bytes, Any, int]] = [
        (b'{"jsonrpc": "2.0", "id": 84, "method": "tools/ca', None, -32700),
        (b"[", None, -32700),
        (b"[]", None, -32600),
        (b'{"id": 85, "method": "ping"}', 85, -32600),
        (b'{"jsonrpc": "2.0", "id": 86, "method": 7}', 86, -32600),
        (line("tools/call", "[1]", "87"), 87, -32602),
        (b'[{"jsonrpc": "2.0", "id": 88, "method": "ping"}]', 88, -32600),
        (b"[" * 100_000, None, -32700),
    ]
    for sent, identity, code in wrong:
        pipe.send_line(sent)
        answer = pipe.next()
        assert (answer["id"], answer["error"]["code"]) == (identity, code), answer
    call = f'{{"name": "search_code", "arguments": {{"query": {CUT_EMOJI}}}}}'
    pipe.send_line(line("tools/call", call))
    found = pipe.answer(900)["result"]["structuredContent"]
    assert found["results"][0]["path"] == "shop/pay.py"
    pipe.send_line(line("resources/read", f'{{"uri": {CUT_EMOJI}}}', "901"))
    assert pipe.answer(901)["error"]["code"] in (-32002, -32602)


def test_batches_are_answered_together(make: MakeFolder, serve: Serve) -> None:
    """protocol B8: 2025-03-26 requires that batches are accepted."""
    pipe = serve(make(CODE), version="2025-03-26")
    ping = {"jsonrpc": "2.0", "method": "ping"}
    listed = {"jsonrpc": "2.0", "id": "b", "method": "tools/list"}
    noted = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
    pipe.send_line(json.dumps([ping | {"id": 901}, noted, listed, 7]).encode())
    answers = {answer["id"]: answer for answer in pipe.next_batch()}
    assert set(answers) == {901, "b", None}
    assert answers["b"]["result"]["tools"]
    assert answers[None]["error"]["code"] == -32600
    pipe.send_line(json.dumps([noted]).encode())
    assert pipe.result("ping", {}) == {}


def test_input_that_ends_does_not_take_the_answers_with_it(make: MakeFolder, serve: Serve) -> None:
    """protocol AWKWARD: `printf … | findspot serve` gives a result; a question to nobody does not stop it."""
    pipe = serve(make(CODE), capabilities={"elicitation": {}})
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
