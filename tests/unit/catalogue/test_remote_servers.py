"""Asking remote servers over streamable HTTP and SSE, with headers, and bad ones."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from findspot.catalogue import transports
from findspot.catalogue.server_pool import ServerAnswer, ServerPool, ask_servers
from findspot.catalogue.server_registry import Agreements
from findspot.catalogue.server_sources import ServerSpec, read_sources
from remote_server import RemoteServer

from .conftest import PATIENCE_S, Write
from .test_server_pool import failure, pool, text


def ask(write: Write, **entry: Any) -> ServerAnswer:
    specs = read_sources([write("mcp.json", {"mcpServers": {"web": entry}})]).servers
    return ask_servers(specs, PATIENCE_S)["web"]


def tool_names(answer: ServerAnswer) -> list[str]:
    assert answer.error is None
    return [tool.name for tool in answer.tools]


@pytest.mark.parametrize("entry", [{}, {"type": "sse"}, {"transport": "sse"}, {"type": "http"}])
def test_a_server_that_knows_only_sse_is_reached(write: Write, entry: dict[str, str]) -> None:
    """documents-chunks-tools B2: `type: sse` ended with "Not Found"."""
    with RemoteServer(sse=True, needs_login=False) as server:
        assert tool_names(ask(write, url=server.url, **entry)) == ["web__add"]
        posted_first = server.seen[0].method == "POST"
    assert posted_first == ("sse" not in entry.values())


@pytest.mark.parametrize("sse", [False, True])
def test_credentials_come_from_the_environment(
    write: Write, monkeypatch: pytest.MonkeyPatch, sse: bool
) -> None:
    """documents-chunks-tools B2: `authorization: {type: bearer}` was ignored."""
    bearer = {"type": "bearer", "token": "${WEB_TOKEN}"}
    with RemoteServer(sse=sse, needs_login=False, header=("authorization", "Bearer t-1")) as server:
        assert ask(write, url=server.url, authorization=bearer).error == (
            "the environment variable WEB_TOKEN is not set"
        )
        assert server.seen == []
        monkeypatch.setenv("WEB_TOKEN", "t-1")
        assert tool_names(ask(write, url=server.url, authorization=bearer)) == ["web__add"]
        assert tool_names(ask(write, url=server.url, headers={"authorization": "Bearer ${WEB_TOKEN}"}))
        monkeypatch.setenv("WEB_TOKEN", "t-2")
        assert ask(write, url=server.url, authorization=bearer).error == (
            "The server refused the credentials of its entry (HTTP 401)."
        )


def test_a_password_in_the_address_is_sent(write: Write) -> None:
    with RemoteServer(needs_login=False, header=("authorization", "Basic dTpw")) as server:
        assert tool_names(ask(write, url=server.url.replace("://", "://u:p@"))) == ["web__add"]


def test_the_session_is_ended(write: Write) -> None:
    with RemoteServer(needs_login=False) as server:
        assert tool_names(ask(write, url=server.url)) == ["web__add"]
        assert server.seen[-1].method == "DELETE"


def in_pool(root: Path, scenario: Callable[[ServerPool], Awaitable[None]]) -> None:
    async def main() -> None:
        async with pool(root) as opened:
            with anyio.fail_after(PATIENCE_S):
                await scenario(opened)

    anyio.run(main)


def agreed(root: Path, server: RemoteServer) -> ServerSpec:
    spec = ServerSpec("web", url=server.url, source=root / "mcp.json", sse=server.sse)
    Agreements(root).add([spec])
    return spec


class TestEndedSessions:
    def test_a_server_that_was_restarted_is_called_in_a_new_session(self, root: Path) -> None:
        async def scenario(pool: ServerPool) -> None:
            with RemoteServer(needs_login=False) as first:
                spec = agreed(root, first)
                assert text(await pool.call(spec, "add", {"a": 1, "b": 2})) == "3"
            for numbers in ({"a": 2, "b": 2}, {"a": 3, "b": 2}):
                with RemoteServer(needs_login=False, port=first.port):
                    assert len(await pool.tools(spec)) == 1
                    assert text(await pool.call(spec, "add", numbers)) == str(numbers["a"] + 2)

        in_pool(root, scenario)

    @pytest.mark.parametrize("body", ['{"error": {"message": "No valid session ID"}}', "Missing session"])
    def test_a_server_that_calls_it_a_bad_request(self, root: Path, body: str) -> None:
        ended: set[str] = set()

        def refuse(request: Request) -> Response | None:
            known = request.headers.get("mcp-session-id", "") not in ended
            return None if known else Response(body, 400, media_type="application/json")

        async def scenario(pool: ServerPool) -> None:
            with RemoteServer(needs_login=False) as server:
                spec = agreed(root, server)
                server.answers["/mcp"] = lambda request: sessions.add(request.headers.get("mcp-session-id"))
                await pool.call(spec, "add", {"a": 1, "b": 2})
                ended.update(session for session in sessions if session)
                server.answers["/mcp"] = refuse
                assert text(await pool.call(spec, "add", {"a": 2, "b": 2})) == "4"

        sessions: set[str | None] = set()
        in_pool(root, scenario)

    def test_other_errors_are_not_taken_for_it_and_nothing_is_repeated(self, root: Path) -> None:
        calls: list[bytes] = []

        def refuse(request: Request) -> Response | None:
            if "mcp-session-id" not in request.headers or request.method != "POST":
                return None
            calls.append(request.method.encode())
            return Response("wrong", 400, media_type="text/plain") if len(calls) > 1 else None

        async def scenario(pool: ServerPool) -> None:
            with RemoteServer(needs_login=False) as server:
                server.answers["/mcp"] = refuse
                error = await failure(pool.call(agreed(root, server), "add", {"a": 1, "b": 2}))
                assert error.user_message == (
                    "The server web answered with an error: Server returned an error response"
                )
                assert len(calls) == 2, "that it is initialized, and the call"

        in_pool(root, scenario)

    def test_a_server_that_ends_every_session(self, root: Path) -> None:
        def refuse(request: Request) -> Response | None:
            return Response(status_code=404) if "mcp-session-id" in request.headers else None

        async def scenario(pool: ServerPool) -> None:
            with RemoteServer(needs_login=False) as server:
                server.answers["/mcp"] = refuse
                error = await failure(pool.call(agreed(root, server), "add", {"a": 1, "b": 2}))
                assert error.user_message == "The server web ends every session at once."

        in_pool(root, scenario)


@pytest.mark.parametrize("sse", [False, True])
def test_half_a_character_is_replaced(root: Path, sse: bool) -> None:
    async def scenario(pool: ServerPool) -> None:
        with RemoteServer(sse=sse, needs_login=False, halves=True) as server:
            assert text(await pool.call(agreed(root, server), "half")) == "Party \ufffd"

    in_pool(root, scenario)


class TestHostile:
    @pytest.mark.parametrize("sse", [False, True])
    def test_a_redirect_to_another_host_is_not_followed(self, write: Write, sse: bool) -> None:
        with RemoteServer(sse=sse, needs_login=False) as other, RemoteServer(sse=sse) as server:
            server.answers["/mcp"] = RedirectResponse(other.url, 307)
            entry = {"type": "sse"} if sse else {}
            answer = ask(write, url=server.url, headers={"X-Key": "k"}, **entry)
            assert answer.error is not None
            assert other.seen == []

    def test_a_huge_answer_is_cut_off(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(transports, "MAX_ANSWER_BYTES", 100_000)
        with RemoteServer(needs_login=False) as server:
            server.answers["/mcp"] = Response(b"x" * 1_000_000, media_type="application/json")
            assert ask(write, url=server.url).error == "The server's answer is too large."
            packed = gzip.compress(b"x" * 10_000_000)
            server.answers["/mcp"] = Response(packed, headers={"Content-Encoding": "gzip"})
            assert ask(write, url=server.url).error == (
                "The server compressed its answer though it was asked not to."
            )

    def test_a_refusal_repeats_no_address(self, write: Write) -> None:
        with RemoteServer(needs_login=False) as server:
            server.answers["/mcp"] = Response(status_code=503)
            for entry in ({}, {"type": "sse"}):
                answer = ask(write, url=f"{server.url}?key=hidden", **entry)
                assert answer.error == "The server answered with HTTP 503."

    def test_a_lost_message_over_sse_ends_the_connection(self, write: Write) -> None:
        with RemoteServer(sse=True, needs_login=False) as server:
            server.answers["/messages/"] = Response(status_code=500)
            assert ask(write, url=server.url).error == "The server answered with HTTP 500."


class TestEntries:
    def test_agreements_of_earlier_versions_stay_valid(self, tmp_path: Path) -> None:
        spec = ServerSpec("a", url="https://x", source=tmp_path / "mcp.json")
        assert spec.launch == f'[null, [], "{tmp_path}", [], "https://x", []]'

    def test_what_decides_about_logins_needs_an_agreement(self) -> None:
        plain = ServerSpec("a", url="https://x")
        others = [
            ServerSpec("a", url="https://x", sse=True),
            ServerSpec("a", url="https://x", oauth={"clientId": "1"}),
            ServerSpec("a", url="https://x", oauth={"clientId": "2"}),
        ]
        assert len({plain.launch, *(other.launch for other in others)}) == 4

    def test_authorization_is_read(self, write: Write) -> None:
        oauth = {"clientId": "c", "clientSecret": "${S}", "scopes": ["a", "b"], "unknown": 1}
        entries = {
            "gateway": {"url": "https://x", "authorization": {"type": "oauth2", "oauth": oauth}},
            "client": {"url": "https://x", "oauth": {"clientId": "c", "callbackPort": 8123}},
            "odd": {"url": "https://x", "authorization": {"type": "basic"}},
            "empty": {"url": "https://x", "authorization": {"type": "bearer"}},
        }
        read = read_sources([write("mcp.json", {"mcpServers": entries})])
        assert [dict(spec.oauth) for spec in read.servers] == [
            {"clientId": "c", "clientSecret": "${S}", "scopes": "a b"},
            {"clientId": "c", "callbackPort": "8123"},
            {},
            {},
        ]
