"""How much Findspot is used on this machine, and what it spared its readers: counts, and nothing else.

They stay in one file beside the indexes. No query, path or text is ever written there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from findspot.core.files import stat_of
from findspot.core.model import Results
from findspot.core.shared_records import SharedRecords
from findspot.core.utc_time import utc_day

FILE_NAME = "usage.sqlite"
CHARS_PER_TOKEN = 4
_RECORDS = SharedRecords(
    FILE_NAME,
    "CREATE TABLE IF NOT EXISTS usage (day TEXT, surface TEXT, searches INTEGER, answered INTEGER, "
    "shown INTEGER, whole INTEGER, PRIMARY KEY (day, surface)) WITHOUT ROWID",
    "The counts of use",
)
_ADD = (
    "INSERT INTO usage VALUES (?, ?, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET searches = searches + 1, "
    "answered = answered + excluded.answered, shown = shown + excluded.shown, whole = whole + excluded.whole"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """The searches of some days through one surface; `shown` and `whole` are in tokens."""

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
    files = (stat_of(f"{root}/{path}") for path in {hit.path for hit in results.hits})
    whole = sum(file.st_size for file in files if file)
    day = utc_day()
    row = (day, surface, bool(results.hits), shown_chars // CHARS_PER_TOKEN, whole // CHARS_PER_TOKEN)
    _RECORDS.add(_ADD, row)


def usage(since: str = "") -> list[Usage]:
    """Return what was counted from a day on (`2026-01-15`), by surface."""
    rows = _RECORDS.rows(
        "SELECT surface, SUM(searches), SUM(answered), SUM(shown), SUM(whole) FROM usage "
        "WHERE day >= ? GROUP BY surface ORDER BY surface",
        (since,),
    )
    return [Usage(*row) for row in rows]


def clear() -> None:
    """Forget everything that was counted."""
    _RECORDS.change("DELETE FROM usage")
