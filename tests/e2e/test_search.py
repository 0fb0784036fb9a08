"""Searching through a real client: answers, formats, limits, filters and bad queries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.conftest import Connect
from e2e.harness import Connection, text_of
from e2e.sample import FILES
from findspot.search.token_budget import token_count

BASIC_FIELDS = {"path", "text", "score", "startLine", "endLine"}
CODE_FIELDS = BASIC_FIELDS | {"kind", "symbols", "language", "relevancePercent"}
LEAN_FIELDS = BASIC_FIELDS | {"kind", "symbol", "strength"}
FLAT_FIELDS = {"content", "path", "start_line", "end_line", "relevance_percent", "kind", "symbols"}


def paths(answer: dict[str, object]) -> list[str]:
    results = answer["results"]
    assert isinstance(results, list)
    return [result["path"] for result in results]


def test_search_code_finds_the_definition(server: Connection) -> None:
    result = server.call("search_code", query="check a password against its hash")
    values = result.structured_content
    assert isinstance(values, dict)
    first = values["results"][0]
    assert first["path"] == "src/auth/login.py"
    assert set(first) - {"constants", "callers"} == LEAN_FIELDS
    assert first["symbol"] == "verify_password"
    assert first["text"] in FILES["src/auth/login.py"]
    assert 0 <= first["score"] <= 1
    assert first["strength"] in ("strong", "likely", "weak")
    assert values["query"] == "check a password against its hash"
    assert values["searchMode"] == "hybrid"
    assert values["totalResults"] >= len(values["results"])
    assert values["searchTimeMs"] >= 0
    shown = text_of(result).splitlines()
    lines = f"{first['startLine']}-{first['endLine']}"
    assert shown[0] == f"1. {first['path']}:{lines}  {first['symbol']}  {first['strength']}"
    assert [line.strip() for line in first["text"].splitlines()] == [
        line.strip() for line in shown[1 : 2 + first["text"].count("\n")]
    ]


def test_code_and_docs_do_not_mix_and_docs_quote_the_section(server: Connection) -> None:
    code = paths(server.values("search_code", query="installer database firewall", limit=100))
    docs = paths(server.values("search_docs", query="login password session invoice", limit=100))
    assert not [path for path in code if path.endswith(".md")]
    assert all(path.endswith(".md") for path in docs)
    first = server.values("search_docs", query="database cannot be reached")["results"][0]
    assert first["path"] == "docs/install.md"
    assert "firewall" in first["text"]
    assert "symbols" not in first
    assert "language" not in first


def test_no_documentation_is_an_error_of_its_own(server: Connection, tmp_path: Path) -> None:
    (tmp_path / "only.py").write_text("def alone():\n    return 1\n")
    server.values("index_codebase", path=str(tmp_path), confirm=True)
    code, text = server.refusal("search_docs", query="anything", path=str(tmp_path))
    assert code == "DOCS_INDEX_NOT_FOUND"
    assert text == "No documentation has been indexed yet. Run create_index to index your project."


def test_counts_and_pages(server: Connection) -> None:
    assert len(server.values("search_code", query="user", limit=1, top_k=3)["results"]) == 1, "limit wins"
    assert len(server.values("search_code", query="user", top_k=2)["results"]) == 2
    for name, most in (("limit", 100), ("top_k", 50)):
        warning = server.values("search_code", query="user", **{name: 5000})["warning"]
        assert warning == f"{name} was lowered from 5000 to its maximum of {most}."
    whole = paths(server.values("search_code", query="payment or session", limit=4))
    rest = paths(server.values("search_code", query="payment or session", limit=2, offset=2))
    assert rest == whole[2:4]


def test_languages_path_filter_and_exclude(server: Connection) -> None:
    found = paths(server.values("search_code", query="user", languages=["python", "go"], limit=50))
    assert {path.rsplit(".", 1)[1] for path in found} == {"py", "go"}
    found = paths(server.values("search_code", query="user", path_filter="src/auth/**", limit=50))
    assert set(found) == {"src/auth/login.py", "src/auth/session.py"}
    found = paths(server.values("search_code", query="user", exclude="src/auth/**", limit=50))
    assert not [path for path in found if path.startswith("src/auth/")]


def test_results_are_grouped_by_file_or_definition(server: Connection) -> None:
    by_file = paths(server.values("search_code", query="user", group_by="file", limit=50))
    assert len(by_file) == len(set(by_file)) > 1
    by_symbol = server.values("search_code", query="verify_password", group_by="symbol")["results"]
    symbols = [hit["symbol"] for hit in by_symbol if "symbol" in hit]
    assert symbols[0] == "verify_password"
    assert len(symbols) == len(set(symbols))
    for tool, group_by in (("search_code", "folder"), ("search_docs", "file")):
        assert server.refusal(tool, query="user", group_by=group_by)[0] == "INVALID_ARGUMENT"


class TestModes:
    def test_regex(self, server: Connection) -> None:
        answer = server.values("search_code", query=r"def verify_\w+\(", mode="regex")
        assert paths(answer) == ["src/auth/login.py"]
        assert answer["searchMode"] == "regex"

    def test_similar_to_stands_in_for_the_query(self, server: Connection) -> None:
        for arguments in ({}, {"query": ""}, {"query": None}):
            answer = server.values("search_code", similar_to="src/auth/login.py:6-8", **arguments)
            assert answer["results"]
        both = server.values("search_code", query="anything", similar_to="src/auth/login.py:6-8")
        assert both["warning"] == "query was ignored, since similar_to was given."
        code, _ = server.refusal("search_code", similar_to="src/auth/gone.py:1-2")
        assert code == "FILE_NOT_FOUND"
        code, text = server.refusal("search_code", similar_to="nonsense")
        assert code == "INVALID_ARGUMENT"
        assert text == "similar_to must look like 'path:start-end'."


class TestFormats:
    def test_json_is_flat_snake_case(self, server: Connection) -> None:
        answer = json.loads(text_of(server.call("search_code", query="login", format="json")))
        assert set(answer) >= {"query", "result_count", "results"}
        assert answer["result_count"] == len(answer["results"])
        assert set(answer["results"][0]) >= FLAT_FIELDS
        full = server.values("search_code", query="login", format="json")["results"][0]
        assert set(full) >= CODE_FIELDS
        assert full["relevancePercent"] == round(100 * full["score"])

    def test_human_is_a_listing_and_structured_content_lean(self, server: Connection) -> None:
        answers = []
        for form in (None, "compact", "toon", "human"):
            values = server.values("search_code", query="login", format=form)
            answers.append([values["results"], values["totalResults"]])
        assert all(answer == answers[0] for answer in answers)
        text = text_of(server.call("search_docs", query="firewall", format="human"))
        assert "\n1. docs/install.md:" in f"\n{text}"

    def test_settings_choose_format_limit_and_slim_results(
        self, connect: Connect, shop: Path, home: Path
    ) -> None:
        settings = {
            "FINDSPOT_DEFAULT_FORMAT": "human",
            "FINDSPOT_STRUCTURED_RESULTS": "slim",
            "FINDSPOT_MAX_TOKENS": "250",
        }
        with connect(shop, env=settings) as slim:
            result = slim.call("search_code", query="login user session", limit=20)
            assert isinstance(result.structured_content, dict)
            assert text_of(result).startswith("1. src/auth/")
            assert token_count(text_of(result)) <= 250
            assert all("text" not in hit for hit in result.structured_content["results"])

    @pytest.mark.parametrize("most", [200, 600])
    @pytest.mark.parametrize("form", [None, "json", "toon", "human"])
    def test_both_renderings_stay_within_max_tokens(
        self, server: Connection, most: int, form: str | None
    ) -> None:
        query = "password user session invoice payment " * 40
        result = server.call(
            "search_code",
            query=query,
            limit=5000,
            max_tokens=most,
            format=form,
            explain=True,
            expand_query=True,
            synthesize=True,
        )
        links = [part.model_dump_json(by_alias=True, exclude_none=True) for part in result.content[1:]]
        assert token_count(text_of(result) + "".join(links)) <= most
        assert token_count(json.dumps(result.structured_content, ensure_ascii=False)) <= most

    def test_the_default_is_about_1200_tokens_and_what_is_left_out_is_told(self, server: Connection) -> None:
        result = server.call("search_code", query="password user session invoice payment", limit=100)
        assert token_count(text_of(result)) <= 1_200
        assert token_count(json.dumps(result.structured_content, ensure_ascii=False)) <= 1_200
        answer = server.values("search_code", query="user", limit=50, max_tokens=250, format="json")
        assert "To fit max_tokens:" in answer["warning"]
        lean = server.values("search_code", query="user", limit=50, max_tokens=250)
        assert lean["more"].endswith(f"offset={len(lean['results'])}")
