"""Counts of use."""

from __future__ import annotations

from program import Program


def test_searches_are_counted(shared: Program) -> None:
    assert shared("activity", "--clear").code == 0
    assert shared("stats").out == "Nothing has been counted yet.\n"
    assert shared("search", "greet").code == 0
    assert shared("search", "greet", "--json").code == 0
    (counted,) = shared("stats", "--json").json["usage"]
    assert (counted["surface"], counted["searches"], counted["answered"]) == ("command line", 2, 2)
    assert "command line" in shared("stats", "--days", "1").out
