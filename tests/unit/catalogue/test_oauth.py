"""Logins at loopback servers: the whole flow, renewal, and what a hostile server tries."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from findspot.catalogue.oauth import LoginError, Logins, _is_safe, log_in, remote_server
from findspot.catalogue.server_pool import ask_servers
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.transports import RemoteServerError
from findspot.core.errors import InvalidArgumentError
from remote_server import AUTHORIZATION_SERVER, PROTECTED_RESOURCE, RemoteServer, browse

from .conftest import PATIENCE_S, index

LOGIN_NEEDED = "The server asks for a login. Run `findspot tools login web`."


@pytest.fixture
def logins(root: Path, tmp_path: Path) -> Logins:
    """Those of the home of this test."""
    return Logins(tmp_path / "findspot")


@pytest.fixture
def server() -> Iterator[RemoteServer]:
    with RemoteServer() as running:
        yield running


def spec_of(server: RemoteServer, **oauth: str) -> ServerSpec:
    return ServerSpec("web", url=server.url, oauth=oauth)


def login(spec: ServerSpec, logins: Logins, browser: Any = browse) -> list[str]:
    """Log in with a browser that agrees to everything; return what the user was shown."""
    shown: list[str] = []

    def show(address: str) -> None:
        shown.append(address)
        threading.Thread(target=browser, args=(address,), daemon=True).start()

    async def limited() -> None:
        with anyio.fail_after(PATIENCE_S):
            await log_in(spec, logins, show)

    anyio.run(limited)
    return shown


def ask(spec: ServerSpec) -> tuple[list[str], str | None]:
    answer = ask_servers([spec], PATIENCE_S)["web"]
    return [tool.name for tool in answer.tools], answer.error


@pytest.mark.parametrize("sse", [False, True])
def test_a_login_lets_calls_through(logins: Logins, tmp_path: Path, sse: bool) -> None:
    with RemoteServer(sse=sse) as server:
        spec = spec_of(server)
        assert ask(spec) == ([], LOGIN_NEEDED)
        assert {"/register", "/authorize"}.isdisjoint(server.paths())
        [address] = login(spec, logins)
        assert address.startswith(f"{server.origin}/authorize?response_type=code")
        assert "code_challenge_method=S256" in address
        assert ask(spec) == (["web__add"], None)
        [file] = (tmp_path / "findspot" / "logins").glob("*.json")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert "access-" in file.read_text()
        assert "access-" not in repr(logins.read(server.url))
        assert ask(replace(spec, url=f"{server.url}?other")) == ([], LOGIN_NEEDED)
        assert logins.remove(server.url)
        assert not logins.remove(server.url)
        assert ask(spec) == ([], LOGIN_NEEDED)


def test_tokens_are_renewed_after_a_refusal(logins: Logins, server: RemoteServer) -> None:
    spec = spec_of(server)
    login(spec, logins)
    first = logins.read(server.url)
    assert first is not None
    server.expire()
    assert ask(spec) == (["web__add"], None)
    second = logins.read(server.url)
    assert second is not None
    assert second.access_token != first.access_token
    assert second.tokens is not None
    assert first.tokens is not None
    assert second.tokens.refresh_token != first.tokens.refresh_token

    server.forget()
    server.seen.clear()
    assert ask(spec) == ([], "The login has expired. Run `findspot tools login web`.")
    assert "/authorize" not in server.paths()


ASK = """
import sys
from findspot.catalogue.server_pool import ask_servers
from findspot.catalogue.server_sources import ServerSpec
specs = [ServerSpec(f"web{number}", url=sys.argv[1]) for number in range(3)]
print([answer.error for answer in ask_servers(specs, 60).values()])
"""


def test_several_processes_renew_once(logins: Logins, server: RemoteServer) -> None:
    login(spec_of(server), logins)
    server.expire()
    server.seen.clear()
    specs = [ServerSpec(f"web{number}", url=server.url) for number in range(3)]
    command = [sys.executable, "-c", ASK, server.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        answers = ask_servers(specs, PATIENCE_S)
        assert other.communicate(timeout=PATIENCE_S)[0] == "[None, None, None]\n"
    assert [answer.error for answer in answers.values()] == [None] * 3
    assert server.paths().count("/token") == 1


def test_an_authorization_server_that_is_down_costs_no_login(logins: Logins, server: RemoteServer) -> None:
    spec = spec_of(server)
    login(spec, logins)
    server.expire()
    server.answers["/token"] = Response("secret words", status_code=503)
    stored = logins.read(server.url)
    assert ask(spec) == ([], "The login could not be renewed: HTTP 503 from the authorization server.")
    assert logins.read(server.url) == stored
    del server.answers["/token"]
    assert ask(spec) == (["web__add"], None)


def test_more_rights_are_asked_for_at_the_next_login(logins: Logins, server: RemoteServer) -> None:
    spec = spec_of(server)
    login(spec, logins)
    server.scope = "tools:admin"
    server.answers[PROTECTED_RESOURCE] = JSONResponse(
        {"resource": server.url, "authorization_servers": [server.origin], "scopes_supported": ["tools:call"]}
    )
    assert ask(spec) == (
        [],
        "The server asks for a login with more rights. Run `findspot tools login web`.",
    )
    [address] = login(spec, logins)
    assert "scope=tools%3Acall+tools%3Aadmin" in address
    assert ask(spec) == (["web__add"], None)


def test_a_client_of_the_entry_is_used(logins: Logins, tmp_path: Path) -> None:
    with RemoteServer(registers=False) as server:
        with pytest.raises(LoginError, match="does not register clients by itself"):
            login(spec_of(server), logins)
        spec = spec_of(server, clientId="known-client", clientSecret="hushed", scopes="tools:call extra")
        [address] = login(spec, logins)
        assert "scope=tools%3Acall+extra" in address
        assert server.seen[-1].path == "/mcp"
        assert [seen.form["client_secret"] for seen in server.seen if seen.path == "/token"] == ["hushed"]
        [file] = (tmp_path / "findspot" / "logins").glob("*.json")
        assert "hushed" not in file.read_text()
        server.expire()
        assert ask(spec) == (["web__add"], None)
        assert [seen.form["client_secret"] for seen in server.seen if seen.path == "/token"] == ["hushed"] * 2


@pytest.mark.parametrize(
    ("methods", "has_secret"),
    [
        (["client_secret_post", "none"], False),
        (["client_secret_post"], True),
        (["client_secret_basic"], True),
        (None, True),
    ],
)
def test_a_registered_client_proves_who_it_is(
    logins: Logins, methods: list[str] | None, has_secret: bool
) -> None:
    with RemoteServer(auth_methods=methods) as server:
        login(spec_of(server), logins)
        assert bool(server.client_secrets) == has_secret
        server.expire()
        assert ask(spec_of(server)) == (["web__add"], None)


def test_a_server_without_logins_says_so(logins: Logins) -> None:
    with RemoteServer(needs_login=False) as server:
        missing = (PROTECTED_RESOURCE, AUTHORIZATION_SERVER, "/register")
        server.answers |= {path: Response(status_code=404) for path in missing}
        with pytest.raises(LoginError, match="answers without a login"):
            login(spec_of(server), logins)
    assert logins.read(server.url) is None


class TestHostile:
    def test_logins_stay_on_safe_addresses(self) -> None:
        remote, local = "https://mcp.example.com/mcp", "http://127.0.0.1:8000/mcp"
        assert _is_safe("https://login.example.com/x", remote)
        assert _is_safe("http://127.0.0.1:9/x", local)
        for address in ("http://login.example.com", "http://127.0.0.1/x", "https://localhost/x", "file:///x"):
            assert not _is_safe(address, remote)
        assert not _is_safe("http://mcp.example.com", "http://mcp.example.com")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"issuer": "https://evil.example"}, "issuer mismatch"),
            (
                {"authorization_endpoint": "http://evil.example/authorize"},
                "http://evil.example, which is not safe",
            ),
            ({"token_endpoint": "http://evil.example/token"}, "http://evil.example, which is not safe"),
            ({"code_challenge_methods_supported": ["plain"]}, "does not support PKCE"),
        ],
    )
    def test_bad_metadata_ends_the_login(
        self, logins: Logins, server: RemoteServer, changes: dict[str, Any], message: str
    ) -> None:
        server.answers[AUTHORIZATION_SERVER] = JSONResponse(server.metadata() | changes)
        with pytest.raises(LoginError, match=message):
            login(spec_of(server), logins)
        assert logins.read(server.url) is None
        assert server.tokens == {}

    def test_another_resource_ends_the_login(self, logins: Logins, server: RemoteServer) -> None:
        other = {"resource": "https://bank.example/mcp", "authorization_servers": [server.origin]}
        server.answers[PROTECTED_RESOURCE] = JSONResponse(other)
        with pytest.raises(LoginError, match="does not match"):
            login(spec_of(server), logins)

    def test_a_stranger_at_the_redirect_has_no_effect(self, logins: Logins, server: RemoteServer) -> None:
        def browser(address: str) -> None:
            callback = next(
                part.partition("=")[2] for part in address.split("&") if part.startswith("redirect_uri=")
            )
            import urllib.error
            import urllib.parse

            callback = urllib.parse.unquote(callback)
            for query in ("", "?code=stolen", "?code=stolen&state=wrong", "?error=x&state=%C3%A9"):
                with pytest.raises(urllib.error.HTTPError, match="400"):
                    browse(callback + query)
            with pytest.raises(urllib.error.HTTPError, match="404"):
                browse(callback.replace("callback", "other"))
            assert "You can close this window" in browse(address)

        login(spec_of(server), logins, browser)
        assert ask(spec_of(server)) == (["web__add"], None)

    def test_a_refused_login_says_so(self, logins: Logins, server: RemoteServer) -> None:
        def refuse(request: Any) -> Response:
            asked = request.query_params
            return RedirectResponse(
                f"{asked['redirect_uri']}?error=access_denied&state={asked['state']}", 302
            )

        server.answers["/authorize"] = refuse
        with pytest.raises(LoginError, match="refused the login: access_denied"):
            login(spec_of(server), logins)

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            (PROTECTED_RESOURCE, "application/json"),
            (AUTHORIZATION_SERVER, "text/event-stream"),
            ("/register", "application/json"),
            ("/token", "text/event-stream"),
        ],
    )
    def test_a_huge_answer_ends_the_login(
        self, logins: Logins, server: RemoteServer, path: str, kind: str
    ) -> None:
        sent: list[int] = []

        def endless(_: Any) -> Response:
            def parts() -> Iterator[bytes]:
                while sum(sent) < 100_000_000:
                    sent.append(65_536)
                    yield b" " * 65_536

            return StreamingResponse(parts(), media_type=kind)

        server.answers[path] = endless
        with pytest.raises(RemoteServerError, match="answer is too large"):
            login(spec_of(server), logins)
        assert sum(sent) < 50_000_000

    def test_a_slow_answer_ends_the_wait(
        self, logins: Logins, server: RemoteServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stop = threading.Event()

        def dripping(_: Any) -> Response:
            def parts() -> Iterator[bytes]:
                while not stop.wait(0.05):
                    yield b" "

            return StreamingResponse(parts(), media_type="application/json")

        login(spec_of(server), logins)
        server.expire()
        server.answers["/token"] = dripping
        monkeypatch.setattr("findspot.catalogue.oauth._PATIENCE_S", 0.5)
        try:
            assert ask(spec_of(server))[1] == (
                "The login could not be renewed: no answer from the authorization server."
            )
            server.answers["/mcp"] = dripping
            answer = ask_servers([spec_of(server)], timeout_s=0.5)["web"]
            assert answer.error == "no answer within 0.5 s"
        finally:
            stop.set()

    def test_an_error_repeats_no_secret(self, logins: Logins, server: RemoteServer) -> None:
        def echo(request: Any) -> Response:
            return JSONResponse({"error": "invalid_grant", "you_sent": dict(request.headers)}, 400)

        server.answers["/token"] = echo
        with pytest.raises(LoginError, match=r"^The authorization server issued no token \(HTTP 400\).$"):
            login(spec_of(server), logins)

    def test_the_token_goes_to_no_other_host(self, logins: Logins, server: RemoteServer) -> None:
        login(spec_of(server), logins)
        with RemoteServer(needs_login=False) as other:
            server.answers["/mcp"] = RedirectResponse(other.url, 307)
            assert ask(spec_of(server))[1] is not None
            server.answers["/mcp"] = Response(status_code=401)
            server.answers["/token"] = RedirectResponse(f"{other.origin}/token", 307)
            assert ask(spec_of(server))[1] == (
                "The login could not be renewed: HTTP 307 from the authorization server."
            )
            assert other.seen == []


class TestWhichServer:
    def test_only_agreed_remote_servers_can_be_logged_in_at(
        self, open_catalogue: Any, write: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened = open_catalogue()
        registry = opened.registry
        entries = {
            "web": {"url": "https://x.example/${PART}"},
            "local": {"command": "true"},
            "key": {"url": "http://127.0.0.1:9", "headers": {"authorization": "Bearer 1"}},
        }
        path = write("mcp.json", {"mcpServers": entries})
        with pytest.raises(InvalidArgumentError, match="no remote server 'web'"):
            remote_server(registry, "web")
        index(opened, path, timeout_s=PATIENCE_S)
        with pytest.raises(InvalidArgumentError, match="variable PART is not set"):
            remote_server(registry, "web")
        monkeypatch.setenv("PART", "mcp")
        assert remote_server(registry, "web").url == "https://x.example/mcp"
        with pytest.raises(InvalidArgumentError, match="program on this machine"):
            remote_server(registry, "local")
        with pytest.raises(InvalidArgumentError, match="has its own credentials"):
            remote_server(registry, "key")
        write("mcp.json", {"mcpServers": entries | {"web": {"url": "https://evil.example"}}})
        with pytest.raises(InvalidArgumentError, match="not agreed to the server 'web' as it is now"):
            remote_server(registry, "web")
