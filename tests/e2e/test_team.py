"""A team's server: who sees which project, who may change what, and how much."""

from __future__ import annotations

import hashlib
import json
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
from e2e.harness import Connection, Folders, Person, connected
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
    with (
        serving(team_home, projects["new"], FINDSPOT_HTTP_TOKEN=ALL) as address,
        join(portal, address, ALL) as admin,
    ):
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

    def test_a_repository_is_named_by_its_address(
        self, team: tuple[str, Join], projects: dict[str, Path]
    ) -> None:
        """A client knows the remote of its checkout, not the server's path."""
        for token in (CLONE, SHOP, ALL):
            with team[1](token) as client:
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

    def test_no_list_resource_or_root_tells(self, team: tuple[str, Join], projects: dict[str, Path]) -> None:
        with team[1](SHOP) as client:
            listed = client.values("list_projects")
            assert [found["path"] for found in listed["projects"]] == [str(projects["shop"])]
            assert "verify_password" in read(client, (projects["shop"] / "src/auth/login.py").as_uri())
        with team[1](NONE) as client:
            assert client.values("list_projects") == {"projects": [], "total": 0}
            with pytest.raises(MCPError) as failure:
                read(client, (projects["secret"] / "src/auth/login.py").as_uri())
            assert failure.value.error.message == "Resource not found"
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
        person = Person()
        with team[1](ALL, elicitation_callback=person) as admin:
            code, _ = admin.refusal("search_code", query="login", path=str(projects["new"]))
        assert (code, person.asked) == ("INDEX_NOT_FOUND", [])


class TestTokens:
    def test_an_edit_of_the_file_counts_at_once(self, team: tuple[str, Join], tokens: Path) -> None:
        before = tokens.read_text()
        more = json.loads(before)
        more["tokens"].append(entry("token-of-a-guest", []))
        assert post(team[0], Authorization="Bearer token-of-a-guest").status == 401
        tokens.write_text(json.dumps(more))
        assert post(team[0], Authorization="Bearer token-of-a-guest").status == 200
        for damage in (lambda: tokens.write_text("{ half a file"), tokens.unlink):
            damage()  # what cannot be read lets nobody in
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

    def test_no_token_takes_every_session_and_health_is_for_everyone(self, team: tuple[str, Join]) -> None:
        statuses = [post(team[0], Authorization=f"Bearer {GREEDY}").status for _ in range(TOKEN_SESSIONS + 1)]
        assert statuses[0] == 200
        assert statuses[-1] == 429
        assert post(team[0], Authorization=f"Bearer {SHOP}").status == 200
        answer = request(team[0], "GET", path="/health")
        assert (answer.status, json.loads(answer.read())["status"]) == (200, "ok")
