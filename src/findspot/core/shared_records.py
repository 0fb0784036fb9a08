"""Small databases in the home folder that every Findspot process adds rows to: counts of use, a log of calls.

The file is readable by its owner only. Adding a row never fails the answer that it is about.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from findspot.core import sqlite
from findspot.core.config import home_folder
from findspot.core.errors import FindspotError
from findspot.core.files import make_private_dir, stat_of
from findspot.core.sqlite import Connection, translated

_WAIT_S = 0.5


class SharedRecords:
    """One table in a file of its own. The file stays open: opening costs ten times what adding a row does."""

    def __init__(self, file_name: str, table: str, contents: str) -> None:
        """`table` creates the table unless it exists; `contents` names the rows in errors."""
        self._file_name = file_name
        self._table = table
        self._contents = contents
        self._guard = threading.Lock()
        self._db: Connection | None = None
        self._identity: tuple[Path, int] | None = None

    @property
    def path(self) -> Path:
        """The file in the home folder of this moment."""
        return home_folder() / self._file_name

    def add(self, statement: str, row: tuple[object, ...], tidy: str = "", every: int = 0) -> None:
        """Run a statement that adds a row; ignore failures. Run `tidy` after every so many new rows."""
        with contextlib.suppress(FindspotError, sqlite.Error, OSError), self._guard:
            path = self.path
            if self._db is None or self._identity != _identity(path):
                self._open(path)
            assert self._db is not None
            number = self._db.execute(statement, row).lastrowid
            if every and number is not None and number % every == 0:
                self._db.execute(tidy)

    def rows(self, query: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none if nothing was ever added."""
        if not self.path.exists():
            return []
        with self._translated(), contextlib.closing(sqlite.connect_reader(self.path)) as db:
            return db.execute(query, tuple(values)).fetchall()

    def change(self, statement: str) -> None:
        """Run a statement on the rows that exist; another process may have the file open."""
        if self.path.exists():
            with self._translated(), contextlib.closing(self._connected()) as db:
                db.execute(statement)

    def _open(self, path: Path) -> None:
        """Open the file; again if it was deleted or the home folder has changed."""
        if self._db is not None:
            self._db.close()
        self._db = self._connected()
        self._identity = _identity(path)

    def _connected(self) -> Connection:
        make_private_dir(self.path.parent)
        db = sqlite.connect_logged(self.path, synchronous="OFF", wait_s=_WAIT_S)
        try:
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


def _identity(path: Path) -> tuple[Path, int] | None:
    info = stat_of(path)
    return (path, info.st_ino) if info else None
