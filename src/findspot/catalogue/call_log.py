"""A log of the calls to other servers' tools: what was called when, how long it took and how it ended.

It never holds an argument or an answer, only their sizes. The newest `MAX_CALLS` are kept in the home folder,
readable by their owner only.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from enum import StrEnum

from findspot.core.shared_records import SharedRecords
from findspot.core.utc_time import utc_now

FILE_NAME = "calls.sqlite"

MAX_CALLS = 10_000
"""Calls that are kept: about 1 MB."""

_NAME_CHARS = 200
_TRIM_EVERY = 100

_COLUMNS = "server, tool, client, outcome, duration_ms, argument_bytes, answer_bytes, time"
_RECORDS = SharedRecords(
    FILE_NAME,
    "CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT, server TEXT, "
    "tool TEXT, client TEXT, outcome TEXT, duration_ms REAL, argument_bytes INTEGER, answer_bytes INTEGER)",
    "The log of calls",
)
_ADD = f"INSERT INTO calls ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_TRIM = f"DELETE FROM calls WHERE id <= (SELECT MAX(id) FROM calls) - {MAX_CALLS}"


class CallEnd(StrEnum):
    """How a call ended."""

    OK = "ok"
    TOOL_ERROR = "tool error"
    """The tool answered that it failed."""
    REFUSED = "refused"
    """Nothing was called: invalid arguments, no agreement, a disabled tool, or no confirmation."""
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    FAILED = "failed"
    """The server could not be started or reached, or it ended before it answered."""

    @classmethod
    def _missing_(cls, value: object) -> CallEnd:
        """Read an end that another version of Findspot wrote."""
        return cls.FAILED


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call."""

    server: str
    tool: str
    """Its name in the catalogue, such as `filesystem__read_file`."""
    client: str
    """Who asked, such as `claude-code`; `command line` for `findspot tools call`."""
    outcome: CallEnd
    duration_ms: float
    argument_bytes: int
    answer_bytes: int
    """Of the whole answer as JSON, before it was shortened."""
    time: str = field(default_factory=utc_now)
    """When it ended."""


def log_call(record: CallRecord) -> None:
    """Add a call to the log; this never fails."""
    row = tuple(value[:_NAME_CHARS] if isinstance(value, str) else value for value in astuple(record))
    _RECORDS.add(_ADD, row, tidy=_TRIM, every=_TRIM_EVERY)


def recent_calls(limit: int, of_server: str | None = None) -> list[CallRecord]:
    """Return the newest calls, the newest first; only those to one server if it is named."""
    rows = _RECORDS.rows(
        f"SELECT {_COLUMNS} FROM calls WHERE ? IN ('', server) ORDER BY id DESC LIMIT ?",
        (of_server or "", min(limit, MAX_CALLS)),
    )
    return [
        CallRecord(server, tool, client, CallEnd(outcome), duration, arguments, answer, time)
        for server, tool, client, outcome, duration, arguments, answer, time in rows
    ]


def clear_calls() -> None:
    """Delete all calls from the log."""
    _RECORDS.change("DELETE FROM calls")
