"""Answers in every format, within their number of tokens."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from textwrap import indent
from typing import Any

import pytest
import toon_format
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.core.model import NOTHING_FITS, CodeReference, Corpus, Hit, Mode, Results, Span
from findspot.search.token_budget import (
    MIN_TOKENS,
    PLACES,
    Fitted,
    as_line,
    fit,
    of_definition,
    snippet,
    token_count,
    whole,
)
from findspot.serve.search_answers import (
    FORMATS,
    fitted_text,
    fitted_values,
    lean_answer,
    single_line,
    without_tail,
)

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
LONG = [
    Hit(f"{n}.py", Span(1, 40), "\n".join(f"line {i} of file {n}" for i in range(40)), 0.95 - n / 20,
        "function", "python", signature=f"def f{n}()", focus=20)
    for n in range(10)
]  # fmt: skip
PLAIN = Hit("a.txt", Span(1, 1), "x", 0.5, "block", "text")


def measure_text(hit: Hit, code: bool) -> int:
    return len(hit.text) + (20 if code else 10)


def results(*hits: Hit, warning: str | None = None, query: str = "sum of lines") -> Results:
    return Results(query, Mode.HYBRID, hits, len(hits) + 3, 1.234, warning)


ABOUT = {"totalResults": 5, "searchTimeMs": 1.2, "query": "sum of lines", "searchMode": "hybrid"}
SPAN = {"path": "src/cart.py", "startLine": 3, "endLine": 5, "text": HIT.text, "strength": "strong"}
NAMED = {"symbol": "Cart.total", "kind": "function"}
SNAKE = {
    "content": HIT.text, "path": "src/cart.py", "start_line": 3, "end_line": 5, "relevance_percent": 88,
    "breadcrumb": "Cart > total",
}  # fmt: skip


class TestShapes:
    def test_lean(self) -> None:
        used = CodeReference("src/tax.py", 7, "RATE = 0.2")
        calls = CodeReference("src/app.py", 30, "cart.total()")
        best = replace(HIT, constants=(used,), callers=(calls,))
        values = fitted_values(results(best, PLAIN), Corpus.CODE, 10**6, full=False)
        first, second = values.pop("results")
        assert values == ABOUT | {"more": "3 more, less likely: offset=2"}
        related = {"constants": ["RATE = 0.2  src/tax.py:7"], "callers": ["cart.total()  src/app.py:30"]}
        assert first == SPAN | NAMED | {"score": 0.88} | related
        assert set(second) == {"path", "startLine", "endLine", "kind", "score", "strength", "text"}

    def test_where_nothing_fits_it_is_said_first(self) -> None:
        answer = replace(results(PLAIN, warning="Beware."), nothing_fits=True)
        values = fitted_values(answer, Corpus.CODE, 10**6, full=False)
        assert next(iter(values)) == "warning"
        assert values["warning"] == f"{NOTHING_FITS} Beware."
        for form in ("compact", "human"):
            assert fitted_text(answer, Corpus.CODE, form, 10**6).startswith(NOTHING_FITS)
        assert single_line(1, nothing_fits=answer.nothing_fits).startswith(
            "Nothing in the index fits this well"
        )
        assert single_line(1) == "1 result, in the structured content."

    def test_where_nothing_fits_results_are_lines(self) -> None:
        answer = replace(results(HIT, PLAIN), nothing_fits=True)
        text, values = lean_answer(answer, Corpus.CODE, 10**6)
        assert [result["text"] for result in values["results"]] == [as_line(HIT).text, as_line(PLAIN).text]
        assert [line[:2] for line in text.splitlines()[1:3]] == ["1.", "2."]

    def test_the_tail_is_left_out_and_counted(self) -> None:
        poor = replace(PLAIN, score=0.001, relative=0.1)
        answer = results(HIT, PLAIN, poor, poor)
        values = fitted_values(without_tail(answer), Corpus.CODE, 10**6, full=False)
        assert [result["path"] for result in values["results"]] == ["src/cart.py", "a.txt"]
        assert values["more"] == "5 more, less likely: offset=2"

    def test_code(self) -> None:
        values = fitted_values(results(HIT, PLAIN, warning="Beware."), Corpus.CODE, 10**6)
        first, second = values.pop("results")
        assert values == ABOUT | {"warning": "Beware."}
        more = {"score": 0.876, "symbols": ["total"], "signature": "def total(self)"}
        more |= {"docComment": "The sum.", "language": "python", "breadcrumb": "Cart > total"}
        assert first == SPAN | NAMED | more | {"relevancePercent": 88}
        assert set(first) - set(second) == {"symbol", "signature", "docComment", "breadcrumb"}
        assert second["symbols"] == []

    def test_docs_have_no_fields_of_code(self) -> None:
        (item,) = fitted_values(results(HIT), Corpus.DOCS, 10**6)["results"]
        assert item == SPAN | {"score": 0.876, "relevancePercent": 88, "breadcrumb": "Cart > total"}

    def test_json_is_snake_case(self) -> None:
        answer = json.loads(fitted_text(results(HIT, PLAIN), Corpus.CODE, "json", 10**6))
        first, second = answer.pop("results")
        assert answer == {"query": "sum of lines", "result_count": 2}
        named = {"kind": "function", "symbols": ["total"], "signature": "def total(self)"}
        assert first == SNAKE | named | {"doc_comment": "The sum."}
        assert set(first) - set(second) == {"breadcrumb", "signature", "doc_comment"}

    def test_json_of_docs(self) -> None:
        (item,) = json.loads(fitted_text(results(HIT), Corpus.DOCS, "json", 10**6))["results"]
        assert item == SNAKE

    @pytest.mark.parametrize("corpus", list(Corpus))
    def test_toon_is_the_same_as_json(self, corpus: Corpus) -> None:
        answer = results(HIT, PLAIN, warning="Beware: of, things")
        as_json = json.loads(fitted_text(answer, corpus, "json", 10**6))
        assert toon_format.loads(fitted_text(answer, corpus, "toon", 10**6)) == as_json

    @pytest.mark.parametrize("form", ["human", "compact"])
    def test_a_listing(self, form: str) -> None:
        more = "\n3 more, less likely: offset=2" if form == "compact" else ""
        assert fitted_text(results(HIT, PLAIN, warning="Beware."), Corpus.CODE, form, 10**6) == (
            "1. src/cart.py:3-5  Cart.total  strong\n"
            + indent(HIT.text, "    ")
            + f"\n2. a.txt:1-1  {PLAIN.strength}\n    x{more}\nBeware."
        )

    @pytest.mark.parametrize("form", ["human", "compact"])
    def test_no_passage_can_pass_for_a_result(self, form: str) -> None:
        """security 18: whatever a file, its name or its headings hold."""
        forged = "1. a.py:1-2  forged  strong"
        text = "x" + "".join(
            f"{end}{forged}" for end in ("\n", "\r", "\r\n", "\x0b", "\x0c", "\u2028", "\x85")
        )
        hit = Hit(f"b\n{forged}", Span(3, 4), text, 0.5, "block", "python", breadcrumb=f"c\n{forged}")
        shown = fitted_text(results(hit), Corpus.CODE, form, 10**6)
        assert [line for line in shown.splitlines() if line.startswith("1. a.py")] == []

    @pytest.mark.parametrize("form", ["human", "compact"])
    def test_nothing_found_is_said(self, form: str) -> None:
        assert fitted_text(replace(results(), total=0), Corpus.CODE, form, 10**6) == "No results."
        nothing = replace(results(warning="Why."), total=0)
        assert fitted_text(nothing, Corpus.CODE, form, 10**6) == "No results.\nWhy."

    @pytest.mark.parametrize("form", ["json", "toon"])
    def test_explanations_are_in_every_format_for_programs(self, form: str) -> None:
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
        st.sampled_from(FORMATS),
        st.sampled_from(Corpus),
    )
    def test_no_rendering_is_longer_than_allowed(
        self, answer: Results, most: int, form: str, corpus: Corpus
    ) -> None:
        assert token_count(fitted_text(answer, corpus, form, most)) <= most
        text, lean = lean_answer(answer, corpus, most)
        assert token_count(text) <= most
        assert lean == fitted_values(answer, corpus, most, full=False)
        for full, slim in product((False, True), repeat=2):
            values = fitted_values(answer, corpus, most, full=full, slim=slim)
            assert token_count(json.dumps(values, ensure_ascii=False)) <= most

    @calm
    @given(st.lists(hits, min_size=1, max_size=12), st.integers(0, 9_000))
    def test_what_is_shown_are_the_first_and_the_rest_is_counted(self, found: list[Hit], most: int) -> None:
        def measure(hit: Hit, code: bool) -> int:
            return len(hit.path) + len(hit.text) + (9 if code else 5)

        fitted = fit(found, most, measure)
        sizes = [measure(hit, place < fitted.with_code) for place, hit in enumerate(fitted.hits)]
        assert sum(sizes) <= most
        assert [hit.path for hit in fitted.hits] == [hit.path for hit in found[: len(fitted.hits)]]
        assert fitted.left_out == len(found) - len(fitted.hits)
        assert 0 <= fitted.with_code <= len(fitted.hits)
        assert all("\n" not in hit.text for hit in fitted.hits[fitted.with_code :])

    def test_code_goes_to_the_best_first(self) -> None:
        fitted = fit(LONG, 4_800, measure_text)
        assert 2 <= fitted.with_code <= 4
        assert len(fitted.hits) == 10
        assert fitted.hits[0].text == LONG[0].text
        assert [hit.text for hit in fitted.hits[fitted.with_code :]] == [
            f"def f{n}()" for n in range(fitted.with_code, 10)
        ]
        assert fit(LONG, 10**6, measure_text) == whole(LONG)

    def test_far_better_hits_take_more_of_the_room(self) -> None:
        longer = [replace(hit, text="\n".join([hit.text] * 4), span=Span(1, 160)) for hit in LONG]
        alike = [replace(hit, score=0.5) for hit in longer]
        ahead = [replace(hit, score=0.9 if not n else 0.35) for n, hit in enumerate(longer)]
        sizes = [len(fit(found, 4_800, measure_text).hits[0].text) for found in (alike, ahead)]
        assert sizes[0] < sizes[1]

    def test_weak_hits_far_behind_the_best_are_lines(self) -> None:
        weak = [replace(hit, score=0.01, relative=1.0 if at < 3 else 0.5) for at, hit in enumerate(LONG)]
        assert fit(weak, 6_000, measure_text).with_code == 3

    def test_a_definition_is_shown_alone(self) -> None:
        text = "\n".join(f"line {n} {'x' * 60}" for n in range(40))
        hit = Hit(
            "a.py", Span(101, 140), text, 0.9, "function", "python", focus=121, definition=Span(120, 125)
        )
        (shown,) = fit([of_definition(hit)], 1_000, measure_text).hits
        assert shown.span == Span(120, 125)
        assert shown.text.split("\n") == text.split("\n")[19:25]

    def test_a_header_is_shown_by_its_overview(self) -> None:
        header = replace(PLAIN, text="import os", overview="Locks.\nTypes:\n  - Lock")
        assert whole([header]).hits[0].text == header.overview
        assert as_line(header).text == "Locks."

    def test_a_snippet_keeps_the_first_line_and_the_focus(self) -> None:
        text = "def f():\n" + "\n".join(f"    step_{n}()  # {'x' * 40}" for n in range(60))
        short = snippet(Hit("a.py", Span(101, 161), text, 1.0, "function", "python", focus=151), 600)
        first, mark, *shown, end = short.text.split("\n")
        assert (first, end) == ("def f():", "…")
        assert any("step_49()" in line for line in shown)
        start = int(mark.removeprefix("… "))
        assert shown == text.split("\n")[start - 101 : start - 101 + len(shown)]
        assert short.span == Span(101, start + len(shown) - 1)

    def test_a_snippet_leaves_out_the_comments_above_its_definition_first(self) -> None:
        above, code = ["/**", " * The sum.", " */"], ["int total() {", "  return add(lines);", "}"]
        hit = replace(
            HIT, text="\n".join(above + code), span=Span(3, 8), definition=Span(3, 8), declared=6, focus=7
        )
        shown = snippet(hit, len("\n".join(code)))
        assert (shown.text, shown.span) == ("\n".join(code), Span(6, 8))
        assert snippet(hit, len(hit.text)) == hit

    def test_where_none_is_sure_long_definitions_show_their_deciding_lines(self) -> None:
        text = "\n".join(f'    "line {i}" of a long definition' for i in range(200))
        unsure = [
            replace(LONG[0], text=text, span=Span(1, 200), score=0.4, path=f"{n}.py") for n in range(10)
        ]
        values = fitted_values(results(*unsure), Corpus.CODE, 1_200, full=False)
        lines = [result["text"].count("\n") for result in values["results"]]
        assert sum(count >= 2 for count in lines) == PLACES
        assert all(count >= 2 * min(lines[3:PLACES]) - 2 for count in lines[:3])

    def test_the_beginning_of_a_text_has_its_own_lines(self) -> None:
        text = "\n".join(f"line {n} {'x' * 60}" for n in range(40))
        short = snippet(Hit("a.py", Span(1, 40), text, 1.0, "function", "python", focus=1), 600)
        *shown, end = short.text.split("\n")
        assert end == "…"
        assert shown == text.split("\n")[: len(shown)]
        assert short.span == Span(1, len(shown))

    def test_a_line_names_the_lines_of_its_definition_and_one_symbol(self) -> None:
        hit = replace(HIT, symbols=("other", "total"), definition=Span(4, 5))
        assert (as_line(hit).span, as_line(hit).symbols) == (Span(4, 5), ("total",))

    def test_a_line_says_what_a_hit_is(self) -> None:
        assert as_line(HIT).text == "The sum."
        assert as_line(replace(HIT, doc_comment=None)).text == "def total(self)"
        assert as_line(PLAIN).text == "x"
        assert as_line(Hit("a", Span(1, 3), "\n\n  y = 1", 1.0, "block", "text")).text == "y = 1"

    def test_the_best_lines_of_the_first_are_shown(self) -> None:
        text = "## Refunds\n\n" + "Nothing. " * 150 + "The fact stands here. " + "Nothing. " * 150
        found = [Hit(f"{n}.md", Span(1, 3), text, 0.9, "section", "markdown", focus=3, focus_column=1350)
                 for n in range(10)]  # fmt: skip
        for most in (3_200, 1_600, 800):
            fitted = fit(found, most, measure_text)
            assert all("The fact stands here." in hit.text for hit in fitted.hits[: fitted.with_code])

    @pytest.mark.parametrize(
        ("fitted", "note"),
        [
            (Fitted((HIT,), 1), None),
            (Fitted((HIT,), 1, 1), "To fit max_tokens: 1 shortened of 1 results."),
            (Fitted((HIT,), 0, 0, 2), "To fit max_tokens: 1 shortened, 2 left out of 3 results."),
            (Fitted((), 0, 0, 2), "To fit max_tokens: 2 left out of 2 results."),
        ],
    )
    def test_the_note(self, fitted: Fitted, note: str | None) -> None:
        assert fitted.note == note

    @pytest.mark.parametrize("form", ["json", "toon", "human"])
    def test_the_answer_says_what_it_leaves_out(self, form: str) -> None:
        many = [Hit(f"src/{n}.py", Span(1, 9), "word " * 200, 0.5, "block", "python") for n in range(100)]
        text = fitted_text(results(*many), Corpus.CODE, form, 500)
        assert "left out of 100 results." in text
        assert text.count("src/") == 100 - int(text.split(" left out")[0].split()[-1])

    def test_a_compact_answer_says_where_to_go_on(self) -> None:
        many = [Hit(f"src/{n}.py", Span(1, 9), "word " * 200, 0.5, "block", "python") for n in range(100)]
        text = fitted_text(results(*many), Corpus.CODE, "compact", 500)
        shown = text.count("src/")
        assert text.endswith(f"{103 - shown} more, less likely: offset={shown}")

    def test_a_pasted_query_does_not_fill_the_answer(self) -> None:
        values = fitted_values(results(HIT, query="x" * 100_000), Corpus.CODE, 8_000)
        assert len(values["query"]) == 200
        assert values["query"].endswith("…")
