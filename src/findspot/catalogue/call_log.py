"""A log of the calls to other servers' tools: what was called when, how long it took and how it ended.

It never holds an argument or an answer, only their sizes. The newest `MAX_CALLS` are kept in the home folder,
readable by their owner only.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

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
    "calls",
    "(id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT, server TEXT, "
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
    names = [name[:_NAME_CHARS] for name in (record.server, record.tool, record.client)]
    sizes = record.argument_bytes, record.answer_bytes
    row = (*names, str(record.outcome), record.duration_ms, *sizes, record.time)
    _RECORDS.add(_ADD, row, tidy=_TRIM, every=_TRIM_EVERY)


class CallTimer:
    """Measures a call while its block runs, and logs it at the end."""

    def __init__(self, server: str, tool: str, client: str, arguments: Mapping[str, Any]) -> None:
        self.outcome = CallEnd.FAILED
        self._names = server, tool, client
        self._argument_bytes = _json_bytes(arguments)
        self._answer_bytes = 0
        self._started = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        duration_ms = (time.perf_counter() - self._started) * 1000
        sizes = self._argument_bytes, self._answer_bytes
        log_call(CallRecord(*self._names, self.outcome, duration_ms, *sizes))

    def answered(self, answer: Mapping[str, Any], *, is_error: bool) -> None:
        """Note the answer that the tool gave."""
        self.outcome = CallEnd.TOOL_ERROR if is_error else CallEnd.OK
        self._answer_bytes = _json_bytes(answer)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time that the user takes to answer a question."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._started += time.perf_counter() - began


def _json_bytes(value: Mapping[str, Any]) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def recent_calls(limit: int, of_server: str | None = None) -> list[CallRecord]:
    """Return the newest calls, the newest first; only those to one server if it is named."""
    rows = _RECORDS.rows(
        f"SELECT {_COLUMNS} FROM calls WHERE ? IN ('', server) ORDER BY id DESC LIMIT ?",
        (of_server or "", min(limit, MAX_CALLS)),
    )
    return [
        CallRecord(server, tool, client, CallEnd(outcome), duration, arguments, answer, ended)
        for server, tool, client, outcome, duration, arguments, answer, ended in rows
    ]


def clear_calls() -> None:
    """Delete all calls from the log."""
    _RECORDS.change("DELETE FROM calls")
