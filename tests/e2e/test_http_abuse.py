"""HTTP requests that no decent client sends: the server stays, and every answer finds its question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.door import message_in, post, serving
from e2e.harness import Connection
from e2e.wire import Wire

HUGE = 10 * 1024 * 1024


@pytest.fixture(scope="module")
def address(home: Path, shop: Path, server: Connection) -> Iterator[str]:
    with serving(home, shop) as address:
        yield address


@pytest.fixture
def session(address: str) -> dict[str, str]:
    """The headers of an initialized session."""
    greeted = post(address)
    headers = {"Mcp_Session_Id": greeted.headers["mcp-session-id"], "MCP_Protocol_Version": "2025-11-25"}
    assert post(address, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers).status == 202
    return headers


def call(number: int, query: str) -> dict[str, Any]:
    arguments = {"query": query, "limit": 1, "mode": "keyword"}
    params = {"name": "search_code", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def alive(address: str, session: dict[str, str]) -> None:
    """A session that was there before still answers, and its answer is the right one."""
    asked = call(4242, "login")
    wire = Wire()
    wire.sent(asked)
    answer = message_in(post(address, asked, **session).read())
    wire.received(answer)
    assert (answer["id"], answer["result"]["structuredContent"]["query"]) == (4242, "login")


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc": "2.0", "id": 77, "method": "tools/ca',
        b"",
        b"\xff\xfe\x00\x01 not even text",
        b'{"jsonrpc": "2.0", "id": 78, "method": "ping", "params": {"x": "\xc3\x28"}}',
        b"null",
        b"[]",
        b"42",
        b'{"jsonrpc": "1.0", "id": 80, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 81, "method": 7}',
        b'{"jsonrpc": "2.0", "id": 82, "method": "tools/call", "params": [1, 2]}',
        b'{"jsonrpc": "2.0", "id": 85, "method": "tools/call", "params": {"name": 7}}',
        b"{" * 100_000,
    ],
    ids=lambda body: body[:40].decode("latin-1"),
)
def test_a_bad_message_is_refused_and_nothing_else(
    address: str, session: dict[str, str], body: bytes
) -> None:
    refused = post(address, body, **session)
    said = refused.read()
    assert refused.status in (200, 202, 400), said  # 202: taken for a notification
    if refused.status == 200:
        assert message_in(said)["error"]["code"] in (-32602, -32600), said
    alive(address, session)


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "localhost:1@evil.example", 421),
        ("Host", "localhost:", 421),
        ("Origin", "http://localhost:80@evil.example", 403),
        ("Origin", "http://localhost:80.evil.example", 403),
    ],
)
def test_more_than_a_name_and_a_port_is_no_address(
    address: str, header: str, value: str, status: int
) -> None:
    assert post(address, **{header: value}).status == status


def test_a_message_of_ten_megabytes(address: str, session: dict[str, str]) -> None:
    assert post(address, call(1, "x" * HUGE), **session).status == 413
    alive(address, session)
