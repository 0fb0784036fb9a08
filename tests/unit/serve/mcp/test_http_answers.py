"""Sessions over HTTP: answers are JSON bodies, and streams only where something comes before the answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from findspot.serve.mcp import http_answers, http_server
from findspot.serve.mcp.http_answers import sending
from findspot.serve.mcp.http_server import Bodies
from findspot.serve.mcp.sdk import Context

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bare", "version": "1"},
}
Post = Callable[..., Awaitable[tuple[int, dict[str, str], str]]]


async def call(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "reports":
        await context.session.report_progress(1, 2, "halfway")
    if params.name == "slow":
        await anyio.sleep(0.05)
    return types.CallToolResult(content=[types.TextContent(text=params.name)])


async def list_tools(_: Context, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[])


def run(work: Callable[[Post], Awaitable[None]]) -> None:
    """Open a session and do some work with a function that posts to it."""
    server: Server[Any] = Server("sample", on_call_tool=call, on_list_tools=list_tools)
    security = TransportSecuritySettings(allowed_hosts=["here"])
    sessions = StreamableHTTPSessionManager(server, security_settings=security)

    async def post(method: str, params: dict[str, Any], session: str = "", **headers: str) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        given = {"host": "here", "content-type": "application/json", "mcp-session-id": session}
        given |= {"accept": "application/json, text/event-stream"} | headers
        body = [{"type": "http.request", "body": json.dumps(message).encode(), "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            return body.pop() if body else await anyio.sleep_forever()

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in given.items() if value],
        }
        with sending(send) as send_answer:
            await sessions.handle_request(scope, receive, send_answer)
        answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], answered, b"".join(part.get("body", b"") for part in sent[1:]).decode()

    async def main() -> None:
        async with sessions.run():
            await work(post)

    anyio.run(main)


async def open_session(post: Post) -> str:
    status, headers, _ = await post("initialize", HELLO)
    assert status == 200
    return headers["mcp-session-id"]


def test_an_answer_is_one_json_body_and_a_report_opens_a_stream() -> None:
    async def work(post: Post) -> None:
        session = await open_session(post)
        status, headers, body = await post("tools/call", {"name": "at once"}, session)
        assert (status, headers["content-type"]) == (200, "application/json")
        assert json.loads(body)["result"]["content"][0]["text"] == "at once"
        called = {"name": "reports", "_meta": {"progressToken": "t"}}
        status, headers, body = await post("tools/call", called, session)
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        events = [json.loads(line.removeprefix("data: ")) for line in body.splitlines() if "data: " in line]
        assert [event.get("method", "answer") for event in events] == ["notifications/progress", "answer"]

    run(work)


def test_silence_opens_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_answers, "STREAM_AFTER_S", 0.001)

    async def work(post: Post) -> None:
        status, headers, body = await post("tools/call", {"name": "slow"}, await open_session(post))
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        assert '"slow"' in body

    run(work)


def test_a_stream_that_ends_without_an_answer_is_an_error() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def work() -> None:
        with sending(send) as send_answer:
            head = [(b"content-type", b"text/event-stream"), (b"mcp-session-id", b"7")]
            await send_answer({"type": "http.response.start", "status": 200, "headers": head})
            await send_answer({"type": "http.response.body", "body": b"", "more_body": False})

    anyio.run(work)
    assert sent[0]["status"] == 500
    assert dict(sent[0]["headers"])[b"content-type"] == b"application/json"
    assert json.loads(sent[1]["body"])["error"]["code"] == types.INTERNAL_ERROR


def test_refusals_are_those_of_the_sdk() -> None:
    async def work(post: Post) -> None:
        session = await open_session(post)
        asked = ("tools/call", {"name": "x"}, session)
        assert (await post(*asked, accept="application/json"))[0] == 406
        assert (await post(*asked, **{"content-type": "application/jsonx"}))[0] == 415
        assert (await post(*asked, host="elsewhere"))[0] == 421
        assert (await post("tools/call", {"name": "x"}, "unknown"))[0] == 404

    run(work)


def dropped(monkeypatch: pytest.MonkeyPatch, parts: int) -> int:
    """The parts of a body of a thousand bytes each that nobody has read when a request is handed on."""
    monkeypatch.setattr(http_server, "_MOST_DROPPED_BYTES", 8_000)
    waiting = [{"type": "http.request", "body": b"x" * 1_000, "more_body": n > 0} for n in range(parts)]
    left: list[int] = []

    async def receive() -> Any:
        return waiting.pop()

    async def app(*_: Any) -> None:
        left.append(len(waiting))

    scope = {"type": "http", "method": "POST", "path": "/other", "headers": []}
    anyio.run(Bodies(app, 2_000), scope, receive, app)
    return left[0]


def test_a_body_that_is_too_large_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is closed before that takes the refusal along."""
    assert dropped(monkeypatch, 2) == 0
    assert dropped(monkeypatch, 7) == 0


def test_a_body_without_an_end_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dropped(monkeypatch, 100) == 91
