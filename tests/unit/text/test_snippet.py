"""Shortened texts: the first line, the line that matters, and never more than allowed."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from findspot.text.snippet import CUT_MARK, best_column, best_line, shorten

LINES = [f"line {number} " + "x" * number for number in range(30)]
TEXT = "\n".join(LINES)


def test_what_fits_stays_as_it_is() -> None:
    assert shorten(TEXT, 3, len(TEXT)) == TEXT


def test_the_first_line_and_the_focus_are_kept() -> None:
    short = shorten(TEXT, 20, 200).split("\n")
    assert short[:2] == [LINES[0], CUT_MARK]
    assert LINES[20] in short
    assert short[2:] == LINES[LINES.index(short[2]) : LINES.index(short[-1]) + 1]


def test_no_mark_where_nothing_is_left_out() -> None:
    assert CUT_MARK not in shorten(TEXT, 0, 200)
    assert CUT_MARK not in shorten(TEXT, 2, 100)


def test_a_line_too_long_by_itself_is_cut() -> None:
    assert shorten("a\n" + "b" * 500, 1, 100) == "b" * 99 + CUT_MARK


def test_a_first_line_too_long_to_stay_is_left_out() -> None:
    assert shorten("a" * 90 + "\nshort\n" + "b" * 50, 1, 60).startswith("short")


@given(
    st.lists(st.text(st.characters(exclude_characters="\n"), max_size=30), min_size=1, max_size=30),
    st.integers(-2, 40),
    st.integers(1, 300),
)
@example(["aaaaa", "", "", "b"], 1, 7)
@example(["a…", "x", "yyyyyyyyyyy"], 1, 9)
def test_never_more_than_allowed_and_only_lines_of_the_text(
    lines: list[str], focus: int, max_chars: int
) -> None:
    text = "\n".join(lines)
    short = shorten(text, focus, max_chars)
    assert len(short) <= max_chars
    wanted = lines[min(max(focus, 0), len(lines) - 1)]
    shown = short.split("\n")
    if len(wanted) <= max_chars:
        assert wanted in shown
        assert all(line in (*lines, CUT_MARK) for line in shown)


def test_the_best_line_holds_the_most_terms() -> None:
    text = "def charge(card):\n    total = card.total\n    return gateway.charge(card, total)"
    assert best_line(text, {"charg": 1.0, "gateway": 1.0}) == 2
    assert best_line(text, {"nothing": 1.0}) == 0
    assert best_line("", {"x": 1.0}) == 0


def test_the_best_passage_of_a_long_line_is_shown() -> None:
    line = "Nothing here. " * 50 + "The charge goes to the gateway. " + "Nothing there. " * 50
    column = best_column(line, {"charg": 1.0, "gateway": 2.0})
    assert line[column:].startswith("charge goes to the gateway")
    short = shorten(line, 0, 100, column)
    assert short.startswith(f"{CUT_MARK}The charge goes to the gateway. Nothing")
    assert short.endswith(CUT_MARK)
    assert len(short) <= 100
    assert shorten(line, 0, 100, len(line)).endswith("there. ")
    assert best_column(line, {"absent": 1.0}) == 0


@given(st.text(max_size=400), st.integers(0, 500), st.integers(1, 300))
def test_a_passage_is_a_part_of_its_line(line: str, column: int, max_chars: int) -> None:
    line = line.replace("\n", " ").replace(CUT_MARK, ".")
    short = shorten(line, 0, max_chars, column)
    assert len(short) <= max_chars
    assert short.strip(CUT_MARK) in line
