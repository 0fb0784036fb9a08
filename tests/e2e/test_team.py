"""A team's server: who sees which project, who may change what, how much, and what is told about it all."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from anyio.from_thread import BlockingPortal
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.exceptions import MCPError

from e2e.door import post, request, serving
from e2e.harness import Connection, Folders, connected, until
from e2e.sample import make_sample
from findspot.core.paths import index_key
from findspot.serve.mcp.http_server import TOKEN_SESSIONS

ALL, SHOP, BOTH, NONE = "token-of-the-admin", "token-for-the-shop", "token-for-two", "token-for-nothing"
LOOKING = ("search_code", "search_docs", "code_research", "search_by_path", "get_index_status")
GREEDY, CLONE = "token-of-the-greedy", "token-by-repository"
PASSWORD = "pass-of-the-remote"
Join = Callable[..., AbstractContextManager[Connection]]


def entry(token: str, projects: list[str] | str) -> dict[str, Any]:
    digest = hashlib.sha256(token.encode()).hexdigest()
    return {"name": token.removeprefix("token-"), "sha256": digest, "projects": projects}


def get(address: str, path: str, token: str | None = None, **headers: str) -> tuple[int, str]:
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    answer = request(address, "GET", path=path, **headers | bearer)
    return answer.status, answer.read().decode()


@pytest.fixture(scope="module")
def team_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("team-home").resolve()


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory, team_home: Path) -> dict[str, Path]:
    """Two indexed projects and one that is not, side by side."""
    folder = tmp_path_factory.mktemp("srv").resolve()
    made = {name: make_sample(folder / name) for name in ("shop", "secret", "new")}
    for name in ("shop", "secret"):
        (made[name] / ".git").mkdir(exist_ok=True)
        remote = f"https://bot:{PASSWORD}@github.com/Acme/{name}.git"
        (made[name] / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n')
    (made["shop"] / "way-out").symlink_to(made["secret"], target_is_directory=True)
    return made


@pytest.fixture(scope="module")
def tokens(team_home: Path, projects: dict[str, Path]) -> Path:
    file = team_home / "tokens.json"
    both = [str(projects["shop"]), index_key(projects["secret"])]
    listed = [entry(ALL, "*"), entry(SHOP, [str(projects["shop"])]), entry(BOTH, both), entry(NONE, [])]
    listed += [entry(GREEDY, []), entry(CLONE, ["git@github.com:acme/shop.git"])]
    file.write_text(json.dumps({"tokens": listed}))
    return file


@pytest.fixture(scope="module")
def team(
    team_home: Path, projects: dict[str, Path], tokens: Path, portal: BlockingPortal
) -> Iterator[tuple[str, Join]]:
    """A read-only server that was started in the project that few may see, and a way to join it."""
    with serving(team_home, projects["new"], "--token", ALL) as address, join(portal, address, ALL) as admin:
        for name in ("shop", "secret"):
            assert (
                admin.values("index_codebase", path=str(projects[name]), confirm=True)["status"] == "success"
            )
    limits = {"FINDSPOT_HTTP_REQUESTS_PER_SECOND": "500", "FINDSPOT_HTTP_CONCURRENT_REQUESTS": "50"}
    options = ("--read-only", "--tokens", str(tokens))
    with serving(team_home, projects["secret"], *options, **limits) as address:
        yield address, lambda token, **how: join(portal, address, token, **how)


def join(
    portal: BlockingPortal, address: str, token: str, mode: str = "legacy", **callbacks: Any
) -> AbstractContextManager[Connection]:
    carrier = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    return connected(portal, streamable_http_client(address, http_client=carrier), mode, **callbacks)


def session_of(address: str, token: str) -> dict[str, str]:
    """The headers of a new session."""
    bearer = {"Authorization": f"Bearer {token}"}
    return {**bearer, "Mcp_Session_Id": post(address, **bearer).headers["Mcp-Session-Id"]}


def search(address: str, headers: dict[str, str], number: int) -> int:
    """The status of a search on a connection of its own."""
    called = {"name": "search_code", "arguments": {"query": f"login {number}"}}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": called}
    return post(address, message, **headers).status


class TestRights:
    @pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
    def test_what_is_granted_is_answered(
        self, team: tuple[str, Join], projects: dict[str, Path], mode: str
    ) -> None:
        shop, secret = projects["shop"], projects["secret"]
        with team[1](SHOP, mode=mode) as client:
            for path in (str(shop), index_key(shop), f"{secret}/../shop", None):
                named = {"path": path} if path else {}
                assert client.values("search_code", query="check a password", **named)["results"]
            inside = client.values("search_code", query="check a password", path=str(shop / "src" / "auth"))
            assert inside["results"]
        with team[1](BOTH, mode=mode) as client:
            listed = {found["path"] for found in client.values("list_projects")["projects"]}
            assert listed == {str(shop), str(secret)}
            assert client.values("search_code", query="login", path=index_key(secret))["results"]

    @pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
    def test_a_repository_is_named_by_its_address(
        self, team: tuple[str, Join], projects: dict[str, Path], mode: str
    ) -> None:
        """A client knows the remote of its checkout, not the server's path."""
        for token in (CLONE, SHOP, ALL):
            with team[1](token, mode=mode) as client:
                for path in ("github.com/acme/shop", "git@github.com:Acme/shop.git", str(projects["shop"])):
                    assert client.values("search_code", query="check a password", path=path)["results"]
                below = client.values(
                    "search_code", query="login", path="https://github.com/acme/shop/src/auth"
                )
                assert below["results"]
                status = client.values("get_index_status", project="github.com/acme/shop.git")
                assert status["repository"] == "github.com/acme/shop"
                listed = {each["path"]: each for each in client.values("list_projects")["projects"]}
                assert listed[str(projects["shop"])]["repository"] == "github.com/acme/shop"
                assert PASSWORD not in json.dumps([status, listed])
                assert (str(projects["secret"]) in listed) == (token == ALL)
                refused = told(client, "search_code", "github.com/acme/never")
                assert "PATH_NOT_FOUND" in refused
                assert "repository" in refused
                if token != ALL:
                    assert told(client, "search_code", "github.com/acme/secret") == refused

    @pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
    @pytest.mark.parametrize("tool", LOOKING)
    def test_what_is_not_is_as_what_does_not_exist(
        self, team: tuple[str, Join], projects: dict[str, Path], tool: str, mode: str
    ) -> None:
        shop, secret, never = projects["shop"], projects["secret"], projects["secret"].parent / "never"
        asked = [secret, secret / "src", index_key(secret), f"{shop}/../secret", projects["new"]]
        asked += [shop / "way-out", secret.parent, "/", "~", "../secret"]
        with team[1](NONE, mode=mode) as nobody, team[1](SHOP, mode=mode) as client:
            expected = told(client, tool, str(never))
            assert "PATH_NOT_FOUND" in expected
            for path in map(str, asked):
                assert told(client, tool, path) == expected, path
            assert told(nobody, tool, str(shop)) == expected

    def test_no_list_resource_or_completion_tells(
        self, team: tuple[str, Join], projects: dict[str, Path]
    ) -> None:
        with team[1](SHOP) as client:
            listed = client.values("list_projects")
            assert [found["path"] for found in listed["projects"]] == [str(projects["shop"])]
            status = read(client, "findspot://status")
            assert json.loads(status)["projectPath"] == str(projects["shop"])
            reference = types.ResourceTemplateReference(uri="findspot://outline/{+path}")
            asked = {"name": "path", "value": "src"}
            found = client.portal.call(client.client.complete, reference, asked).completion.values
            assert "src/auth/login.py" in found
        with team[1](NONE) as client:
            assert client.values("list_projects") == {"projects": [], "total": 0}
            with pytest.raises(MCPError) as failure:
                read(client, "findspot://status")
            assert "secret" not in str(failure.value)

    def test_folders_of_the_client_tell_nothing_either(
        self, team: tuple[str, Join], projects: dict[str, Path]
    ) -> None:
        answers = []
        for folder in (projects["secret"], projects["secret"].parent / "never"):
            folders = Folders()
            folders.paths = [folder]
            with team[1](NONE, list_roots_callback=folders) as client:
                answers.append(client.refusal("search_code", query="login"))
        assert answers[0] == answers[1]

    def test_tools_that_belong_to_no_project_are_for_those_who_see_all(self, team: tuple[str, Join]) -> None:
        with team[1](SHOP) as client, team[1](ALL) as admin:
            assert "search_index" in admin.tools
            assert not {"search_index", "cortex_search", "search_tools"} & set(client.tools)
            with pytest.raises(MCPError, match="This token does not allow"):
                client.portal.call(client.client.call_tool, "search_index", {"query": "x"})

    def test_a_session_belongs_to_its_token(self, team: tuple[str, Join]) -> None:
        opened = post(team[0], Authorization=f"Bearer {ALL}")
        session = opened.headers["Mcp-Session-Id"]
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
        stolen = post(team[0], listing, Authorization=f"Bearer {SHOP}", Mcp_Session_Id=session)
        unknown = post(team[0], listing, Authorization=f"Bearer {SHOP}", Mcp_Session_Id="0" * 32)
        assert (stolen.status, stolen.read()) == (unknown.status, unknown.read())
        assert post(team[0], listing, Authorization=f"Bearer {ALL}", Mcp_Session_Id=session).status == 200


def told(client: Connection, tool: str, path: str) -> str:
    """Everything that a refused call says, but for the path as it was given."""
    argument = "path" if "path" in client.tools[tool].input_schema["properties"] else "project"
    query = {"query": "login"} if "query" in client.tools[tool].input_schema["properties"] else {}
    pattern = {"pattern": "**/*.py"} if tool == "search_by_path" else {}
    result = client.call(tool, **query, **pattern, **{argument: path})
    return result.model_dump_json(by_alias=True).replace(f"directory: {path}", "directory: PATH")


def read(client: Connection, uri: str) -> str:
    (content,) = client.portal.call(client.client.read_resource, uri).contents
    assert isinstance(content, types.TextResourceContents)
    return content.text


class TestReadOnly:
    def test_nothing_that_changes_is_offered_or_done(
        self, team: tuple[str, Join], projects: dict[str, Path]
    ) -> None:
        with team[1](ALL) as admin:
            assert {"search_code", "list_projects"} <= set(admin.tools)
            assert not {"index_codebase", "create_index", "delete_index", "reindex_file"} & set(admin.tools)
            with pytest.raises(MCPError, match="this server is read-only"):
                admin.portal.call(admin.client.call_tool, "delete_index", {"project": str(projects["shop"])})

    def test_a_search_does_not_index_either(self, team: tuple[str, Join], projects: dict[str, Path]) -> None:
        asked: list[Any] = []

        async def agree(_context: Any, params: Any) -> types.ElicitResult:
            asked.append(params)
            return types.ElicitResult(action="accept")

        with team[1](ALL, elicitation_callback=agree) as admin:
            code, _ = admin.refusal("search_code", query="login", path=str(projects["new"]))
        assert (code, asked) == ("INDEX_NOT_FOUND", [])


class TestTokens:
    def test_an_edit_of_the_file_counts_at_once(self, team: tuple[str, Join], tokens: Path) -> None:
        before = tokens.read_text()
        more = json.loads(before)
        more["tokens"].append(entry("token-of-a-guest", []))
        assert post(team[0], Authorization="Bearer token-of-a-guest").status == 401
        tokens.write_text(json.dumps(more))
        assert post(team[0], Authorization="Bearer token-of-a-guest").status == 200
        tokens.write_text("{ half a file")  # what cannot be read lets nobody in
        assert post(team[0], Authorization="Bearer token-of-a-guest").status == 401
        tokens.write_text(before)
        assert post(team[0], Authorization="Bearer token-of-a-guest").status == 401

    def test_no_token_gets_into_the_log(self, team: tuple[str, Join], team_home: Path, tokens: Path) -> None:
        before = tokens.read_text()
        tokens.write_text(json.dumps({"tokens": [{"name": "a", "sha256": entry(SHOP, [])["sha256"]}]}))
        assert post(team[0], Authorization="Bearer a-guess").status == 401
        tokens.write_text(before)
        said = "".join(file.read_text() for file in (team_home / "logs").iterdir())
        assert "no token of the file is accepted" in said
        assert not any(word in said for word in (ALL, SHOP, "a-guess", entry(SHOP, [])["sha256"]))


class TestLimits:
    def test_too_many_at_a_time_wait(self, team_home: Path, projects: dict[str, Path], tokens: Path) -> None:
        limits = {"FINDSPOT_HTTP_REQUESTS_PER_SECOND": "1"}
        with serving(team_home, projects["shop"], "--tokens", str(tokens), **limits) as address:
            assert post(address, Authorization=f"Bearer {SHOP}").status == 200
            with ThreadPoolExecutor(8) as clients:  # at once: one after the other may take a second each
                asked = [clients.submit(post, address, Authorization=f"Bearer {SHOP}") for _ in range(24)]
            refused = [answer for answer in (each.result() for each in asked) if answer.status == 429]
            assert refused
            assert int(refused[0].headers["Retry-After"]) >= 1
            assert post(address, Authorization=f"Bearer {BOTH}").status == 200
            assert 'findspot_refused_total{reason="rate"}' in get(address, "/metrics", ALL)[1]

    def test_one_that_floods_is_refused_and_others_are_not(
        self, team_home: Path, projects: dict[str, Path], tokens: Path
    ) -> None:
        limits = {"FINDSPOT_HTTP_REQUESTS_PER_SECOND": "500", "FINDSPOT_HTTP_CONCURRENT_REQUESTS": "4"}
        with serving(team_home, projects["shop"], "--tokens", str(tokens), **limits) as address:
            flood, polite = session_of(address, BOTH), session_of(address, SHOP)
            with ThreadPoolExecutor(16) as pool:
                flooding = [pool.submit(search, address, flood, number) for number in range(80)]
                assert [search(address, polite, number) for number in range(8)] == [200] * 8
            assert {call.result() for call in flooding} == {200, 429}

    def test_no_token_takes_every_session(self, team: tuple[str, Join]) -> None:
        statuses = [post(team[0], Authorization=f"Bearer {GREEDY}").status for _ in range(TOKEN_SESSIONS + 1)]
        assert statuses[0] == 200
        assert statuses[-1] == 429
        assert post(team[0], Authorization=f"Bearer {SHOP}").status == 200


class TestFigures:
    def test_health_is_for_everyone(self, team: tuple[str, Join]) -> None:
        status, body = get(team[0], "/health")
        assert (status, json.loads(body)["status"]) == (200, "ok")

    def test_ready_is_for_everyone_and_names_projects_to_few(
        self, team: tuple[str, Join], team_home: Path, projects: dict[str, Path]
    ) -> None:
        """One damaged index does not keep the others from answering."""
        address = team[0]
        assert json.loads(get(address, "/ready")[1]) == {"status": "ready", "projects": 2}
        database = team_home / "indexes" / index_key(projects["secret"]) / "index.sqlite"
        whole = database.rename(database.with_name("whole.sqlite"))
        database.write_bytes(b"no database" * 1_000)
        try:
            results = {token: wait_for_ready(address, token, failing=True) for token in (None, SHOP, ALL)}
        finally:
            whole.replace(database)
            (database.parent / "damaged.json").unlink(missing_ok=True)  # else it is built anew, when asked
        assert results[None] == results[SHOP]
        assert results[None]["reasons"] == ["1 of 2 projects cannot answer"]
        assert results[ALL]["reasons"][0]["project"] == str(projects["secret"])
        wait_for_ready(address, None, failing=False)

    def test_a_page_shows_the_granted_projects(
        self, team: tuple[str, Join], projects: dict[str, Path]
    ) -> None:
        address = team[0]
        page = request(address, "GET", path="/")
        assert "script-src 'self'" in page.headers["Content-Security-Policy"]
        assert b"projects.js" in page.read()
        assert get(address, "/projects.js")[0] == get(address, "/projects.css")[0] == 200
        assert get(address, "/projects")[0] == 401
        assert get(address, "/projects", ALL, Host="evil.example")[0] == 421
        listed = json.loads(get(address, "/projects", CLONE)[1])["projects"]
        assert [(one["name"], one["repository"]) for one in listed] == [("shop", "github.com/acme/shop")]
        assert json.loads(get(address, "/projects", ALL)[1])["total"] == 2
        assert json.loads(get(address, "/projects", NONE)[1])["total"] == 0

    def test_metrics_are_for_those_who_see_all(self, team: tuple[str, Join]) -> None:
        assert get(team[0], "/metrics")[0] == 401
        assert get(team[0], "/metrics", SHOP)[0] == 404
        assert get(team[0], "/metrics", ALL, Host="evil.example")[0] == 421

    def test_metrics_can_be_read_and_add_up(self, team: tuple[str, Join], projects: dict[str, Path]) -> None:
        with team[1](ALL) as admin:
            before = figures(get(team[0], "/metrics", ALL)[1])
            for _ in range(3):
                admin.values("search_code", query="login", path=str(projects["shop"]))
            admin.refusal("search_code", query="login", path="/never/there")
            after = figures(get(team[0], "/metrics", ALL)[1])
            ok, failed = (
                f'findspot_requests_total{{tool="search_code",outcome="{o}"}}' for o in ("ok", "error")
            )
            assert after[ok] - before.get(ok, 0) == 3
            assert after[failed] - before.get(failed, 0) == 1
            count = after['findspot_request_seconds_count{tool="search_code"}']
            assert count == after['findspot_request_seconds_bucket{tool="search_code",le="+Inf"}']
            assert count == after[ok] + after[failed]
            assert after["findspot_sessions"] >= 1
            assert after['findspot_calls{state="waiting"}'] == 0
            assert after[f'findspot_index_generation{{project="{projects["shop"]}"}}'] >= 1
            assert after[f'findspot_index_age_seconds{{project="{projects["shop"]}"}}'] >= 0


def wait_for_ready(address: str, token: str | None, *, failing: bool) -> dict[str, Any]:
    """Ask until the answer that all share for a second is over."""

    def answer() -> dict[str, Any] | None:
        status, body = get(address, "/ready", token)
        assert status == 200
        return dict(json.loads(body)) if ("reasons" in json.loads(body)) is failing else None

    found: dict[str, Any] = until(answer)
    return found


def figures(page: str) -> dict[str, float]:
    """A page of metrics, every line of which must have its form."""
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    assert all(
        re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+', line) for line in lines
    )
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_many_clients_at_once_without_an_error(team: tuple[str, Join], projects: dict[str, Path]) -> None:
    with team[1](SHOP) as one, team[1](ALL) as two, ThreadPoolExecutor(8) as pool:

        def ask(number: int) -> int:
            client = (one, two)[number % 2]
            return len(
                client.values("search_code", query=f"login {number}", path=str(projects["shop"]))["results"]
            )

        assert all(pool.map(ask, range(40)))
