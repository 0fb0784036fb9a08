"""`findspot search` and `findspot docs`, as the program that people run."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from program import InThisProcess, Program
from shop_project import FILES

NASTY = "def nasty():\n    return '\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eback needle'\n"
LONG = "def long():\n    return '" + "x" * 4_000 + " needle'\n"


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The fixture project and a few nasty files, indexed by the program."""
    folder = tmp_path_factory.mktemp("shop")
    root = shutil.copytree(FILES, folder / "shop")
    (root / ".git").mkdir()
    (root / "nasty.py").write_text(NASTY)
    (root / "long.py").write_text(LONG)
    (root / "spaces.py").write_text("def spaces():\n    return 'needle\u00a0in\u2028hay'\n")
    program = InThisProcess(home=folder / "home", cwd=root)
    program.make_index(program.cwd)
    return program


def paths(ask: Program, *arguments: str) -> list[str]:
    done = ask("search", *arguments, "--json")
    assert done.code == 0, done.err
    return [result["path"] for result in done.json["results"]]


class TestListing:
    def test_results_are_numbered_in_the_order_of_their_rank(self, ask: Program) -> None:
        done = ask("search", "how", "are", "passwords", "hashed", "-n", "3")
        assert done.code == 0
        headings = [line for line in done.out.split("\n") if line and not line.startswith(" ")]
        ranked = ask("search", "how are passwords hashed", "-n", "3", "--json").json["results"]
        for rank, (heading, hit) in enumerate(zip(headings, ranked, strict=True), 1):
            number, location, word, *what = heading.split("  ")
            assert (number, location) == (str(rank), f"{hit['path']}:{hit['startLine']}-{hit['endLine']}")
            assert word in ("strong", "likely", "weak")
            assert what
        source = (FILES / "service/auth/passwords.py").read_text().split("\n")
        for line in done.out.split("\n")[1:6]:
            number, *text = line.strip().split("  ", 1)
            assert source[int(number) - 1].strip() == "".join(text).strip()
        assert done.err.endswith("3 results\n")

    def test_numbers_go_on_after_an_offset(self, ask: Program) -> None:
        lines = ask("search", "order", "--offset", "8", "-n", "3").out.splitlines()
        numbers = [line.split("  ")[0].strip() for line in lines if re.match(r" ?\d+  \S+:\d+-\d+  ", line)]
        assert numbers == ["9", "10", "11"]

    @pytest.mark.parametrize("form", ["human", "compact", "toon", "json"])
    def test_what_files_hold_never_steers_a_terminal(self, ask: Program, form: str) -> None:
        asked = ("search", "nasty", "--format", form)
        shown = ask.on_terminal(*asked, answers={}, whole=True, env={"NO_COLOR": "1"}).err
        assert "nasty" in shown
        assert not any(character in shown for character in "\x1b\x07\x9b\u202e")

    def test_long_passages_show_their_best_lines(self, ask: Program) -> None:
        short = ask("search", "SessionStore", "-n", "1").out
        whole = ask("search", "SessionStore", "-n", "1", "--format", "human").out
        assert " more line" in short
        assert " more line" not in whole
        assert len(whole) > len(short)

    def test_explain(self, ask: Program) -> None:
        assert "why: keyword " in ask("search", "order", "--explain", "-n", "1").out

    def test_nothing_found_says_what_to_try(self, ask: Program) -> None:
        done = ask("search", "zzqxy", "--mode", "keyword")
        assert (done.code, done.out) == (0, "")
        assert "No results." in done.err


class TestOptions:
    def test_matching_lines_of_a_pattern_are_named(self, ask: Program) -> None:
        asked = ("search", r"def \w+", "--mode", "regex", "--path-filter", "service/auth/passwords.py")
        hits = ask(*asked, "--json").json["results"]
        flat = ask(*asked, "--format", "json").json["results"]
        assert [hit["lines"] for hit in hits] == [hit["lines"] for hit in flat]
        for hit in hits:
            lines = [hit["text"].split("\n")[line - hit["startLine"]] for line in hit["lines"]]
            assert lines
            assert all("def " in line for line in lines)
        assert f"matches in {', '.join(map(str, hits[0]['lines']))}" in ask(*asked, "--format", "compact").out

    def test_a_query_may_look_like_an_option(self, ask: Program) -> None:
        assert ask("search", "--json", "--", "--order").json["query"] == "--order"


class TestFormats:
    def test_json_has_the_shape_of_the_tool(self, ask: Program) -> None:
        answer = ask("search", "verify_password", "--explain", "-n", "1", "--json").json
        assert set(answer) == {"results", "totalResults", "searchTimeMs", "query", "searchMode"}
        (first,) = answer["results"]
        assert set(first) - {"constants", "callers"} == {
            "path", "text", "score", "startLine", "endLine", "kind", "symbols", "signature", "breadcrumb",
            "docComment", "language", "relevancePercent", "why", "symbol", "strength",
        }  # fmt: skip

    def test_format_json_is_snake_case_and_stays_json(self, ask: Program) -> None:
        done = ask("search", "needle", "--format", "json", "--extensions", "py")
        assert done.code == 0
        found = {result["path"]: result["content"] for result in json.loads(done.out)["results"]}
        for name in ("spaces.py", "nasty.py"):
            assert found[name] == (ask.cwd / name).read_text().rstrip("\n")
        assert "\x1b" not in done.out
        assert "\x9b" not in done.out

    def test_the_configured_format_is_used(self, ask: Program) -> None:
        asked = ask("search", "order", "-n", "1", env={"FINDSPOT_DEFAULT_FORMAT": "json"})
        assert asked.json["result_count"] == 1


class TestDocs:
    def test_docs_find_sections(self, ask: Program) -> None:
        done = ask("docs", "connection", "pool")
        assert done.code == 0
        assert done.out.startswith("1  docs/configuration.md:")
        assert "Configuration > Database > Connection pool" in done.out

    def test_docs_take_filters(self, ask: Program) -> None:
        assert ask("docs", "order", "--extensions", "rst", "--json").json["results"] == []
        found = ask("docs", "order", "--path-filter", "docs/*.md", "--json").json["results"]
        assert found
        assert all(result["path"].startswith("docs/") for result in found)
        assert ask("docs", "--similar-to", "service/orders/refunds.py:1-20", "--json").json["results"]


class TestFailures:
    def test_no_index_is_exit_code_3(self, findspot: Program, tmp_path: Path) -> None:
        (tmp_path / "bare").mkdir()
        for command in ("search", "docs"):
            done = findspot(command, "anything", "--no-update", "--project", tmp_path / "bare", "--json")
            assert done.code == 3
            assert done.json["code"] == "INDEX_NOT_FOUND"
            assert "findspot index" in done.err

    def test_no_documentation_is_exit_code_3(self, findspot: Program, tmp_path: Path) -> None:
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / "a.py").write_text("x = 1\n")
        findspot.make_index(tmp_path / "code")
        done = findspot("docs", "anything", "--project", tmp_path / "code", "--json")
        assert (done.code, done.json["code"]) == (3, "DOCS_INDEX_NOT_FOUND")
        assert "create_index" not in done.err
        assert "hint: Run `findspot index`" in done.err

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            ((), "INVALID_ARGUMENT"),
            (("  ",), "INVALID_ARGUMENT"),
            (("(", "--mode", "regex"), "INVALID_PATTERN"),
            (("x", "--path-filter", "["), "INVALID_PATTERN"),
            (("--similar-to", "nonsense"), "INVALID_ARGUMENT"),
            (("x", "--limit", "0"), "INVALID_ARGUMENT"),
            (("x", "--limit", "101"), "INVALID_ARGUMENT"),
            (("x", "--top-k", "51"), "INVALID_ARGUMENT"),
            (("x", "--offset", "-1"), "INVALID_ARGUMENT"),
            (("x", "--semantic-weight", "1.5"), "INVALID_ARGUMENT"),
            (("x", "--semantic-weight", "nan"), "INVALID_ARGUMENT"),
            (("x", "--mode", "magic"), "INVALID_ARGUMENT"),
            (("x", "--format", "xml"), "INVALID_ARGUMENT"),
            (("x", "--max-tokens", "10"), "INVALID_ARGUMENT"),
            (("x", "--no-such-option"), "INVALID_ARGUMENT"),
        ],
    )
    def test_wrong_usage_is_exit_code_2(self, ask: Program, arguments: tuple[str, ...], code: str) -> None:
        done = ask("search", *arguments, "--json")
        assert (done.code, done.json["code"]) == (2, code)
        assert done.err.startswith("error: ")


class TestAssistance:
    def test_expansion_and_synthesis(self, ask: Program) -> None:
        asked = ("search", "open a session", "--expand-query", "--synthesize")
        lines = ask(*asked).out.splitlines()
        assert lines[0].startswith("Also searched for: ")
        assert lines[0].endswith("(by index)")
        assert any(line.startswith("Ask next: ") for line in lines)
        found = ask(*asked, "--json").json
        assert found["synthesis"]["madeBy"] == found["expandedBy"] == "index"
        assert found["expandedQuery"].startswith("open a session ")


def test_a_dash_reads_the_query_from_standard_input(ask: Program, tmp_path: Path) -> None:
    (tmp_path / "query").write_text("needle\nin hay\n")
    with (tmp_path / "query").open() as query:
        assert "spaces.py" in ask("search", "-", stdin=query).out


def test_an_empty_query_gets_a_hint(ask: Program) -> None:
    for command, *words in (("search", "-n", "1"), ("docs", "-n", "1"), ("",)):
        empty = ask(command, *words)
        assert empty.code == 2
        assert "Query cannot be empty" in empty.err
        assert f"`findspot {command or 'search'} -` reads it from standard input" in empty.err
