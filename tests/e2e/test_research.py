"""`code_research` through a real client: each scenario with its exact answer."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import Connect
from e2e.harness import Connection, Pipe, text_of
from findspot.search.token_budget import token_count

FIXTURES = Path(__file__).parents[1] / "fixtures" / "research"
FIELDS = {
    "query",
    "depth",
    "summary",
    "nodes",
    "edges",
    "chains",
    "files",
    "citations",
    "relatedTopics",
    "unresolved",
    "madeBy",
}

AUTHENTICATE = "app/auth/login.py#authenticate"
BY_TOKEN = "app/auth/login.py#sign_in_by_token"
RESPOND = "app/http/handlers.py#LoginHandler.respond"
HANDLE = "app/http/server.py#Server.handle"
RESEND = "app/mail/sender.py#resend"
FIND = "app/storage/users.py#UserStore.find"
QUERY = "app/storage/database.py#Database.query"
MAIN = "app/__main__.py#main"
CHECK = "app/auth/passwords.py#check_password"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small program in Python whose graph is known."""
    return shutil.copytree(FIXTURES / "python", tmp_path_factory.mktemp("research") / "accounts").resolve()


@pytest.fixture(scope="module")
def asked(connect: Connect, project: Path) -> Iterator[Connection]:
    """A client without a language model, in the indexed program."""
    with connect(project) as connection:
        connection.values("index_codebase", path=str(project), confirm=True)
        yield connection


def hops(answer: dict[str, Any]) -> dict[str, int]:
    return {node["id"]: node["hop"] for node in answer["nodes"]}


def edges(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(e["from"], e["to"], e["relation"], e["path"], e["line"]) for e in answer["edges"]]


class TestRelations:
    def test_call_graph(self, asked: Connection) -> None:
        result = asked.call("code_research", query="what calls authenticate()")
        answer = result.structured_content
        assert isinstance(answer, dict)
        assert set(answer) == FIELDS | {"relation"}
        assert hops(answer) == {AUTHENTICATE: 0, BY_TOKEN: 1, RESPOND: 1, RESEND: 2, HANDLE: 2}
        assert edges(answer) == [
            (BY_TOKEN, AUTHENTICATE, "call", "app/auth/login.py", 22),
            (RESPOND, AUTHENTICATE, "call", "app/http/handlers.py", 21),
            (RESEND, BY_TOKEN, "call", "app/mail/sender.py", 13),
            (HANDLE, RESPOND, "call", "app/http/server.py", 16),
        ]
        assert answer["chains"] == [[RESEND, BY_TOKEN, AUTHENTICATE], [HANDLE, RESPOND, AUTHENTICATE]]
        assert answer["files"] == [
            "app/auth/login.py",
            "app/http/handlers.py",
            "app/mail/sender.py",
            "app/http/server.py",
        ]
        assert answer["citations"] == [
            {"path": "app/auth/login.py", "line": 7, "text": "def authenticate(request, database):"}
        ]
        assert answer["edges"][0]["text"] == "return authenticate(token, database)"
        assert answer["summary"] == (
            "authenticate (app/auth/login.py:7) is called by 2: sign_in_by_token (app/auth/login.py:20), "
            "LoginHandler.respond (app/http/handlers.py:20). Hop 2: 2 callers."
        )
        assert (answer["query"], answer["depth"]) == ("what calls authenticate()", 2)
        assert (answer["unresolved"], answer["madeBy"]) == ([], "index")
        report = text_of(result)
        assert "  resend → sign_in_by_token → authenticate\n" in report
        assert (
            "app/mail/sender.py\n  13  resend → sign_in_by_token: return sign_in_by_token(token, database)"
            in report
        )
        result = asked.call("code_research", query="what calls authenticate", format="json")
        assert json.loads(text_of(result)) == result.structured_content

    def test_depth_follows_references_five_levels(self, asked: Connection) -> None:
        answer = asked.values("code_research", query="what calls Database.query", depth=5)
        assert answer["depth"] == 5
        assert hops(answer) == {
            QUERY: 0, FIND: 1, AUTHENTICATE: 2, BY_TOKEN: 3, RESPOND: 3, RESEND: 4, HANDLE: 4, MAIN: 5,
        }  # fmt: skip
        assert answer["chains"] == [
            [RESEND, BY_TOKEN, AUTHENTICATE, FIND, QUERY],
            [MAIN, HANDLE, RESPOND, AUTHENTICATE, FIND, QUERY],
        ]
        shallow = asked.values("code_research", query="what calls Database.query", depth=1)
        assert hops(shallow) == {QUERY: 0, FIND: 1}
        for depth in (0, 6):
            refused = asked.refusal("code_research", query="x", depth=depth)
            told = f"'depth' must be a whole number from 1 to 5, not {depth}."
            assert refused == ("INVALID_ARGUMENT", told)

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("what does UserStore.find call?", {FIND: 0, QUERY: 1}),
            ("callers of `hash_of`", {
                "app/auth/passwords.py#hash_of": 0, CHECK: 1, AUTHENTICATE: 2,
            }),
            ("all implementations of Handler", {
                "app/http/handlers.py#Handler": 0,
                "app/http/handlers.py#LoginHandler": 1,
                "app/http/handlers.py#LogoutHandler": 1,
                "app/http/handlers.py#RefreshHandler": 2,
            }),
            ("what does RefreshHandler inherit from", {
                "app/http/handlers.py#RefreshHandler": 0,
                "app/http/handlers.py#LoginHandler": 1,
                "app/http/handlers.py#Handler": 2,
            }),
            ("what imports app/auth/login.py", {
                "app/auth/login.py": 0,
                "app/http/handlers.py": 1,
                "app/mail/sender.py": 1,
                "app/http/server.py": 2,
            }),
            ("what does app/storage/users.py import", {
                "app/storage/users.py": 0, "app/storage/database.py": 1,
            }),
        ],
    )  # fmt: skip
    def test_each_question(self, asked: Connection, query: str, found: dict[str, int]) -> None:
        assert hops(asked.values("code_research", query=query)) == found

    @pytest.mark.parametrize(
        ("relation", "symbol", "found"),
        [
            ("callers", "app.auth.login.authenticate", {AUTHENTICATE: 0, BY_TOKEN: 1, RESPOND: 1}),
            ("callers", "app/auth/login.py:8", {AUTHENTICATE: 0, BY_TOKEN: 1, RESPOND: 1}),
            ("callees", "UserStore.find", {FIND: 0, QUERY: 1}),
            ("uses", "hash_of", {"app/auth/passwords.py#hash_of": 0, CHECK: 1}),
            ("importers", "app.mail.sender", {"app/mail/sender.py": 0, "app/http/handlers.py": 1}),
            ("overrides", "Handler.respond", {
                "app/http/handlers.py#Handler.respond": 0,
                "app/http/handlers.py#LoginHandler.respond": 1,
                "app/http/handlers.py#LogoutHandler.respond": 1,
            }),
            ("implementations", "app.http.handlers.LoginHandler", {
                "app/http/handlers.py#LoginHandler": 0, "app/http/handlers.py#RefreshHandler": 1,
            }),
        ],
    )  # fmt: skip
    def test_each_relation(
        self, asked: Connection, relation: str, symbol: str, found: dict[str, int]
    ) -> None:
        """protocol-and-research, 2 and B11: relations and qualified symbols are arguments."""
        answer = asked.values("code_research", relation=relation, symbol=symbol, depth=1)
        assert (answer["relation"], hops(answer)) == (relation, found)

    def test_a_path_by_its_two_ends(self, asked: Connection) -> None:
        ends = {"symbol": "Server.handle", "to": "Database.query"}
        answer = asked.values("code_research", relation="path", **ends)
        assert answer["chains"] == [[HANDLE, RESPOND, AUTHENTICATE, FIND, QUERY]]
        answer = asked.values("code_research", query="path from Server.handle to Database.query")
        assert answer["chains"] == [[HANDLE, RESPOND, AUTHENTICATE, FIND, QUERY]]
        assert hops(answer) == {HANDLE: 0, RESPOND: 1, AUTHENTICATE: 2, FIND: 3, QUERY: 4}
        answer = asked.values("code_research", query="path from hash_of to greet")
        none = "No chain of calls or of functions passed on leads from hash_of to greet within 6 steps."
        assert (answer["summary"], answer["chains"]) == (none, [])

    def test_a_folder_limits_where_the_question_starts(self, asked: Connection, project: Path) -> None:
        """protocol-and-research B10: callers outside of the folder are reported."""
        for folder in ("app/auth", "app/storage"):
            answer = asked.values(
                "code_research", query="what calls authenticate()", path=str(project / folder), depth=1
            )
            assert hops(answer) == {AUTHENTICATE: 0, BY_TOKEN: 1, RESPOND: 1}
        assert "app/storage does not define it" in answer["summary"]


def test_protocol_implementations_in_swift(asked: Connection, tmp_path: Path) -> None:
    """What the specification's own question gives; a conformance is cited where it is declared."""
    root = shutil.copytree(FIXTURES / "swift", tmp_path / "auth")
    asked.values("index_codebase", path=str(root), confirm=True)
    query = "all implementations of Authenticatable"
    answer = asked.values("code_research", query=query, path=str(root), max_tokens=4_000)
    accounts, extensions = "Sources/Auth/Accounts.swift", "Sources/Auth/Extensions.swift"
    target = "Sources/Auth/Authenticatable.swift#Authenticatable"
    assert hops(answer) == {
        target: 0,
        f"{accounts}#User": 1,
        f"{accounts}#Person": 1,
        "Sources/Auth/Authenticatable.swift#TwoFactor": 1,
        f"{accounts}#ServiceAccount": 1,
        f"{extensions}#String": 1,
        f"{accounts}#Admin": 2,
        f"{accounts}#Bot": 2,
    }
    assert answer["unresolved"] == []
    assert [edge for edge in edges(answer) if edge[3] == extensions] == [
        (f"{accounts}#ServiceAccount", target, "inherit", extensions, 2),
        (f"{extensions}#String", target, "inherit", extensions, 12),
    ]
    texts = {(edge["path"], edge["line"]): edge["text"] for edge in answer["edges"]}
    assert texts[extensions, 2] == "extension ServiceAccount: Authenticatable {"


class TestFocus:
    def test_architecture_is_entry_points_and_layers(self, asked: Connection) -> None:
        answer = asked.values("code_research", query="how is this program built", focus="architecture")
        assert answer["focus"] == "architecture"
        assert hops(answer) == {
            MAIN: 0, "app/__main__.py": 1, "app/http": 2, "app/mail": 3, "app/auth": 4, "app/storage": 5,
        }  # fmt: skip
        assert answer["summary"] == (
            "5 modules, 7 dependencies, 5 layers. It begins in main (app/__main__.py:7). "
            "Layer 1: app/__main__.py. Layer 2: app/http. Layer 3: app/mail. Layer 4: app/auth. "
            "Layer 5: app/storage."
        )

    def test_dependencies_are_a_map_between_modules(self, asked: Connection) -> None:
        answer = asked.values("code_research", query="modules", focus="dependencies")
        assert edges(answer) == [
            ("app/__main__.py", "app/http", "import", "app/__main__.py", 3),
            ("app/__main__.py", "app/storage", "import", "app/__main__.py", 4),
            ("app/auth", "app/storage", "import", "app/auth/login.py", 4),
            ("app/http", "app/auth", "import", "app/http/handlers.py", 3),
            ("app/http", "app/mail", "import", "app/http/handlers.py", 4),
            ("app/http", "app/storage", "import", "app/http/server.py", 4),
            ("app/mail", "app/auth", "import", "app/mail/sender.py", 3),
        ]
        assert answer["summary"].endswith("No cycles.")

    def test_patterns_and_open_questions_are_answered_with_task_context(self, asked: Connection) -> None:
        answer = asked.values("code_research", query="how are requests handled", focus="patterns")
        assert answer["focus"] == "patterns"
        assert "app/http/handlers.py" in answer["files"]
        answer = asked.values("code_research", query="how are passwords verified")
        found = hops(answer)
        assert found[CHECK] == 0
        assert (CHECK, "app/auth/passwords.py#hash_of") in [edge[:2] for edge in edges(answer)]
        assert "check_password" in [passage["symbol"] for passage in answer["passages"]]
        assert max(found.values()) <= 1
        ids = set(found)
        assert all(e["from"] in ids and e["to"] in ids for e in answer["edges"])

    def test_flow_alone_shows_what_is_set_off(self, asked: Connection) -> None:
        answer = asked.values("code_research", query="check the password", focus="flow")
        steps = [(edge["from"], edge["to"]) for edge in answer["edges"]]
        assert (CHECK, "app/auth/passwords.py#hash_of") in steps


class TestTheCall:
    @pytest.mark.parametrize("most", [200, 400, 1000])
    def test_both_renderings_stay_within_max_tokens(self, asked: Connection, most: int) -> None:
        for query in ("what calls Database.query", "how are passwords verified " * 60):
            result = asked.call("code_research", query=query, depth=5, max_tokens=most)
            assert token_count(text_of(result)) <= most
            assert token_count(json.dumps(result.structured_content, ensure_ascii=False)) <= most

    def test_what_is_left_out_is_told(self, asked: Connection) -> None:
        answer = asked.values("code_research", query="what calls Database.query", depth=5, max_tokens=200)
        assert re.search(r"To fit max_tokens, left out: \d of 7 references \(0 in tests\)", answer["warning"])
        kept = {node["id"] for node in answer["nodes"]} | {edge["from"] for edge in answer["edges"]}
        assert all(kept.issuperset(chain) for chain in answer.get("chains", ()))

    def test_progress_for_each_hop(self, asked: Connection) -> None:
        told: list[tuple[float, float | None, str | None]] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        asked.call("code_research", hear, query="what calls Database.query", depth=5)
        assert told == [(n, 5, f"Hop {n} of 5") for n in range(1, 6)]

    def test_it_can_go_on_as_a_task(self, asked: Connection, home: Path, project: Path) -> None:
        with Pipe(home, project) as pipe:
            pipe.initialize()
            arguments = {"query": "what calls authenticate()"}
            created = pipe.answer(pipe.ask_tool("code_research", arguments, task={}))["result"]
            result = pipe.result("tasks/result", {"taskId": created["task"]["taskId"]})
            assert hops(result["structuredContent"])[AUTHENTICATE] == 0
