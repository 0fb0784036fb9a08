"""Times as they are stored."""

from __future__ import annotations

from datetime import timedelta

import pytest

from findspot.core.utc_time import age, utc_day, utc_now, utc_time


def test_stored_times_are_utc_to_the_second() -> None:
    assert utc_time(1_768_487_400_999_999_999) == "2026-01-15T14:30:00Z"
    assert utc_day(2) < utc_day(1) < utc_now()


def test_age() -> None:
    assert timedelta() <= age(utc_now()) < timedelta(hours=1)
    assert age("2026-01-15T16:30:00+02:00") - age("2026-01-15T14:30:01Z") >= timedelta(seconds=0.9)


@pytest.mark.parametrize("text", ["", "soon", "2026-01-15T14:30:00"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        age(text)
