"""Calls that are answered where they are read: the same bytes as by way of the SDK, or none."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Message, Scope

from findspot.serve.mcp.access import IN_SCOPE, Grant, Terms, granted_all
from findspot.serve.mcp.http_backend import Backend, Plan
from findspot.serve.mcp.server import AtOnce, make_server
from findspot.serve.mcp.tool import Answer, Arguments, Registry
from findspot.serve.mcp.tool_call import Call, CallAtOnce, Library
from findspot.serve.mcp.tools import all_tools
from findspot.serve.mcp.tools.code_search import SEARCH_CODE
from kept_workers import KeptEngine

Ask = Callable[[dict[str, Any]], Awaitable[str]]

CODE = '''"""Carts."""

LIMIT = 3


def total(prices):
    """Sum up a cart — in €."""
    return sum(prices[:LIMIT])


def checkout(cart):
    return total(cart.prices)
'''


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.py").write_text(CODE, "utf-8")
    (folder / "README.md").write_text("# Shop\n\nHow the total of a cart is made.\n", "utf-8")
    engine = KeptEngine()
    engine.project(folder).update()
    engine.close()
    return folder


@asynccontextmanager
async def served(
    version: str,
    capabilities: dict[str, Any] | None = None,
    folders: dict[str, Any] | None = None,
    tools: Registry | None = None,
) -> AsyncIterator[tuple[Ask, AtOnce]]:
    """A connected server: how to ask it by way of the SDK, and how at once."""
    library = Library()
    server = make_server(tools or all_tools(), library)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](8)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](8)

    async def ask(request: dict[str, Any]) -> str:
        await to_server.send(SessionMessage(types.JSONRPCRequest(**request)))
        while True:
            message = (await from_server.receive()).message
            if not isinstance(message, types.JSONRPCRequest):
                return message.model_dump_json(by_alias=True, exclude_unset=True)
            listed = types.JSONRPCResponse(jsonrpc="2.0", id=message.id, result=folders or {"roots": []})
            await to_server.send(SessionMessage(listed))

    info = {"name": "any", "version": "1"}
    hello = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": info}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, from_client, to_client, server.create_initialization_options())
        await ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        greeted = types.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
        await to_server.send(SessionMessage(greeted))
        yield ask, server.at_once
        tasks.cancel_scope.cancel()
    library.close()


def call(arguments: dict[str, Any], tool: str = "search_code", **more: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, **more}
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}


def timeless(answer: str | bytes | None) -> str:
    """The answer without the time that its search took."""
    assert answer is not None
    text = answer.decode() if isinstance(answer, bytes) else answer
    return re.sub(r'"searchTimeMs":[0-9.]+', '"searchTimeMs":0', text)


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("search_code", {}),
        ("search_code", {"format": "json", "limit": 500}),
        ("search_code", {"format": "toon", "explain": True}),
        ("search_docs", {"max_tokens": 200}),
        ("search_code", {"query": "nothing at all fits this zebra"}),
    ],
)
def test_both_ways_give_the_same_bytes(shop: Path, version: str, tool: str, more: dict[str, Any]) -> None:
    request = call({"query": "total of a cart", "path": str(shop), **more}, tool, _meta={"progressToken": 1})

    async def compare() -> tuple[str, str]:
        async with served(version) as (ask, at_once):
            return timeless(await ask(request)), timeless(at_once.answer(json.dumps(request).encode()))

    by_sdk, directly = anyio.run(compare)
    assert directly == by_sdk
    assert '"isError":false' in directly


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]


def test_what_is_special_is_left_to_the_sdk(shop: Path, caplog: pytest.LogCaptureFixture) -> None:
    plain = {"query": "total of a cart", "path": str(shop)}
    special = {
        "no call": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        "a task": call(plain, task={}),
        "a trace": call(plain, _meta={"traceparent": "00-0-0-00"}),
        "another era": call(plain, _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),
        "a wrong token": call(plain, _meta={"progressToken": True}),
        "a notification": {key: value for key, value in call(plain).items() if key != "id"},
        "a wrong id": call(plain) | {"id": 1.5},
        "a wrong version": call(plain) | {"jsonrpc": "1.0"},
        "more in it": call(plain) | {"extra": 1},
        "wrong arguments": call(plain | {"limit": "many"}),
        "unknown arguments": call(plain | {"depth": 1}),
        "no arguments": call({}),
        "an unknown tool": call(plain, "search_everything"),
        "another tool": call({"path": str(shop)}, "get_index_status"),
        "an unknown path": call(plain | {"path": str(shop.parent)}),
        "a language model": call(plain | {"expand_query": True}),
        "a regular expression": call(plain | {"mode": "regex"}),
        "git": call(plain | {"changed_since": "HEAD"}),
        "a package": call(plain | {"dependency": "requests"}),
        "a long question": call(plain | {"query": "total of a cart " * 200}),
        "a long filter": call(plain | {"extensions": "py " * 1_000}),
    }

    async def answers() -> dict[str, bytes | None]:
        async with served("2025-11-25") as (ask, at_once):
            first = {"before any other call": at_once.answer(json.dumps(call(plain)).encode())}
            await ask(call(plain))
            await ask(call({"path": str(shop)}, "get_index_status"))
            assert at_once.answer(json.dumps(call(plain)).encode()) is not None
            raw = {"no JSON": at_once.answer(b"{"), "a batch": at_once.answer(b"[]")}
            return (
                first | raw | {name: at_once.answer(json.dumps(of).encode()) for name, of in special.items()}
            )

    answered = anyio.run(answers)
    assert [name for name, answer in answered.items() if answer is not None] == []
    assert errors(caplog) == []


def test_an_index_that_somebody_else_wrote_is_checked_elsewhere(shop: Path) -> None:
    """Checking, mending and loading it takes long; meanwhile the loop answers others."""
    request = call({"query": "total of a cart", "path": str(shop)})

    async def answers() -> list[bytes | None]:
        async with served("2025-11-25") as (ask, at_once):
            found: list[bytes | None] = []
            for _ in range(2):
                await ask(request)
                found.append(at_once.answer(json.dumps(request).encode()))
                (shop / "more.py").write_text("total = 1\n" * (len(found) + 1))
                with closing(KeptEngine()) as other:
                    assert other.project(shop).update().files_indexed == 1
                found.append(at_once.answer(json.dumps(request).encode()))
            return found

    first, changed, second, changed_again = anyio.run(answers)
    assert first is not None
    assert second is not None
    assert changed is changed_again is None


def test_a_client_that_must_be_asked_for_its_folders_is_asked(shop: Path) -> None:
    async def answers() -> tuple[bytes | None, bytes | None]:
        async with served("2025-11-25", {"roots": {}}) as (ask, at_once):
            await ask(call({"query": "total", "path": str(shop)}))
            relative = call({"query": "total", "path": "."})
            return (
                at_once.answer(json.dumps(relative).encode()),
                at_once.answer(json.dumps(call({"query": "total", "path": str(shop)})).encode()),
            )

    by_roots, by_path = anyio.run(answers)
    assert by_roots is None
    assert by_path is not None


def test_folders_that_have_changed_are_asked_for_before_the_next_answer(shop: Path) -> None:
    """A call does not overtake the notification that was sent before it."""
    anywhere = json.dumps(call({"query": "total"})).encode()
    changed = b'{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}'
    folders = {"roots": [{"uri": shop.as_uri()}]}

    async def answers() -> tuple[bytes | None, ...]:
        async with served("2025-11-25", {"roots": {"listChanged": True}}, folders) as (ask, at_once):
            await ask(call({"query": "total"}))
            before = at_once.answer(anywhere)
            told = at_once.answer(changed, alone=False)
            return before, told, at_once.answer(anywhere)

    before, told, after = anyio.run(answers)
    assert before is not None
    assert (told, after) == (None, None)


def test_the_same_path_below_other_folders_is_another_project(shop: Path) -> None:
    """Whether a search waits is asked of the project that it searches, not of an earlier one."""
    folders = {"roots": [{"uri": shop.as_uri()}]}
    changed = b'{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}'
    lazy = shop.parent / "lazy"
    for project in (shop, lazy):
        (project / "cart").mkdir(parents=True)
        (project / "cart" / "total.py").write_text(CODE, "utf-8")
    (lazy / ".findspot.json").write_text('{"indexingStrategy": "lazy"}', "utf-8")
    engine = KeptEngine()
    for project in (shop, lazy):
        engine.project(project).update()
    assert engine.project(lazy).settings.sync.strategy == "lazy"
    engine.close()
    request = call({"query": "total", "path": "cart"})

    async def answers() -> tuple[bytes | None, bytes | None]:
        async with served("2025-11-25", {"roots": {"listChanged": True}}, folders) as (ask, at_once):
            await ask(request)
            before = at_once.answer(json.dumps(request).encode())
            at_once.answer(changed)
            folders["roots"] = [{"uri": lazy.as_uri()}]
            await ask(call({"query": "total"}))
            return before, at_once.answer(json.dumps(request).encode())

    before, after = anyio.run(answers)
    assert before is not None
    assert after is None


def answered_after(shop: Path, change: Callable[[Ask], Awaitable[None]]) -> bytes | None:
    """What a search is answered with at once, after one that was answered before a change."""
    request = call({"query": "total", "path": str(shop)})

    async def answer() -> bytes | None:
        async with served("2025-11-25") as (ask, at_once):
            await ask(request)
            await change(ask)
            return at_once.answer(json.dumps(request).encode())

    return anyio.run(answer)


def test_an_index_that_is_gone_is_left_to_the_sdk(shop: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def delete(ask: Ask) -> None:
        deleted = await ask(call({"project": str(shop), "confirm": True}, "delete_index"))
        assert '"isError":false' in deleted

    assert answered_after(shop, delete) is None
    assert errors(caplog) == []


def test_settings_of_a_project_can_keep_it_from_being_answered_at_once(shop: Path) -> None:
    async def be_lazy(_: Ask) -> None:
        (shop.parent / "home" / "config.json").write_text('{"indexingStrategy": "lazy"}', "utf-8")

    assert answered_after(shop, be_lazy) is None


def test_an_index_whose_readers_wait_for_its_writer_is_left_to_the_sdk(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a network drive there is no write-ahead log: a commit would keep the event loop waiting."""
    monkeypatch.setattr("findspot.core.sqlite.remote_kind", lambda _folder: "nfs4")
    request = call({"query": "total", "path": str(shop)})

    async def answer() -> tuple[str, bytes | None]:
        async with served("2025-11-25") as (ask, at_once):
            await ask(call({"path": str(shop), "force": True}, "index_codebase"))
            return await ask(request), at_once.answer(json.dumps(request).encode())

    by_sdk, directly = anyio.run(answer)
    assert "cart.py" in by_sdk
    assert directly is None


def test_edited_files_are_answered_as_they_are_now(shop: Path) -> None:
    async def edit(ask: Ask) -> None:
        engine = KeptEngine()
        (shop / "cart.py").write_text(CODE.replace("Sum up", "Count together"), "utf-8")
        engine.project(shop).update()
        engine.close()
        await ask(call({"query": "cart", "path": str(shop)}))

    assert b"Count together" in (answered_after(shop, edit) or b"")


def test_an_unexpected_error_is_logged_and_left_to_the_sdk(
    shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    request = call({"query": "total", "path": str(shop)})

    async def fails_at_once(asked: Call, arguments: Arguments) -> Answer:
        if isinstance(asked, CallAtOnce):
            raise ZeroDivisionError
        return await SEARCH_CODE.handler(asked, arguments)

    tools = Registry([replace(SEARCH_CODE, handler=fails_at_once)])

    async def answers() -> tuple[bytes | None, str]:
        async with served("2025-11-25", tools=tools) as (ask, at_once):
            await ask(request)
            return at_once.answer(json.dumps(request).encode()), await ask(request)

    directly, by_sdk = anyio.run(answers)
    assert directly is None
    assert '"isError":false' in by_sdk
    assert errors(caplog) == ["search_code failed unexpectedly where it is answered at once"]


HEADERS = {
    "host": "127.0.0.1:80",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
EVERYTHING = granted_all("token", "secret")


def request(headers: dict[str, str], body: bytes, method: str = "POST", grant: Grant = EVERYTHING) -> Scope:
    listed = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http", "http_version": "1.1", "method": method, "scheme": "http", "path": "/mcp",
        "raw_path": b"/mcp", "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1), "server": None,
        "headers": [*listed, (b"content-length", str(len(body)).encode())], IN_SCOPE: grant,
    }  # fmt: skip


async def over_http(backend: Backend, scope: Scope, body: bytes = b"") -> tuple[dict[bytes, bytes], bytes]:
    """The headers and the body of an answer."""
    sent: list[Message] = []
    coming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not coming:
            await anyio.sleep_forever()
        return coming.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    await backend(scope, receive, send)
    return dict(sent[0]["headers"]), b"".join(part.get("body", b"") for part in sent[1:])


@asynccontextmanager
async def session() -> AsyncIterator[tuple[Backend, dict[str, str]]]:
    """A server over HTTP, and the headers of a session that has been opened."""
    library = Library()
    backend = Backend(all_tools(), library, Plan(terms=Terms(guarded=True)))
    info = {"name": "any", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    hello = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
    async with backend.running():
        opened, _ = await over_http(backend, request(HEADERS, hello), hello)
        headers = HEADERS | {"mcp-session-id": opened[b"mcp-session-id"].decode()}
        greeted = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
        await over_http(backend, request(headers, greeted), greeted)
        yield backend, headers
    library.close()


def test_over_http_both_ways_give_the_same_answer(shop: Path) -> None:
    body = json.dumps(call({"query": "total of a cart", "path": str(shop)})).encode()

    async def compare() -> None:
        async with session() as (backend, headers):
            assert backend.answer_at_once(request(headers, body), body) is None
            usual, by_sdk = await over_http(backend, request(headers, body), body)
            answer = backend.answer_at_once(request(headers, body), body)
            assert answer is not None
            assert timeless(bytes(answer.body)) == timeless(by_sdk)
            differing = {b"content-length"}
            assert {name: value for name, value in answer.raw_headers if name not in differing} == {
                name: value for name, value in usual.items() if name not in differing
            }

    anyio.run(compare)


def test_over_http_whatever_has_to_be_checked_is_left_to_the_sdk(shop: Path) -> None:
    body = json.dumps(call({"query": "total of a cart", "path": str(shop)})).encode()
    other = granted_all("another", "token")
    elsewhere = Grant("token", EVERYTHING.digest, paths=frozenset({shop.parent / "elsewhere"}))

    async def answers() -> dict[str, Any]:
        async with session() as (backend, headers):
            await over_http(backend, request(headers, body), body)
            assert backend.answer_at_once(request(headers, body), body) is not None
            requests = {
                "another host": request(headers | {"host": "example.com"}, body),
                "another site": request(headers | {"origin": "http://example.com"}, body),
                "another kind of answer": request(headers | {"accept": "text/plain"}, body),
                "another version": request(headers | {"mcp-protocol-version": "2026-07-28"}, body),
                "another session": request(headers | {"mcp-session-id": "0"}, body),
                "no session": request(HEADERS, body),
                "another token": request(headers, body, grant=other),
                "a token for another project": request(headers, body, grant=elsewhere),
                "another method": request(headers, body, "PUT"),
            }
            told = {name: backend.answer_at_once(scope, body) for name, scope in requests.items()}
            await over_http(backend, request(headers, b"", "DELETE"))
            return told | {"a session that is over": backend.answer_at_once(request(headers, body), body)}

    answered = anyio.run(answers)
    assert [name for name, answer in answered.items() if answer is not None] == []
