"""The record of questions and calls: what of an answer is stored, and how much of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from findspot.core.errors import FindspotError
from findspot.serve import activity


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))


def entry(question: str, **others: str) -> activity.Entry:
    return activity.Entry(
        others.get("client", "a client"),
        "/shop",
        "search_code",
        question,
        ("a.py:1",),
        1,
        "ok",
        2.0,
        100,
        **({"time": others["time"]} if "time" in others else {}),
    )


@pytest.mark.parametrize(
    ("values", "places", "found"),
    [
        ({"results": [{"path": "a.py", "startLine": 3}], "totalResults": 12}, ("a.py:3",), 1),
        ({"matches": ["a.py", "b.py"], "totalMatches": 2}, ("a.py", "b.py"), 2),
        ({"tools": [{"name": "fs__read"}], "total": 1}, ("fs__read",), 1),
        ({"citations": [{"file": "a.py", "line": 7}]}, ("a.py:7",), 1),
        ({"results": [{"path": f"{n}.py"} for n in range(9)]}, tuple(f"{n}.py" for n in range(5)), 9),
        ({"results": [3, None]}, (), 2),
        ({"status": "ready"}, (), 0),
    ],
)
def test_the_places_of_an_answer(values: dict[str, object], places: tuple[str, ...], found: int) -> None:
    assert activity.answers_of(values) == (places, found)


def test_long_questions_are_cut_and_arguments_are_left_out() -> None:
    given = {"query": "word " * 1_000, "content": "a whole document"}
    figures: dict[str, Any] = {"tokens": 0, "duration_ms": 1}
    activity.note_call("client", None, "search_code", given, {}, **figures)
    activity.note_call("client", None, "call_tool", {"arguments": {"x": 1}}, {}, **figures)
    stored = activity.entries()
    assert [len(each.question) for each in stored] == [0, 500]


def test_old_and_surplus_entries_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    activity.note(entry("long ago", time="2001-01-01T00:00:00Z"))
    assert activity.entries() == [], "nothing older than 90 days is shown, deleted or not yet"
    monkeypatch.setattr(activity, "_TIDY_EVERY", 1)
    monkeypatch.setattr(activity, "MAX_ENTRIES", 3)
    for number in range(5):
        activity.note(entry(f"question {number}"))
    assert [each.question for each in activity.entries()] == ["question 4", "question 3", "question 2"]
    assert activity._rows("SELECT COUNT(*) FROM questions") == [(3,)]


@pytest.mark.parametrize(
    ("question", "stored"),
    [
        ("where is password=hT7#kk used", "where is password=******** used"),
        ("DB_PASSWORD: 'short' in compose", "DB_PASSWORD: ******** in compose"),
        ("the token bucket of the limiter", "the token bucket of the limiter"),
        ("é\udcff", "é?"),
    ],
)
def test_what_a_question_assigns_to_a_password_is_masked(question: str, stored: str) -> None:
    activity.note(entry(question))
    assert [each.question for each in activity.entries()] == [stored]


def test_processes_write_at_the_same_time() -> None:
    program = (
        "import sys; from findspot.serve.activity import Entry, note\n"
        "for n in range(50): note(Entry(sys.argv[1], '', 't', str(n), (), 0, 'ok', 1, 1))"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, name]) for name in ("a", "b")]
    assert [process.wait() for process in processes] == [0, 0]
    assert {name: len(activity.entries(client=name)) for name in "ab"} == {"a": 50, "b": 50}


def test_a_damaged_or_deleted_record_fails_no_call(tmp_path: Path) -> None:
    file = tmp_path / "home" / activity.FILE_NAME
    activity.note(entry("read"))
    for part in file.parent.glob("activity.sqlite*"):
        part.unlink()
    activity.note(entry("write"))
    assert [each.question for each in activity.entries(10)] == ["write"]
    for part in file.parent.glob("activity.sqlite*"):
        part.unlink()
    file.write_bytes(b"not a database" * 100)
    activity.note(entry("read"))
    with pytest.raises(FindspotError, match="record of activity cannot be read") as raised:
        activity.entries(10)
    assert str(file) in raised.value.hint


def test_what_waits_is_done_before_the_end_and_fails_alone() -> None:
    code = (
        "from findspot.serve.activity import later\n"
        "later(lambda: print(1))\nlater(lambda: 1 / 0)\nlater(lambda: print(2))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["1", "2"]
    assert "ZeroDivisionError" in done.stderr
