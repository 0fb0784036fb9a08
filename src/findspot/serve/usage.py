"""How much Findspot is used on this machine, and what it saved its readers: counts, and nothing else.

They stay in one file beside the indexes. No query, path or text is ever written there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from findspot.core.files import stat_of
from findspot.core.model import Hit
from findspot.core.paths import SCHEME
from findspot.core.roots import Roots
from findspot.core.shared_records import SharedRecords
from findspot.core.utc_time import utc_day
from findspot.serve.activity import CHARS_PER_TOKEN

FILE_NAME = "usage.sqlite"

LINES_READ = 40
"""What a reader with grep reads around each match."""

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
    by_path: dict[str, list[Hit]] = {}
    for hit in hits:
        by_path.setdefault(hit.path, []).append(hit)
    baseline = sum(_chars_around(roots, path, listed) for path, listed in by_path.items())
    figures = shown_chars // CHARS_PER_TOKEN, baseline // CHARS_PER_TOKEN
    _RECORDS.add(_ADD, (utc_day(), surface, bool(by_path), *figures))


def _chars_around(roots: Roots, path: str, hits: Sequence[Hit]) -> int:
    """Return about how long the lines around the hits of a file are; nothing if the file is gone.

    They are taken to be as long as the hits' own lines: reading files would cost more than a search.
    """
    near: set[int] = set()
    for hit in hits:
        line = hit.focus or hit.span.start
        near.update(range(max(1, line - LINES_READ // 2), line + LINES_READ // 2))
    lines = sum(hit.text.count("\n") + 1 for hit in hits)
    chars = sum(len(hit.text) + 1 for hit in hits) - lines
    around = len(near) * chars // lines
    if path.startswith(SCHEME):  # of a package, and not below the roots
        return around
    folder, inside = roots.holding(path)
    info = stat_of(f"{folder}/{inside}")  # building a Path takes longer than the call itself
    return min(around, info.st_size) if info else 0


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
