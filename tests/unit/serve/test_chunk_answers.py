"""Context chunks as text and as structured values, each within a number of tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from findspot.chunkfiles.chunk_reader import ContextChunk, FoundChunks, SearchOptions, SearchResult
from findspot.search.token_budget import token_count
from findspot.serve.chunk_answers import FoundContext, context_text, context_values
from findspot.serve.mcp.tools.cortex import CORTEX_SEARCH, answer_from

FILLER = "nothing of interest stands here\n"
LINES = "if x:\n  y\n" * 60
"""Indented four columns further, it takes far more room as text than as JSON."""


def result(number: int, text: str | None = None, **metadata: Any) -> SearchResult:
    text = text or FILLER * 30 + f"the password of user {number}\n" + FILLER * 30
    chunk = ContextChunk(f"c{number}", "data", f"title {number}", text, metadata=metadata)
    return SearchResult(chunk, 1 - number / 100)


def found(count: int, text: str | None = None, **about: Any) -> FoundContext:
    return FoundContext([result(number, text) for number in range(count)], "password", **about)


def tokens_of(values: dict[str, Any]) -> int:
    return token_count(json.dumps(values, ensure_ascii=False))


class Searcher:
    """Finds five chunks, whatever is asked."""

    def query(self, query: str, options: SearchOptions) -> FoundChunks:
        return FoundChunks([result(number) for number in range(5)])


def answered(shape: str, most: int = 1_200, **given: Any) -> Any:
    arguments = CORTEX_SEARCH.read({"query": "password"} | given, [])
    return answer_from(Searcher(), arguments, max_tokens=most, shape=shape)


def test_all_of_it_where_it_fits() -> None:
    about = found(3)
    values = context_values(about, 8_000)
    assert "warning" not in values
    assert [item["chunk"]["text"] for item in values["results"]] == [r.chunk.text for r in about.results]
    assert context_text(about, 8_000).count("nothing of interest stands here") == 180


@pytest.mark.parametrize("most", [4_000, 1_200, 400, 200])
def test_texts_become_their_best_passage_and_then_the_last_are_left_out(most: int) -> None:
    """documents B4: an answer had no limit."""
    about = found(15)
    values = context_values(about, most)
    assert tokens_of(values) <= most
    ids = [item["chunk"]["id"] for item in values["results"]]
    assert ids == [f"c{number}" for number in range(len(ids))]
    assert len(ids) >= 2
    assert all("the password of user" in item["chunk"]["text"] for item in values["results"])
    assert values["warning"].endswith("of 15 results.")
    assert values["total"] == 15


@pytest.mark.parametrize("most", [2_000, 1_200, 400])
@pytest.mark.parametrize("text", [LINES, '"\\\t' * 400])
def test_each_form_is_measured_by_itself(most: int, text: str) -> None:
    """Indentation makes text longer than JSON, escapes make JSON longer than text."""
    about = found(10, text)
    shown = context_text(about, most)
    assert token_count(shown) <= most
    assert tokens_of(context_values(about, most)) <= most
    assert token_count(shown) > most * 0.7
    assert "of 10 results." in shown


def test_no_results_is_said_of_none_alone() -> None:
    assert context_text(found(0), 200) == "No results."
    unbounded = SearchResult(ContextChunk("i" * 900, "data", "title", "text" * 300, metadata={}), 1.0)
    about = FoundContext([unbounded], "password", stats={"skipped_files": ["broken.json: empty"] * 90})
    values = context_values(about, 200)
    assert (values["results"], values["stats"]) == ([], {})
    assert values["warning"] == "To fit max_tokens: 1 left out of 1 results."
    assert "No results." not in context_text(about, 200)


@pytest.mark.parametrize(
    ("title", "metadata", "head"),
    [
        ("a.py data: LIMIT", {"file_path": "a.py", "start_line": 1, "end_line": 2}, "a.py:1-2  data: LIMIT"),
        ("Limits", {"file_path": "a.py", "start_line": 1, "end_line": 2}, "a.py:1-2  Limits"),
        ("Limits", {"file_path": "a.py", "start_line": "one"}, "a.py  Limits"),
        ("a.py", {"file_path": "a.py"}, "a.py"),
        ("Limits", {"file_path": None, "start_line": 1}, "Limits"),
        ("Two\nlines", {}, "Two lines"),
    ],
)
def test_the_head_line_says_where_a_chunk_is(title: str, metadata: dict[str, Any], head: str) -> None:
    chunk = ContextChunk("c", "data", title, "LIMIT = 3", metadata=metadata)
    listed = context_text(FoundContext([SearchResult(chunk, 1.0)], "limit"), 200)
    assert listed == f"1. {head}\n    LIMIT = 3"


def test_the_limit_of_the_settings_holds_unless_the_call_names_one() -> None:
    assert tokens_of(answered("full", 300).values) <= 300
    assert 300 < tokens_of(answered("full", 300, max_tokens=900).values) <= 900


def test_structured_results_shape_both_forms() -> None:
    for form in ("compact", "json"):
        only = answered("only", format=form)
        assert only.text == "5 results, in the structured content."
        assert all(item["chunk"]["text"] for item in only.values["results"])
        slim = answered("slim", format=form)
        assert "the password of user 0" in slim.text
        assert not any("text" in item["chunk"] for item in slim.values["results"])
        assert "warning" not in slim.values
