"""How much Findspot is used on this machine, and what it spared its readers: counts, and nothing else.

They stay in one file beside the indexes. No query, path or text is ever written there.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from findspot.core import sqlite
from findspot.core.config import home_folder
from findspot.core.errors import FindspotError
from findspot.core.files import make_private_dir, stat_of
from findspot.core.model import Results
from findspot.core.sqlite import Connection, translated
from findspot.core.utc_time import utc_day

FILE_NAME = "usage.sqlite"
_WAIT_S = 0.5
CHARS_PER_TOKEN = 4
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


class _Notebook:
    """The file with the counts, kept open: opening and closing it costs ten times what counting does."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._db: Connection | None = None
        self._of: tuple[Path, int] | None = None

    def add(self, row: tuple[object, ...]) -> None:
        with self._guard:
            if self._db is None or self._of != _identity():
                self._open()
            assert self._db is not None
            self._db.execute(_ADD, row)

    def _open(self) -> None:
        """Open the file; again if it was deleted or the home folder has changed."""
        if self._db is not None:
            self._db.close()
        self._db = _connected()
        self._of = _identity()


_notebook = _Notebook()


def note(surface: str, root: Path, results: Results, shown_chars: int) -> None:
    """Count one search; counting never fails an answer."""
    files = (stat_of(f"{root}/{path}") for path in {hit.path for hit in results.hits})
    whole = sum(file.st_size for file in files if file)
    day = utc_day()
    row = (day, surface, bool(results.hits), shown_chars // CHARS_PER_TOKEN, whole // CHARS_PER_TOKEN)
    with contextlib.suppress(FindspotError, sqlite.Error, OSError):
        _notebook.add(row)


def usage(since: str = "") -> list[Usage]:
    """Return what was counted from a day on (`2026-01-15`), by surface."""
    path = _path()
    if not path.exists():
        return []
    with translated(path, _damaged), contextlib.closing(sqlite.connect_reader(path)) as db:
        rows = db.execute(
            "SELECT surface, SUM(searches), SUM(answered), SUM(shown), SUM(whole) FROM usage "
            "WHERE day >= ? GROUP BY surface ORDER BY surface",
            (since,),
        )
        return [Usage(*row) for row in rows]


def clear() -> None:
    """Forget everything that was counted; a server may have the file open."""
    if _path().exists():
        with _opened() as db:
            db.execute("DELETE FROM usage")


def _path() -> Path:
    return home_folder() / FILE_NAME


def _identity() -> tuple[Path, int] | None:
    """Return the path and inode of the file; None where there is none."""
    path = _path()
    info = stat_of(path)
    return (path, info.st_ino) if info else None


@contextlib.contextmanager
def _opened() -> Iterator[Connection]:
    with translated(_path(), _damaged), contextlib.closing(_connected()) as db:
        yield db


def _damaged(detail: str) -> FindspotError:
    return FindspotError(
        "The counts of use cannot be read.", detail, hint=f"Delete {_path()} to begin again."
    )


def _connected() -> Connection:
    path = _path()
    make_private_dir(path.parent)
    db = sqlite.connect_logged(path, synchronous="OFF", wait_s=_WAIT_S)
    try:
        db.execute(_TABLE)
    except BaseException:
        db.close()
        raise
    return db
