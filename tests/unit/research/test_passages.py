"""Passages of research answers: which lines of a definition are shown where there is no room for all."""

from __future__ import annotations

from findspot.core.model import Span
from findspot.research.findings import Passage

LINES = ["def sign(value):", *(f"    step_{number}()" for number in range(1, 60)), "    return value"]


def passage(**worth: float) -> Passage:
    worths = [worth.get(line.strip().removesuffix("()"), 0.0) for line in LINES]
    return Passage("a.py", "sign", Span(10, 10 + len(LINES) - 1), "\n".join(LINES), tuple(worths))


def test_a_short_definition_is_whole() -> None:
    assert passage().cut(10_000) == passage()


def test_the_first_line_and_the_lines_that_say_most_are_shown() -> None:
    cut = passage(step_20=1.0, step_45=0.9).cut(200)
    shown = cut.text.split("\n")
    assert shown[0] == LINES[0]
    assert {LINES[19], LINES[20], LINES[21], LINES[45]} <= set(shown)
    assert "step_33" not in cut.text
    assert len(cut.text) <= 200


def test_gaps_and_a_cut_end_are_marked() -> None:
    cut = passage(step_20=1.0).cut(120)
    shown = cut.text.split("\n")
    first = LINES.index(shown[2])
    assert shown[1] == f"… {10 + first}"
    assert shown[-1] == "…"
    assert cut.span == Span(10, 10 + LINES.index(shown[-2]))


def test_a_very_long_line_is_clipped() -> None:
    long = Passage("a.js", "f", Span(1, 2), "x" * 5_000 + "\ny", (0.0, 1.0))
    assert len(long.cut(400).text) <= 400


def test_what_says_nothing_is_shown_from_its_first_line() -> None:
    assert passage().cut(100).text.startswith("\n".join(LINES[:4]))
