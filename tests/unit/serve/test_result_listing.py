"""What the listing prints of a hit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from findspot.core.model import CodeReference, Hit, Mode, Results, Span
from findspot.serve.cli.search_commands import show_results

TEXT = "\n".join(f"line {number}" for number in range(1, 31))
HIT = Hit("a.py", Span(1, 30), TEXT, 0.9, "function", "text", breadcrumb="Outer > inner")


def listed(capsys: pytest.CaptureFixture[str], *hits: Hit, **values: object) -> list[str]:
    """The lines of a listing; only how many hits there are goes to standard error."""
    show_results(replace(Results("line", Mode.HYBRID, hits, len(hits), 1.0), **values))  # type: ignore[arg-type]
    out, notes = capsys.readouterr()
    assert notes.lower().count("result") == 1
    return out.splitlines()


@pytest.mark.parametrize(("score", "word"), [(0.9, "strong"), (0.5, "likely"), (0.05, "weak")])
def test_a_heading_has_rank_lines_word_and_name(
    score: float, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = listed(capsys, *[replace(HIT, score=score)] * 10)
    assert lines[0] == f" 1  a.py:1-30  {word}  Outer > inner"
    assert f"10  a.py:1-30  {word}  Outer > inner" in lines


@pytest.mark.parametrize(("focus", "first"), [(3, 1), (20, 14)])
def test_the_lines_are_those_around_the_best_line(
    focus: int, first: int, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = listed(capsys, replace(HIT, focus=focus))
    shown = [line.strip() for line in lines[1:-2]]
    assert shown[0] == f"{first}  line {first}"
    assert f"{focus}  line {focus}" in shown
    assert lines[-2].strip() == f"… {30 - len(shown)} more lines"


def test_a_header_is_shown_by_its_overview(capsys: pytest.CaptureFixture[str]) -> None:
    overview = "\n".join(["Sends mail.", *(f"def f{number}" for number in range(20))])
    lines = listed(capsys, replace(HIT, overview=overview))
    assert lines[1:3] == ["  Sends mail.", "  def f0"]
    assert lines[-2] == "  … 9 more lines"
    assert not any("line 1" in line for line in lines)


def test_constants_and_callers_follow_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    hit = replace(
        HIT,
        constants=(CodeReference("b.py", 3, "LIMIT = 5\x1b[31m"),),
        callers=(CodeReference("c.py", 7, "inner()"),),
    )
    lines = listed(capsys, hit)
    assert lines[-3:-1] == ["  uses LIMIT = 5\\x1b[31m  b.py:3", "  called by inner()  c.py:7"]


def test_an_answer_in_which_nothing_fits_says_so_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, HIT, nothing_fits=True)[0].startswith("Nothing in the index fits")
    assert listed(capsys, nothing_fits=True) == []
