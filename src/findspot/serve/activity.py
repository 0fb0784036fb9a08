"""What Findspot records on this machine, in one private file: questions, and which tools were called.

A question is stored with its secrets masked; of an answer, only the places that it names. Recording fails no
answer, and nobody waits for it (`later`). The setting `activity` turns it off.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from findspot.core import sqlite
from findspot.core.config import load_settings
from findspot.core.errors import FindspotError
from findspot.core.files import make_private_dir
from findspot.core.log import get_logger
from findspot.core.model import storable
from findspot.core.paths import home_folder
from findspot.core.utc_time import utc_day, utc_now
from findspot.discover.secrets import MASK, masked

_log = get_logger("records")

FILE_NAME = "activity.sqlite"

MAX_ENTRIES = 5_000
"""Questions that are stored: about 2 MB."""
MAX_DAYS = 90

COMMAND_LINE = "command line"
CALL_TOOL = "call_tool"
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

_ASKED = ("query", "pattern", "symbol", "similar_to", "name")
"""Arguments that hold a question; no other argument is stored."""
_SEARCHES = ("search_code", "search_docs", "search", "docs")
_LISTS = ("results", "matches", "tools", "citations", "nodes")
_UNDONE = ("confirmation_required", "cancelled")
_TOTALS = ("totalMatches", "total_matches", "total")
"""Not `totalResults`: a search counts every candidate, of which the answer names the best."""


_WAIT_S = 0.5

_IN_ORDER = ThreadPoolExecutor(1, "records")
"""One thread does what nobody waits for. The interpreter ends after it."""


def recording() -> bool:
    return load_settings().log.activity


def later(job: Callable[[], None]) -> None:
    """Do a job after those before it, without waiting for it."""
    with contextlib.suppress(RuntimeError):  # the interpreter ends this moment
        _IN_ORDER.submit(_done, job)


def _done(job: Callable[[], None]) -> None:
    try:
        job()
    except Exception:  # noqa: BLE001 - the boundary of a thread; no answer depends on it
        _log.exception("records could not be written")


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


_COLUMNS = [each.name for each in fields(Entry)]


def _file() -> Path:
    """Return the file in the home folder of this moment; every process adds to it."""
    return home_folder() / FILE_NAME


def _rows(query: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
    if not _file().exists():
        return []
    with _translated(), contextlib.closing(sqlite.connect_reader(_file())) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'questions'").fetchone():
            return []
        return db.execute(query, tuple(values)).fetchall()


def _connected() -> sqlite.Connection:
    make_private_dir(_file().parent)
    db = sqlite.connect_logged(_file(), synchronous="OFF", wait_s=_WAIT_S)
    try:
        db.execute("PRAGMA secure_delete = ON")
        columns = ", ".join(("id INTEGER PRIMARY KEY AUTOINCREMENT", *_COLUMNS))
        db.execute(f"CREATE TABLE IF NOT EXISTS questions ({columns})")
    except BaseException:
        db.close()
        raise
    return db


def _translated() -> contextlib.AbstractContextManager[None]:
    def damaged(detail: str) -> FindspotError:
        hint = f"Delete {_file()} to begin again."
        return FindspotError("The record of activity cannot be read.", detail, hint=hint)

    return sqlite.translated(_file(), damaged)


def note_call(
    client: str,
    project: Path | None,
    tool: str,
    given: Mapping[str, Any],
    values: Mapping[str, Any],
    *,
    tokens: int,
    duration_ms: float,
    failed: bool = False,
) -> None:
    """Store a tool call by what it was given and what it answered."""
    answers, found = answers_of(values)
    waits = values.get("status") if values.get("status") in _UNDONE else None
    outcome = str(values.get("code") or ("error" if failed or values.get("error") else waits or "ok"))
    question = next((value for name in _ASKED if isinstance(value := given.get(name), str)), "")
    note(Entry(client, str(project or ""), tool, question, answers, found, outcome, duration_ms, tokens))


def note(entry: Entry) -> None:
    """Store an entry, and delete old ones now and then; this never fails."""
    question = _ASSIGNED.sub(rf"\1{MASK * 8}", masked(entry.question[:_READ_CHARS]))[:_QUESTION_CHARS]
    cut = {name: getattr(entry, name)[:_NAME_CHARS] for name in ("client", "project", "tool")}
    answers = json.dumps([answer[:_NAME_CHARS] for answer in entry.answers[:_MOST_ANSWERS]])
    figures = {"duration_ms": round(entry.duration_ms, 1), "question": question, "answers": answers}
    row = [
        storable(each) if isinstance(each, str) else each for each in (asdict(entry) | cut | figures).values()
    ]
    with contextlib.suppress(FindspotError, sqlite.Error, OSError):
        if not recording():
            return
        names, places = ", ".join(_COLUMNS), ", ".join("?" * len(row))
        with contextlib.closing(_connected()) as db:
            added = db.execute(f"INSERT INTO questions ({names}) VALUES ({places})", row).lastrowid
            if added and added % _TIDY_EVERY == 0:
                old = f"id <= {added - MAX_ENTRIES} OR time < '{utc_day(MAX_DAYS)}'"
                db.execute(f"DELETE FROM questions WHERE {old}")


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


def entries(limit: int = MAX_ENTRIES, *, days: int | None = None, **wanted: str) -> list[Entry]:
    """Return the newest entries, the newest first; only those of a `project`, `client` or `tool`."""
    chosen: dict[str, str] = {column: value for column, value in wanted.items() if value}
    only = "".join(f" AND {column} = ?" for column in chosen)
    query = f"SELECT {', '.join(_COLUMNS)} FROM questions WHERE time >= ?{only} ORDER BY id DESC LIMIT ?"
    rows = _rows(query, (utc_day(min(days or MAX_DAYS, MAX_DAYS) - 1), *chosen.values(), limit))
    values = (dict(zip(_COLUMNS, row, strict=True)) for row in rows)
    return [Entry(**each | {"answers": tuple(json.loads(each["answers"]))}) for each in values]


def last_uses() -> dict[str, str]:
    """Return when each project was asked last, as far as that is recorded."""
    return dict(_rows("SELECT project, MAX(time) FROM questions GROUP BY project"))


def summary(of: Sequence[Entry]) -> dict[str, Any]:
    """Return how many questions there were, how many found something, and what they cost."""
    import statistics

    answered = (each.outcome == "ok" and (each.found > 0 or not each.question) for each in of)
    return {
        "questions": len(of),
        "answered": sum(answered),
        "medianMs": round(statistics.median(entry.duration_ms for entry in of), 1) if of else 0.0,
        "tokens": sum(entry.tokens for entry in of),
    }


def clear(tool: str = "") -> None:
    """Delete all entries, or those of one tool."""
    if _file().exists():
        with _translated(), contextlib.closing(_connected()) as db:
            db.execute("DELETE FROM questions WHERE tool = ? OR ? = ''", (tool, tool))
            db.execute("DROP TABLE IF EXISTS calls")  # where calls of other servers' tools once were
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # what was deleted is not left in the log


def usage(days: int | None = None) -> list[dict[str, Any]]:
    """Return the searches of some days, those that found something and what they cost, by surface."""
    counted: dict[str, Counter[str]] = {}
    for entry in entries(days=days):
        if entry.tool in _SEARCHES and entry.outcome == "ok":
            surface = COMMAND_LINE if entry.client == COMMAND_LINE else "assistant"
            figures = {"searches": 1, "answered": int(entry.found > 0), "tokens": entry.tokens}
            counted.setdefault(surface, Counter()).update(figures)
    return [{"surface": surface, **counted[surface]} for surface in sorted(counted)]
