"""Rows that nobody waits for: written together, in order, and none of them twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from findspot.core.shared_records import SharedRecords

INSERT = "INSERT INTO numbers (number) VALUES (?)"


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedRecords:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path))
    return SharedRecords("numbers.sqlite", "numbers", "(id INTEGER PRIMARY KEY, number INTEGER)", "Numbers")


def _numbers(records: SharedRecords) -> list[int]:
    return [number for (number,) in records.rows("SELECT number FROM numbers ORDER BY id")]


def test_rows_are_written_in_their_order_and_old_ones_are_deleted(records: SharedRecords) -> None:
    tidy = "DELETE FROM numbers WHERE id <= (SELECT MAX(id) FROM numbers) - 3"
    for number in range(10):
        records.add(INSERT, (number,), tidy=tidy, every=5)
    assert _numbers(records) == [7, 8, 9]


def test_text_that_is_no_unicode_is_written_without_it(records: SharedRecords) -> None:
    records.add(INSERT, ("é\udcff",))
    assert _numbers(records) == ["é?"]


def test_what_waits_is_done_before_the_end_and_fails_alone() -> None:
    code = (
        "from findspot.core.shared_records import later\n"
        "later(lambda: print(1))\nlater(lambda: 1 / 0)\nlater(lambda: print(2))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["1", "2"]
    assert "ZeroDivisionError" in done.stderr
