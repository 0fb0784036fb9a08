"""Times as they are stored and shown: in UTC, to the second, such as `2026-01-15T14:30:00Z`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def utc_now() -> str:
    return datetime.now(UTC).strftime(_FORMAT)


def utc_time(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).strftime(_FORMAT)


def utc_day(days_ago: int = 0) -> str:
    return (datetime.now(UTC) - timedelta(days=days_ago)).strftime("%Y-%m-%d")


def day_of(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def age(stored: str) -> timedelta:
    """Return how long ago a stored time was; raise ValueError if the text is not such a time."""
    then = datetime.fromisoformat(stored)
    if then.tzinfo is None:
        raise ValueError(f"{stored} names no time zone")
    return datetime.now(UTC) - then
