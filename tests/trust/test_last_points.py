"""The specifications' last points: long lines, path search, similar places, hints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contents import write_files
from e2e.harness import Pipe
from program import Program

from .conftest import MakeFolder, Serve, until

FILLER = "The quarterly report describes staffing, travel and the yearly budget of every department. "
FACT = "A customer may ask for a refund of an annual licence within forty-two days. "
PARAGRAPH = FILLER * 20 + FACT + FILLER * 20
LONG_LINE = FILLER * 700 + FACT + FILLER * 700
QUESTION = "refund of an annual licence"


def write_long_lines(root: Path) -> Path:
    others = {f"docs/note{n}.md": f"# Note {n}\n\nRefund desk {n}. {FILLER * 3}\n" for n in range(9)}
    write_files(
        root,
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            "docs/guide.md": f"# Guide\n\n## Refunds\n\n{PARAGRAPH}\n",
            "docs/long.txt": LONG_LINE.replace("annual", "lifetime"),
            "src/table.py": "".join(f"row{n} = {n}\n" for n in range(200))
            + f'TABLE = "{"zero one two " * 300}needle_in_line {"three four " * 300}"\n',
            **others,
        },
    )
    return root


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    """A server for the tests that neither change its project nor need a home of their own."""
    folder = tmp_path_factory.mktemp("shared")
    with Pipe(folder / "home", write_long_lines(folder / "project")) as pipe:
        pipe.initialize()
        yield pipe


def test_long_lines_are_cut_and_their_best_passage_is_shown(shared: Pipe) -> None:
    """search-mcp B7: a line was one chunk, and its beginning was shown whatever the question was."""
    pipe = shared
    pipe.values("create_index")
    for max_tokens in (8_000, 1_000, 400):
        best = pipe.values("search_docs", query=QUESTION, max_tokens=max_tokens)["results"][0]
        assert best["path"] == "docs/guide.md"
        assert "forty-two days" in best["text"]
        assert len(best["text"]) <= 8_000
    for max_tokens in (8_000, 1_000):
        best = pipe.values("search_docs", query="refund of a lifetime licence", max_tokens=max_tokens)
        assert "lifetime licence within forty-two days" in best["results"][0]["text"]
    lines = pipe.values("search_code", query="needle_in_l.ne", mode="regex", max_tokens=600)
    assert "needle_in_line" in lines["results"][0]["text"]
    assert len(lines["results"][0]["text"]) <= 2_000


def test_files_made_to_stall_a_parser_do_not_hold_up_the_others(make: MakeFolder, findspot: Program) -> None:
    """security 13: each of these took a worker a minute, and good.py was not searchable meanwhile."""
    hostile = {
        f"src/{name}": f"{token * 70}\n" * 2_200
        for token, name in zip("({[({[", ("a.py", "b.js", "c.c", "d.go", "e.rs", "f.java"), strict=True)
    }
    project = make({".git/HEAD": "", "src/good.py": "def find_me():\n    return 42\n", **hostile})
    report = findspot("index", "--json", cwd=project).json
    assert report["errors"] == []
    assert report["filesIndexed"] == len(hostile) + 1
    found = findspot("search", "find_me", "--json", cwd=project).json
    assert found["results"][0]["path"] == "src/good.py"


def test_operators_of_named_indexes_hold_for_short_words(shared: Pipe) -> None:
    """documents A8, C: short words were dropped from operators and phrases without a word."""
    pipe = shared
    for doc_id, content in {"a": "plan a trip", "b": "plan b trip", "r": "R and C++ are languages"}.items():
        pipe.values("search_add_document", doc_id=doc_id, content=content)

    def found(query: str) -> list[str]:
        return [result["doc_id"] for result in pipe.values("search_index", query=query)["results"]]

    assert found("+b trip") == ["b"]
    assert found("trip -b") == ["a"]
    assert found('"plan a trip"') == ["a"]
    assert found('"C"') == found("+R") == ["r"]
    answer = pipe.values("search_index", query="R languages")
    assert answer["results"][0]["doc_id"] == "r"
    assert "ignored: r" in answer["warning"]
    pipe.values("search_add_document", doc_id="tea", content="green paint. " * 20 + "Green tea leaves.")
    (tea,) = pipe.values("search_index", query='"green tea"')["results"]
    assert tea["highlights"] == ["...nt. green paint. green paint. Green tea leaves."]


def test_paths_places_and_hints(make: MakeFolder, serve: Serve, findspot: Program) -> None:
    """search-mcp B10, M3, M4, A7, code-review B5: lazy path search, lazy research, offset, hints."""
    project = make(
        {
            ".git/HEAD": "",
            "app.py": "LIMIT = 3\n\n\ndef handle_error():\n    return LIMIT\n",
            "guide.rst": "Guide\n=====\n\nHow errors are handled.\n",
            **{f"pkg/m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(5)},
        }
    )
    findspot("index", cwd=project)
    pipe = serve(project, FINDSPOT_INDEXING_STRATEGY="lazy", FINDSPOT_LAZY_IDLE_THRESHOLD="3600")
    pages = [pipe.values("search_by_path", pattern="pkg/**", limit=2, offset=offset) for offset in (0, 2, 4)]
    assert [path for page in pages for path in page["matches"]] == [f"pkg/m{n}.py" for n in range(5)]
    assert {page["totalMatches"] for page in pages} == {5}

    until(lambda: pipe.values("get_index_status")["watcherActive"])
    (project / "early.py").write_text("def early_bird():\n    return 1\n")
    until(lambda: "early.py" in str(pipe.values("search_code", query="early_bird")["results"]))
    (project / "late.py").write_text("def late():\n    return 1\n")
    waiting = Path(pipe.values("get_index_status")["indexPath"]) / "dirty-files.json"
    until(lambda: waiting.exists() and "late.py" in waiting.read_text())
    assert pipe.values("search_by_path", pattern="late.py")["matches"] == ["late.py"]

    helpers = "".join(f"def helper_{n}():\n    return {n}\n\n\n" for n in range(7))
    (project / "pkg/m4.py").write_text(f"{helpers}def refund_zebra_invoice(invoice):\n    return invoice\n")
    until(lambda: waiting.exists() and "pkg/m4.py" in waiting.read_text())
    found = pipe.values("code_research", query="how is a zebra invoice refunded")
    assert [found["nodes"][0][key] for key in ("name", "startLine")] == ["refund_zebra_invoice", 29]

    tools = {tool["name"]: tool for tool in pipe.result("tools/list", {})["tools"]}
    assert "query" not in tools["search_code"]["inputSchema"].get("required", [])
    assert pipe.values("search_code", similar_to="pkg/m0.py:1-2")["results"][0]["path"].startswith("pkg/")
    both = pipe.values("search_code", query="anything", similar_to="pkg/m0.py:1-2")
    assert "query was ignored" in both["warning"]
    (refused,) = pipe.call("search_code", similar_to="app.py:5000-6000")["content"]
    assert "nothing at the lines 5000-6000 of app.py" in refused["text"]
    (unknown,) = pipe.call("search_code", similar_to="nope.py:1-2")["content"]
    assert "The file 'nope.py' doesn't exist" in unknown["text"], "search-mcp B11"
    (missing,) = pipe.call("search_code")["content"]
    assert missing["text"] == "Missing required argument: query"

    assert "search_docs" in pipe.values("search_code", query="errors", extensions="rst")["warning"]
    assert "(?i)" in pipe.values("search_code", query="HANDLE_error", mode="regex")["warning"]
