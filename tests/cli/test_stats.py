"""Counts of use: local, without a word of what was asked."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from program import Program


def test_searches_are_counted_and_what_they_saved(shared: Program) -> None:
    assert shared("stats", "--clear").out == "Nothing has been counted yet.\n"
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


def test_nothing_of_a_query_or_a_path_is_kept(shared: Program) -> None:
    assert shared("search", "a very particular question about greeting").code == 0
    with closing(sqlite3.connect(shared.home / "activity.sqlite")) as db:
        kept = str(db.execute("SELECT * FROM searches").fetchall())
    assert "command line" in kept
    for word in ("particular", "greet", str(shared.cwd)):
        assert word not in kept
