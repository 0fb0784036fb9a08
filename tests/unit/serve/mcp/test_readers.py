"""Which process gets a request, where several answer behind one address."""

from __future__ import annotations

from typing import Any, cast

import pytest

from findspot.serve.mcp.frames import Channel
from findspot.serve.mcp.http_backend import MESSAGE, Plan
from findspot.serve.mcp.readers import Readers


@pytest.fixture
def readers() -> Readers:
    readers = Readers(Plan(), 3)
    for process in readers._readers.values():
        process.channel = cast("Channel", object())
    return readers


def chosen(readers: Readers, session: str = "", **message: Any) -> int | None:
    headers = [(b"mcp-session-id", session.encode())] if session else []
    process = readers._choose({"type": "http", "headers": headers, MESSAGE: message})
    return process.number if process else None


@pytest.mark.parametrize(
    "params",
    [
        {"taskId": "p3-0123"},
        {"uri": "findspot://results/p3-abc_def/2"},
        {"name": "call_tool", "inputResponses": {"p3-0123:key": {"action": "accept"}}},
    ],
)
def test_ids_lead_to_the_process_that_gave_them(readers: Readers, params: dict[str, Any]) -> None:
    assert [chosen(readers, method="any", params=params) for _ in range(4)] == [3] * 4


def test_a_session_stays_with_its_process_whatever_it_asks(readers: Readers) -> None:
    assert chosen(readers, "p2-abc", method="tasks/get", params={"taskId": "p3-0123"}) == 2
    assert chosen(readers, "p9-abc") == 1  # of no process there is: it says that it does not know the session
    assert chosen(readers, "abc") == 1
    readers._readers[2].channel = None
    assert chosen(readers, "p2-abc") is None


def test_other_requests_go_where_the_fewest_are(readers: Readers) -> None:
    asked = {"method": "tools/call", "params": {"name": "search_code"}}
    assert [chosen(readers, **asked) for _ in range(6)] == [1, 2, 3, 1, 2, 3]
    readers._readers[1].waiting[1] = cast("Any", None)
    assert [chosen(readers, **asked) for _ in range(4)] == [2, 3, 2, 3]
    readers._readers[2].channel = None
    assert [chosen(readers, **asked) for _ in range(2)] == [3, 3]
    readers._readers[1].channel = readers._readers[3].channel = None
    assert chosen(readers, **asked) is None


def test_indexes_in_memory_are_in_one_process(readers: Readers) -> None:
    asked = {"method": "tools/call", "params": {"name": "search_index"}}
    assert [chosen(readers, **asked) for _ in range(3)] == [1, 1, 1]
