"""How much Findspot is used on this machine, and what it spared its readers: counts, and nothing else.

They stay in one file beside the indexes. No query, path or text is ever written there.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from findspot.core.config import home_folder
from findspot.core.files import make_private_dir
from findspot.core.model import Results

FILE_NAME = "usage.sqlite"
CHARS_A_TOKEN = 4
_TABLE = (
    "CREATE TABLE IF NOT EXISTS usage (day TEXT, surface TEXT, searches INTEGER, answered INTEGER, "
    "shown INTEGER, whole INTEGER, PRIMARY KEY (day, surface)) WITHOUT ROWID"
)
_ADD = (
    "INSERT INTO usage VALUES (?, ?, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET searches = searches + 1, "
    "answered = answered + excluded.answered, shown = shown + excluded.shown, whole = whole + excluded.whole"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """What was asked over some days through one surface; `shown` and `whole` in tokens."""

    surface: str
    searches: int
    answered: int
    """Searches that found something."""
    shown: int
    """Tokens of the answers …"""
    whole: int
    """… and of the files they come from, which a reader would have opened instead."""

    @property
    def saved(self) -> int:
        return max(0, self.whole - self.shown)


def note(surface: str, root: Path, results: Results, shown_chars: int) -> None:
    """Count one search; counting never fails an answer."""
    whole = sum(_size(root / path) for path in {hit.path for hit in results.hits})
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    row = (day, surface, bool(results.hits), shown_chars // CHARS_A_TOKEN, whole // CHARS_A_TOKEN)
    with contextlib.suppress(sqlite3.Error, OSError), _opened() as db:
        db.execute(_ADD, row)


def usage(since: str = "") -> list[Usage]:
    """What was counted from a day on (`2026-01-15`), by surface."""
    if not _path().exists():
        return []
    with _opened() as db:
        found = db.execute(
            "SELECT surface, SUM(searches), SUM(answered), SUM(shown), SUM(whole) FROM usage "
            "WHERE day >= ? GROUP BY surface ORDER BY surface",
            (since,),
        )
        return [Usage(*row) for row in found]


def clear() -> None:
    """Forget everything that was counted."""
    for suffix in ("", "-wal", "-shm"):
        _path().with_name(FILE_NAME + suffix).unlink(missing_ok=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _path() -> Path:
    return home_folder() / FILE_NAME


@contextlib.contextmanager
def _opened() -> Iterator[sqlite3.Connection]:
    make_private_dir(_path().parent)
    with contextlib.closing(sqlite3.connect(_path(), isolation_level=None, timeout=0.5)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")  # a lost count is no loss
        db.execute(_TABLE)
        yield db
