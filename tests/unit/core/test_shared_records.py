"""Rows that nobody waits for: written together, in order, and none of them twice."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from findspot.core.shared_records import Later, SharedRecords

INSERT = "INSERT INTO numbers (number) VALUES (?)"


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedRecords:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path))
    return SharedRecords("numbers.sqlite", "numbers", "(id INTEGER PRIMARY KEY, number INTEGER)", "Numbers")


def _numbers(records: SharedRecords) -> list[int]:
    return [number for (number,) in records.rows("SELECT number FROM numbers ORDER BY id")]


def test_jobs_that_wait_are_written_in_their_order(records: SharedRecords) -> None:
    later = Later()
    for number in range(30):
        later(partial(records.add, INSERT, (number,)))
    later.finish()
    assert _numbers(records) == list(range(30))


def test_a_job_that_fails_takes_no_other_with_it(records: SharedRecords) -> None:
    later = Later()
    later(partial(records.add, INSERT, (1,)))
    later(partial(setattr, object(), "any", 1))
    later(partial(records.add, INSERT, (2,)))
    later.finish()
    assert _numbers(records) == [1, 2]


def test_text_that_is_no_unicode_is_written_without_it(records: SharedRecords) -> None:
    later = Later()
    later(lambda: records.add("INSERT INTO numbers (number) VALUES (?)", ("é\udcff",)))
    later(lambda: records.add("INSERT INTO numbers (number) VALUES (?)", (2,)))
    later.finish()
    assert _numbers(records) == ["é?", 2]


def test_rows_that_cannot_be_written_do_not_end_the_thread(
    records: SharedRecords, caplog: pytest.LogCaptureFixture
) -> None:
    later, wrong, written = Later(), SharedRecords("wrong.sqlite", "wrong", "(number INTEGER)", "W"), []
    later(lambda: wrong.add("INSERT INTO wrong (number) VALUES (?)", (10**30,)))
    later(lambda: records.add("INSERT INTO numbers (number) VALUES (?)", (1,)))
    later(lambda: written.append(True))
    later.finish()
    assert _numbers(records) == [1]
    assert written == [True]
    assert "records could not be written" in caplog.text


def test_old_rows_are_deleted_within_a_batch(records: SharedRecords) -> None:
    later = Later()
    tidy = "DELETE FROM numbers WHERE id <= (SELECT MAX(id) FROM numbers) - 3"
    for number in range(10):
        later(partial(records.add, INSERT, (number,), tidy=tidy, every=5))
    later.finish()
    assert _numbers(records) == [7, 8, 9]
