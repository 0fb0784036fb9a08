"""What Findspot records on this machine, in one private file: questions, and calls of other servers' tools.

A question is stored with its secrets masked; of an answer, only the places that it names. The log of calls
holds no argument or answer, only sizes. The setting `activity` turns all of it off.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from findspot.catalogue.tool_record import CallRecord
from findspot.core.shared_records import SharedRecords
from findspot.core.utc_time import utc_day, utc_now

FILE_NAME = "activity.sqlite"

MAX_ENTRIES = 5_000
"""Questions that are stored: about 2 MB."""
MAX_DAYS = 90
MAX_CALLS = 10_000
"""Calls that are stored: about 1 MB."""

COMMAND_LINE = "command line"
UNNAMED = "unnamed client"

CHARS_PER_TOKEN = 4

_ASSIGNED = re.compile(r"(?i)(\b\w*(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key)\s*[=:]\s*)\S+")
"""A password that somebody typed into a question looks like any other word; its name gives it away."""

_QUESTION_CHARS = 500
_READ_CHARS = 20_000
"""More than a secret has, so that none is cut before it is masked."""
_NAME_CHARS = 200
_MOST_ANSWERS = 5
_TIDY_EVERY = 20

_QUESTIONS = ("query", "pattern", "symbol", "similar_to", "name")
"""Arguments that hold a question; no other argument is stored."""
_SEARCHES = ("search_code", "search_docs", "search", "docs")
_LISTS = ("results", "matches", "tools", "citations", "nodes")
_TOTALS = ("totalMatches", "total_matches", "total")
"""Not `totalResults`: a search counts every candidate, of which the answer names the best."""


_COLUMNS = "client, project, tool, question, answers, found, outcome, duration_ms, tokens, time"
_RECORDS = SharedRecords(
    FILE_NAME,
    "questions",
    "(id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT, client TEXT, "
    "project TEXT, tool TEXT, question TEXT, answers TEXT, found INTEGER, outcome TEXT, duration_ms REAL, "
    "tokens INTEGER)",
    "The record of activity",
)
_ADD = f"INSERT INTO questions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_TIDY = (
    f"DELETE FROM questions WHERE id <= (SELECT MAX(id) FROM questions) - {MAX_ENTRIES} "
    f"OR time < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-{MAX_DAYS} days')"
)


@dataclass(frozen=True, slots=True)
class Entry:
    client: str
    """Who asked, such as `claude-code`; `command line` for `findspot search`."""
    project: str
    """The root of the project, empty if the question was about none."""
    tool: str
    question: str
    answers: tuple[str, ...]
    """The first places that the answer names, such as `src/shop/cart.py:12`."""
    found: int
    outcome: str
    """`ok`, or the code of an error."""
    duration_ms: float
    tokens: int
    """Of the answer."""
    time: str = field(default_factory=utc_now)


@dataclass(frozen=True, slots=True)
class Summary:
    questions: int
    answered: int
    """Questions that found something."""
    median_ms: float
    tokens: int


def note_call(
    client: str,
    project: Path | None,
    tool: str,
    given: Mapping[str, Any],
    values: Mapping[str, Any],
    *,
    tokens: int,
    duration_ms: float,
) -> None:
    """Store a tool call by what it was given and what it answered."""
    answers, found = answers_of(values)
    outcome = str(values.get("code") or "error") if values.get("error") or values.get("code") else "ok"
    question = next((value for name in _QUESTIONS if isinstance(value := given.get(name), str)), "")
    note(Entry(client, str(project or ""), tool, question, answers, found, outcome, duration_ms, tokens))


def note(entry: Entry) -> None:
    """Store an entry; this never fails."""
    from findspot.discover.secrets import MASK, masked  # a server starts without it

    cut = [text[:_NAME_CHARS] for text in (entry.client, entry.project, entry.tool)]
    read = entry.question[:_READ_CHARS]
    question = _ASSIGNED.sub(rf"\1{MASK * 8}", masked(read))[:_QUESTION_CHARS]
    answers = json.dumps([answer[:_NAME_CHARS] for answer in entry.answers[:_MOST_ANSWERS]])
    figures = entry.found, entry.outcome, round(entry.duration_ms, 1), entry.tokens
    row = (*cut, question, answers, *figures, entry.time)
    _RECORDS.add(_ADD, row, tidy=_TIDY, every=_TIDY_EVERY)


def answers_of(values: Mapping[str, Any]) -> tuple[tuple[str, ...], int]:
    """Return the first places that an answer names, and how many things it found."""
    listed = next((value for name in _LISTS if isinstance(value := values.get(name), list)), [])
    total = next((value for name in _TOTALS if isinstance(value := values.get(name), int)), len(listed))
    return tuple(filter(None, map(_place, listed[:_MOST_ANSWERS]))), max(total, len(listed))


def _place(item: Any) -> str:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        return ""
    line = item.get("startLine") or item.get("line")
    name = item.get("path") or item.get("file") or item.get("name") or item.get("doc_id") or ""
    return f"{name}:{line}" if name and line else str(name)


def entries(
    limit: int = MAX_ENTRIES, *, project: str = "", client: str = "", days: int | None = None
) -> list[Entry]:
    """Return the newest entries, the newest first; only those of a project or client if it is named."""
    since = utc_day(min(days or MAX_DAYS, MAX_DAYS) - 1)
    rows = _RECORDS.rows(
        f"SELECT {_COLUMNS} FROM questions WHERE ? IN ('', project) AND ? IN ('', client) AND time >= ? "
        "ORDER BY id DESC LIMIT ?",
        (project, client, since, limit),
    )
    named = [dict(zip(_COLUMNS.split(", "), row, strict=True)) for row in rows]
    return [Entry(**each | {"answers": tuple(json.loads(each["answers"]))}) for each in named]


def last_uses() -> dict[str, str]:
    return dict(_RECORDS.rows("SELECT project, MAX(time) FROM questions GROUP BY project"))


def summary(of: Iterable[Entry]) -> Summary:
    """Return how many questions there were, and what they cost."""
    import statistics

    listed = list(of)
    return Summary(
        questions=len(listed),
        answered=sum(entry.outcome == "ok" and (entry.found > 0 or not entry.question) for entry in listed),
        median_ms=round(statistics.median(entry.duration_ms for entry in listed), 1) if listed else 0.0,
        tokens=sum(entry.tokens for entry in listed),
    )


def clear() -> None:
    _RECORDS.change("DELETE FROM questions")


def usage(days: int | None = None) -> list[dict[str, Any]]:
    """Return the searches of some days, those that found something and what they cost, by surface."""
    counted: dict[str, Counter[str]] = {}
    for entry in entries(days=days):
        if entry.tool in _SEARCHES and entry.outcome == "ok":
            surface = COMMAND_LINE if entry.client == COMMAND_LINE else "assistant"
            figures = {"searches": 1, "answered": int(entry.found > 0), "tokens": entry.tokens}
            counted.setdefault(surface, Counter()).update(figures)
    return [{"surface": surface, **counted[surface]} for surface in sorted(counted)]


_CALL_COLUMNS = "server, tool, client, outcome, duration_ms, argument_bytes, answer_bytes, time"
_CALLS = SharedRecords(
    FILE_NAME,
    "calls",
    "(id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT, server TEXT, "
    "tool TEXT, client TEXT, outcome TEXT, duration_ms REAL, argument_bytes INTEGER, answer_bytes INTEGER)",
    "The log of calls",
)
_ADD_CALL = f"INSERT INTO calls ({_CALL_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_TIDY_CALLS = f"DELETE FROM calls WHERE id <= (SELECT MAX(id) FROM calls) - {MAX_CALLS}"


def log_call(record: CallRecord) -> None:
    names = [name[:_NAME_CHARS] for name in (record.server, record.tool, record.client)]
    sizes = record.argument_bytes, record.answer_bytes
    row = (*names, str(record.outcome), record.duration_ms, *sizes, record.time)
    _CALLS.add(_ADD_CALL, row, tidy=_TIDY_CALLS, every=_TIDY_EVERY)


def recent_calls(limit: int, of_server: str | None = None) -> list[CallRecord]:
    """Return the newest calls, the newest first; only those to one server if it is named."""
    rows = _CALLS.rows(
        f"SELECT {_CALL_COLUMNS} FROM calls WHERE ? IN ('', server) ORDER BY id DESC LIMIT ?",
        (of_server or "", min(limit, MAX_CALLS)),
    )
    return [CallRecord(*row) for row in rows]


def clear_calls() -> None:
    _CALLS.change("DELETE FROM calls")
