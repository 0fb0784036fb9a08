"""How much Findspot is used on this machine, and what it saved its readers: counts, and nothing else.

They stay in one file beside the indexes. No query, path or text is ever written there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from findspot.core.model import Hit
from findspot.core.roots import Roots
from findspot.core.shared_records import SharedRecords
from findspot.core.utc_time import utc_day
from findspot.serve.activity import CHARS_PER_TOKEN

FILE_NAME = "usage.sqlite"

LINES_READ = 40
"""What a reader with grep reads around each match."""
_MAX_FILE_BYTES = 2 << 20

_RECORDS = SharedRecords(
    FILE_NAME,
    "searches",
    "(day TEXT, surface TEXT, searches INTEGER, answered INTEGER, "
    "shown INTEGER, baseline INTEGER, PRIMARY KEY (day, surface)) WITHOUT ROWID",
    "The counts of use",
)
_ADD = (
    "INSERT INTO searches VALUES (?, ?, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET searches = searches + 1, "
    "answered = answered + excluded.answered, shown = shown + excluded.shown, "
    "baseline = baseline + excluded.baseline"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """The searches of some days through one surface; `shown` and `baseline` are in tokens."""

    surface: str
    searches: int
    answered: int
    """Searches that found something."""
    shown: int
    """Tokens of the answers …"""
    baseline: int
    """… and of 40 lines around each place that they name, which a reader with grep would have read."""

    @property
    def saved(self) -> int:
        return max(0, self.baseline - self.shown)


def note(surface: str, roots: Roots, hits: Iterable[Hit], shown_chars: int) -> None:
    """Count one search; counting never fails an answer."""
    places: dict[str, set[int]] = {}
    for hit in hits:
        line = hit.focus or hit.span.start
        places.setdefault(hit.path, set()).update(range(line - LINES_READ // 2, line + LINES_READ // 2))
    baseline = sum(_chars_around(roots, path, lines) for path, lines in places.items())
    figures = shown_chars // CHARS_PER_TOKEN, baseline // CHARS_PER_TOKEN
    _RECORDS.add(_ADD, (utc_day(), surface, bool(places), *figures))


def _chars_around(roots: Roots, path: str, lines: set[int]) -> int:
    """Return how long these lines of a file are; nothing if the file is gone."""
    try:
        with (roots / path).open("rb") as file:
            data = file.read(_MAX_FILE_BYTES)
    except OSError:
        return 0
    return sum(len(line) for number, line in enumerate(data.split(b"\n"), 1) if number in lines)


def usage(since: str = "") -> list[Usage]:
    """Return what was counted from a day on (`2026-01-15`), by surface."""
    rows = _RECORDS.rows(
        "SELECT surface, SUM(searches), SUM(answered), SUM(shown), SUM(baseline) FROM searches "
        "WHERE day >= ? GROUP BY surface ORDER BY surface",
        (since,),
    )
    return [Usage(*row) for row in rows]


def clear() -> None:
    """Forget everything that was counted."""
    _RECORDS.change("DELETE FROM searches")
    _RECORDS.change("DROP TABLE IF EXISTS usage")  # counts of 0.1.0, which had another baseline
