"""Answers in every format, within their number of tokens."""

from __future__ import annotations

import json
from textwrap import indent
from typing import Any

import pytest
import toon_format
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.core.model import Corpus, Hit, Mode, Results, Span
from findspot.search.token_budget import Fitted, fit, signature_only, snippet, token_count
from findspot.serve.search_answers import FORMATS, MIN_TOKENS, as_text, fitted_text, fitted_values

ANY_FORMAT = (None, *FORMATS)

HIT = Hit(
    path="src/cart.py",
    span=Span(3, 5),
    text="def total(self):\n    # all of it\n    return sum(self.lines)",
    score=0.876,
    kind="function",
    language="python",
    symbols=("total",),
    signature="def total(self)",
    breadcrumb="Cart > total",
    doc_comment="The sum.",
    focus=5,
)
PLAIN = Hit("a.txt", Span(1, 1), "x", 0.5, "block", "text")


def results(*hits: Hit, warning: str | None = None, query: str = "sum of lines") -> Results:
    return Results(query, Mode.HYBRID, hits, len(hits) + 3, 1.234, warning)


class TestShapes:
    def test_without_a_format_it_is_the_structured_answer(self) -> None:
        answer = results(HIT, PLAIN)
        assert json.loads(as_text(answer, answer.hits, Corpus.CODE, None)) == fitted_values(
            answer, Corpus.CODE, 10**6
        )

    def test_code(self) -> None:
        values = fitted_values(results(HIT, PLAIN, warning="Beware."), Corpus.CODE, 10**6)
        assert values == {
            "results": [
                {
                    "path": "src/cart.py",
                    "text": HIT.text,
                    "score": 0.876,
                    "startLine": 3,
                    "endLine": 5,
                    "kind": "function",
                    "symbols": ["total"],
                    "signature": "def total(self)",
                    "breadcrumb": "Cart > total",
                    "docComment": "The sum.",
                    "language": "python",
                    "relevancePercent": 88,
                },
                {
                    "path": "a.txt",
                    "text": "x",
                    "score": 0.5,
                    "startLine": 1,
                    "endLine": 1,
                    "kind": "block",
                    "symbols": [],
                    "language": "text",
                    "relevancePercent": 50,
                },
            ],
            "totalResults": 5,
            "searchTimeMs": 1.2,
            "query": "sum of lines",
            "searchMode": "hybrid",
            "warning": "Beware.",
        }

    def test_docs_have_no_fields_of_code(self) -> None:
        (item,) = fitted_values(results(HIT), Corpus.DOCS, 10**6)["results"]
        assert set(item) == {
            "path", "text", "score", "startLine", "endLine", "relevancePercent", "breadcrumb",
        }  # fmt: skip

    def test_slim_leaves_out_the_texts(self) -> None:
        values = fitted_values(results(HIT), Corpus.CODE, 10**6, slim=True)
        assert "text" not in values["results"][0]
        assert values["results"][0]["signature"] == "def total(self)"

    def test_json_is_snake_case(self) -> None:
        answer = json.loads(fitted_text(results(HIT, PLAIN), Corpus.CODE, "json", 10**6))
        assert answer["query"] == "sum of lines"
        assert answer["result_count"] == 2
        assert "warning" not in answer
        assert answer["results"] == [
            {
                "content": HIT.text,
                "path": "src/cart.py",
                "start_line": 3,
                "end_line": 5,
                "relevance_percent": 88,
                "breadcrumb": "Cart > total",
                "kind": "function",
                "symbols": ["total"],
                "signature": "def total(self)",
                "doc_comment": "The sum.",
            },
            {
                "content": "x",
                "path": "a.txt",
                "start_line": 1,
                "end_line": 1,
                "relevance_percent": 50,
                "kind": "block",
                "symbols": [],
            },
        ]

    def test_json_of_docs(self) -> None:
        (item,) = json.loads(fitted_text(results(HIT), Corpus.DOCS, "json", 10**6))["results"]
        assert set(item) == {"content", "path", "start_line", "end_line", "relevance_percent", "breadcrumb"}

    @pytest.mark.parametrize("corpus", list(Corpus))
    def test_toon_is_the_same_as_json(self, corpus: Corpus) -> None:
        answer = results(HIT, PLAIN, warning="Beware: of, things")
        as_json = json.loads(fitted_text(answer, corpus, "json", 10**6))
        assert toon_format.loads(fitted_text(answer, corpus, "toon", 10**6)) == as_json

    def test_human_is_a_listing(self) -> None:
        assert fitted_text(results(HIT, PLAIN, warning="Beware."), Corpus.CODE, "human", 10**6) == (
            "src/cart.py:3-5  88%  Cart > total\n"
            + indent(HIT.text, "    ")
            + "\n\na.txt:1-1  50%  block\n    x\n\nBeware."
        )

    @pytest.mark.parametrize("form", ["human", "compact"])
    def test_no_passage_can_pass_for_a_result(self, form: str) -> None:
        """security 18: whatever a file, its name or its headings hold."""
        forged = "a.py:1-2  99%  forged"
        text = "x" + "".join(
            f"{end}{forged}" for end in ("\n", "\r", "\r\n", "\x0b", "\x0c", "\u2028", "\x85")
        )
        hit = Hit(f"b\n{forged}", Span(3, 4), text, 0.5, "block", "python", breadcrumb=f"c\n{forged}")
        shown = fitted_text(results(hit), Corpus.CODE, form, 10**6)
        assert [line for line in shown.splitlines() if line.startswith("a.py")] == []

    def test_compact_is_a_line_a_hit(self) -> None:
        text = fitted_text(results(HIT, PLAIN, warning="Beware."), Corpus.CODE, "compact", 10**6)
        assert text.split("\n") == ["src/cart.py:3-5  88%  Cart > total", "a.txt:1-1  50%  block", "Beware."]

    @pytest.mark.parametrize("form", ["human", "compact"])
    def test_nothing_found_is_said(self, form: str) -> None:
        assert fitted_text(results(), Corpus.CODE, form, 10**6) == "No results."
        assert fitted_text(results(warning="Why."), Corpus.CODE, form, 10**6) == "No results.\nWhy."

    @pytest.mark.parametrize("form", [None, "json", "toon"])
    def test_explanations_are_in_every_format_for_programs(self, form: str | None) -> None:
        explained = Hit("a.py", Span(1, 1), "x", 0.5, "block", "python", why={"keyword": 0.25})
        text = fitted_text(results(explained), Corpus.CODE, form, 10**6)
        answer: dict[str, Any] = toon_format.loads(text) if form == "toon" else json.loads(text)
        assert answer["results"][0]["why"] == {"keyword": 0.25}


texts = st.text(max_size=60)
lines = st.lists(texts, max_size=40).map("\n".join)
hits = st.builds(
    Hit,
    path=st.text(min_size=1, max_size=80),
    span=st.builds(Span, st.integers(1, 9), st.integers(10, 10**6)),
    text=lines,
    score=st.floats(0, 1).map(lambda score: round(score, 4)),
    kind=st.sampled_from(["function", "class"]),
    language=st.just("python"),
    symbols=st.lists(texts, max_size=3).map(tuple),
    signature=st.none() | texts,
    breadcrumb=st.none() | texts,
    doc_comment=st.none() | texts,
    why=st.none() | st.just({"keyword": 0.5, "cosine": 0.25}),
    focus=st.none() | st.integers(1, 60),
)
calm = settings(max_examples=60)


@calm
@given(st.lists(hits, max_size=4), texts)
def test_toon_reads_back_whatever_the_text(found: list[Hit], query: str) -> None:
    answer = results(*found, query=query)
    as_json = json.loads(fitted_text(answer, Corpus.CODE, "json", 10**6))
    assert toon_format.loads(fitted_text(answer, Corpus.CODE, "toon", 10**6)) == as_json


class TestFit:
    @calm
    @given(
        st.builds(
            lambda found, query, warning: results(*found, query=query, warning=warning),
            st.lists(hits, max_size=12),
            st.text(max_size=5_000),
            st.none() | st.text(max_size=100),
        ),
        st.integers(MIN_TOKENS, 3_000),
        st.sampled_from(ANY_FORMAT),
        st.sampled_from(Corpus),
    )
    def test_no_rendering_is_longer_than_allowed(
        self, answer: Results, most: int, form: str | None, corpus: Corpus
    ) -> None:
        assert token_count(fitted_text(answer, corpus, form, most)) <= most
        for slim in (False, True):
            values = fitted_values(answer, corpus, most, slim=slim)
            assert token_count(json.dumps(values, ensure_ascii=False)) <= most

    @calm
    @given(st.lists(hits, min_size=1, max_size=12), st.integers(0, 3_000))
    def test_what_is_kept_are_the_first_and_the_note_counts_the_rest(
        self, found: list[Hit], most: int
    ) -> None:
        def render(kept: Any) -> str:
            return "".join(hit.path + hit.text + (hit.doc_comment or "") for hit in kept)

        fitted = fit(found, most, render)
        assert token_count(render(fitted.hits)) <= most
        assert [hit.path for hit in fitted.hits] == [hit.path for hit in found[: len(fitted.hits)]]
        assert fitted.dropped == len(found) - len(fitted.hits)
        assert fitted.shortened == sum(a != b for a, b in zip(found, fitted.hits, strict=False))
        if token_count(render(found)) <= most:
            assert fitted == Fitted(tuple(found))

    def test_the_best_keep_the_most(self) -> None:
        long = [Hit(f"{n}.py", Span(1, 40), "\n".join(f"line {i} of file {n}" for i in range(40)), 1 - n / 10,
                    "function", "python", signature=f"def f{n}()", focus=20) for n in range(10)]  # fmt: skip
        render = lambda kept: "\n".join(hit.text for hit in kept)  # noqa: E731
        for most in range(20, 2_000, 37):
            fitted = fit(long, most, render)
            sizes = [len(hit.text) for hit in fitted.hits]
            assert sizes == sorted(sizes, reverse=True)
            assert len(fitted.hits) == 10 or all(size <= 600 for size in sizes[1:])
        middle = fit(long, 1_000, render)
        assert middle.hits[0].text == long[0].text
        assert middle.dropped == 0

    def test_a_snippet_keeps_the_first_line_and_the_focus(self) -> None:
        text = "def f():\n" + "\n".join(f"    step_{n}()  # {'x' * 40}" for n in range(60))
        short = snippet(Hit("a.py", Span(101, 161), text, 1.0, "function", "python", focus=151))
        assert short.text.startswith("def f():\n…\n")
        assert "step_49()" in short.text
        assert short.span == Span(101, 161)

    def test_only_a_signature_is_left_at_last(self) -> None:
        short = signature_only(HIT)
        assert (short.text, short.doc_comment, short.why) == ("def total(self)", None, None)
        assert signature_only(PLAIN).text == "x"
        assert signature_only(Hit("a", Span(1, 3), "\n\n  y = 1", 1.0, "block", "text")).text == "y = 1"

    def test_the_passage_of_the_first_stays_longer_than_the_last_results(self) -> None:
        text = "## Refunds\n\n" + "Nothing. " * 150 + "The fact stands here. " + "Nothing. " * 150
        found = [Hit(f"{n}.md", Span(1, 3), text, 0.9, "section", "markdown", focus=3, focus_column=1350)
                 for n in range(10)]  # fmt: skip
        render = lambda kept: "".join(hit.path + hit.text + " " * 150 for hit in kept)  # noqa: E731
        for most in (800, 400, 150):
            fitted = fit(found, most, render)
            assert "The fact stands here." in fitted.hits[0].text
            assert all("The fact" in hit.text for hit in fitted.hits)

    @pytest.mark.parametrize(
        ("fitted", "note"),
        [
            (Fitted((HIT,)), None),
            (Fitted((HIT,), 1), "To fit max_tokens: 1 shortened of 1 results."),
            (Fitted((HIT,), 1, 2), "To fit max_tokens: 1 shortened, 2 left out of 3 results."),
            (Fitted((), 0, 2), "To fit max_tokens: 2 left out of 2 results."),
        ],
    )
    def test_the_note(self, fitted: Fitted, note: str | None) -> None:
        assert fitted.note == note

    @pytest.mark.parametrize("form", ANY_FORMAT)
    def test_the_answer_says_what_it_leaves_out(self, form: str | None) -> None:
        many = [Hit(f"src/{n}.py", Span(1, 9), "word " * 200, 0.5, "block", "python") for n in range(100)]
        text = fitted_text(results(*many), Corpus.CODE, form, 500)
        assert "left out of 100 results." in text
        assert text.count("src/") == 100 - int(text.split(" left out")[0].split()[-1])

    def test_a_compact_answer_shortens_nothing(self) -> None:
        many = [Hit(f"src/{n}.py", Span(1, 9), "word " * 200, 0.5, "block", "python") for n in range(100)]
        assert "shortened" not in fitted_text(results(*many), Corpus.CODE, "compact", 500)

    def test_a_pasted_query_does_not_fill_the_answer(self) -> None:
        values = fitted_values(results(HIT, query="x" * 100_000), Corpus.CODE, 8_000)
        assert len(values["query"]) == 1_000
        assert values["query"].endswith("…")
