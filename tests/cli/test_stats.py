"""Counts of use, and what answers saved."""

from __future__ import annotations

from program import Program


def test_searches_are_counted_and_what_they_saved(shared: Program) -> None:
    assert shared("activity", "--clear").code == 0
    assert shared("stats").out == "Nothing has been counted yet.\n"
    assert shared("search", "greet").code == 0
    assert shared("search", "greet", "--json").code == 0
    (counted,) = shared("stats", "--json").json["usage"]
    assert (counted["surface"], counted["searches"], counted["answered"]) == ("command line", 2, 2)
    assert counted["saved"] == max(0, counted["baseline"] - counted["shown"])
    shown = shared("stats", "--days", "1")
    assert "command line" in shown.out
    assert "40 lines around each place in an answer" in shown.err, (
        "first-impression A7: a believable baseline"
    )
