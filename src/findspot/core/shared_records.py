"""Tables in the home folder that every Findspot process adds rows to: what was asked, counts, calls.

Their file is readable by their owner only. Adding a row never fails the answer that it is about, and the
setting `activity` turns all of them off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from findspot.core import sqlite
from findspot.core.config import load_settings
from findspot.core.errors import FindspotError
from findspot.core.files import make_private_dir
from findspot.core.log import get_logger
from findspot.core.model import storable
from findspot.core.paths import home_folder
from findspot.core.sqlite import Connection, translated

_log = get_logger("records")

_WAIT_S = 0.5


def recording() -> bool:
    return load_settings().log.activity


_IN_ORDER = ThreadPoolExecutor(1, "records")
"""One thread does what nobody waits for. The interpreter ends after it."""


def later(job: Callable[[], None]) -> None:
    """Do a job after those before it, without waiting for it."""
    with contextlib.suppress(RuntimeError):  # the interpreter ends this moment
        _IN_ORDER.submit(_done, job)


def _done(job: Callable[[], None]) -> None:
    try:
        job()
    except Exception:  # noqa: BLE001 - the boundary of a thread; no answer depends on it
        _log.exception("records could not be written")


class SharedRecords:
    """One table of a file, which is opened for each row: nobody waits for it (`later`)."""

    def __init__(self, file_name: str, name: str, columns: str, contents: str) -> None:
        """`name` and `columns` are those of the table; `contents` names the rows in errors."""
        self._file_name = file_name
        self._name = name
        self._table = f"CREATE TABLE IF NOT EXISTS {name} {columns}"
        self._contents = contents

    @property
    def path(self) -> Path:
        """The file in the home folder of this moment."""
        return home_folder() / self._file_name

    def add(self, statement: str, row: tuple[object, ...], tidy: str = "", every: int = 0) -> None:
        """Run a statement that adds a row, unless use is not recorded; ignore failures.

        `tidy` is run after every so many new rows.
        """
        with contextlib.suppress(FindspotError, sqlite.Error, OSError):
            if not recording():
                return
            with contextlib.closing(self._connected()) as db:
                number = db.execute(statement, tuple(map(_storable, row))).lastrowid
                if every and number is not None and number % every == 0:
                    db.execute(tidy)

    def rows(self, query: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        if not self.path.exists():
            return []
        with self._translated(), contextlib.closing(sqlite.connect_reader(self.path)) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (self._name,)).fetchone():
                return []  # an older version made the file
            return db.execute(query, tuple(values)).fetchall()

    def change(self, statement: str) -> None:
        """Run a statement on the rows that exist; another process may have the file open."""
        if self.path.exists():
            with self._translated(), contextlib.closing(self._connected()) as db:
                db.execute(statement)
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # what was deleted is not left in the log

    def _connected(self) -> Connection:
        make_private_dir(self.path.parent)
        db = sqlite.connect_logged(self.path, synchronous="OFF", wait_s=_WAIT_S)
        try:
            db.execute("PRAGMA secure_delete = ON")
            db.execute(self._table)
        except BaseException:
            db.close()
            raise
        return db

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        def damaged(detail: str) -> FindspotError:
            return FindspotError(
                f"{self._contents} cannot be read.", detail, hint=f"Delete {self.path} to begin again."
            )

        with translated(self.path, damaged):
            yield


def _storable(value: object) -> object:
    """Return a value, without the halves of characters that a question from a terminal may have."""
    return storable(value) if isinstance(value, str) else value
