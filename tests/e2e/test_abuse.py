"""Raw JSON-RPC that no decent client sends: the server stays, and every answer finds its question."""

from __future__ import annotations

import json
from typing import Any

import pytest

from e2e.harness import Connection, Pipe

HUGE = 10 * 1024 * 1024


def alive(pipe: Pipe) -> None:
    """The server answers, and its answer is the right one."""
    assert pipe.result("ping", {}) == {}


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc": "2.0", "id": 77, "method": "tools/ca',
        b"\xff\xfe\x00\x01 not even text",
        b'{"jsonrpc": "2.0", "id": 78, "method": "ping", "params": {"x": "\xc3\x28"}}',
        b"[]",
        b'[{"jsonrpc": "2.0", "id": 79, "method": "ping"}]',
        b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 83, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 84, "error": {"code": "x"}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}',
        b'{"jsonrpc": "2.0", "method": "notifications/roots/list_changed", "params": []}',
        b"{" * 100_000,
    ],
    ids=lambda line: line[:40].decode("latin-1"),
)
def test_a_bad_line_does_not_end_the_server(abused: Pipe, line: bytes) -> None:
    abused.send_line(line)
    alive(abused)


@pytest.fixture(scope="module")
def abused(home: Any, shop: Any) -> Any:
    """One server for all bad lines: what one of them breaks, the next test sees."""
    with Pipe(home, shop) as pipe:
        pipe.initialize()
        yield pipe
        alive(pipe)
        pipe.close_input()
        assert pipe.ended() == 0


@pytest.mark.parametrize(
    "params",
    [
        {"name": 7},
        {"name": "search_code", "arguments": "query"},
        {"name": "search_code", "arguments": [1]},
        {"name": "no_such_tool"},
        {"arguments": {}},
        {"name": "index_codebase", "arguments": {"path": "/"}, "task": "yes"},
        {"name": "list_projects", "_meta": 7},
        {"name": "search_code", "arguments": {"query": "x"}, "requestState": "forged"},
    ],
    ids=str,
)
def test_wrong_types_are_errors_of_that_call(abused: Pipe, params: dict[str, Any]) -> None:
    assert abused.error("tools/call", params) == -32602
    alive(abused)


def test_a_message_of_ten_megabytes(abused: Pipe, server: Connection) -> None:
    answer = abused.answer(abused.ask_tool("search_code", {"query": "login " * (HUGE // 6)}))["result"]
    assert len(json.dumps(answer)) < 200_000
    assert abused.answer(abused.ask_tool("x" * HUGE, {}))["error"]["code"] == -32602
    abused.send_line(b'{"jsonrpc": "2.0", "id": 9, "method": "' + b"y" * HUGE)
    alive(abused)


def test_a_line_that_is_no_message_is_answered(pipe: Pipe) -> None:
    """protocol B8: no line leaves its sender waiting."""
    pipe.initialize()
    unreadable = [(b"[", None, -32700), (b'{"jsonrpc": "2.0", "id": 86, "method": 7}', 86, -32600)]
    for line, identity, code in unreadable:
        pipe.send_line(line)
        answer = pipe.next()
        assert (answer["id"], answer["error"]["code"]) == (identity, code)


def test_requests_before_initialize(pipe: Pipe) -> None:
    assert pipe.error("tools/list", {}) == -32602
    assert pipe.error("tools/call", {"name": "list_projects", "arguments": {}}) == -32602
    assert pipe.error("tasks/list", {}) in (-32601, -32602)
    alive(pipe)
    pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert pipe.initialize()["serverInfo"]["name"] == "findspot"
    assert pipe.result("tools/list", {})["tools"]


def test_initialize_again_and_versions_nobody_speaks(pipe: Pipe) -> None:
    assert pipe.initialize("1999-01-01")["protocolVersion"] == "2025-11-25"
    assert pipe.initialize("2024-11-05")["protocolVersion"] == "2024-11-05"
    alive(pipe)


def test_the_same_id_twice_is_answered_twice(abused: Pipe, server: Connection) -> None:
    for query in ("login", "invoice"):
        call = {"name": "search_code", "arguments": {"query": query, "limit": 1}}
        abused.send({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": call})
    answers = [abused.next() for _ in range(2)]
    assert {answer["result"]["structuredContent"]["query"] for answer in answers} == {"login", "invoice"}
    alive(abused)


@pytest.mark.parametrize("many", [40, pytest.param(300, marks=pytest.mark.nightly)])
def test_many_calls_at_once_get_their_own_answers(abused: Pipe, server: Connection, many: int) -> None:
    asked = {
        abused.ask_tool("search_code", {"query": f"login {number}", "limit": 1}): f"login {number}"
        for number in range(many)
    }
    for _ in range(many):
        answer = abused.next()
        assert answer["result"]["structuredContent"]["query"] == asked.pop(answer["id"])
    assert asked == {}
    alive(abused)
