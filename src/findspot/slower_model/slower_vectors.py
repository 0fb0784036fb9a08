"""The vectors of a slower model, by the key of what was embedded.

They are derived: a lost or damaged file costs the time to make them and nothing else. They are kept apart
from the index, so that the slower model never holds its writer's lock and works with any store.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from findspot.core import sqlite
from findspot.core.errors import FindspotError, IndexCorruptError
from findspot.core.log import get_logger
from findspot.core.sqlite import Connection, remove_database, transaction, translated

_log = get_logger("slower_model")

FILE_NAME = "second.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS model (id TEXT PRIMARY KEY, total INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, scale REAL NOT NULL, vector BLOB NOT NULL)
    WITHOUT ROWID;
"""

_LOOK_UP = "SELECT scale, vector FROM vectors WHERE key = ?"

Row = tuple[bytes, float, bytes]
"""Key, scale, vector."""


class SlowerVectors:
    """The vectors of one model, safe to use from several threads and processes."""

    def __init__(self, folder: Path, model: str) -> None:
        self.model = model
        self._path = folder / FILE_NAME
        self._guard = threading.Lock()
        self._db: Connection | None = None

    def of(self, keys: Sequence[bytes]) -> dict[bytes, tuple[float, bytes]]:
        """Return the scale and vector of each of these keys that has one."""
        if not self._path.exists():
            return {}
        with self._guard, translated(self._path):
            look_up = self._opened().execute
            found = ((key, look_up(_LOOK_UP, (key,)).fetchone()) for key in keys)
            return {key: row for key, row in found if row is not None}

    def keys(self) -> set[bytes]:
        """Return everything that has a vector."""
        if not self._path.exists():
            return set()
        with self._guard, translated(self._path):
            return {key for (key,) in self._opened().execute("SELECT key FROM vectors")}

    def put(self, rows: Iterable[Row]) -> None:
        """Store vectors; searches use them at once."""
        self._change("INSERT OR REPLACE INTO vectors VALUES (?,?,?)", rows)

    def drop(self, keys: Iterable[bytes]) -> None:
        """Delete the vectors that no chunk needs any more."""
        self._change("DELETE FROM vectors WHERE key = ?", ((key,) for key in keys))

    def expect(self, total: int) -> None:
        """Store how many vectors there will be, for the status."""
        self._change("UPDATE model SET total = ?", [(total,)])

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._guard:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _change(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with self._guard, translated(self._path), transaction(self._opened()) as db:
            db.executemany(statement, rows)

    def _opened(self) -> Connection:
        if self._db is None or not self._path.exists():  # the index may have been deleted meanwhile
            try:
                self._db = self._connect()
            except IndexCorruptError as error:
                _log.warning("%s is damaged and rebuilt: %s", FILE_NAME, error.developer_message)
                remove_database(self._path)
                self._db = self._connect()
        return self._db

    def _connect(self) -> Connection:
        with translated(self._path):
            if self._path.exists() and sqlite.is_immutable(self._path):
                return sqlite.connect_reader(self._path)
            db = sqlite.connect_logged(self._path, synchronous="NORMAL")
            try:
                db.executescript(_TABLES)
                if db.execute("SELECT id FROM model").fetchall() != [(self.model,)]:
                    with transaction(db):
                        db.execute("DELETE FROM model")
                        db.execute("DELETE FROM vectors")  # vectors of different models never meet
                        db.execute("INSERT INTO model VALUES (?, 0)", (self.model,))
            except BaseException:
                db.close()
                raise
        return db


def read_standing(folder: Path) -> tuple[str, int, int] | None:
    """Return the model, its vectors so far and in the end; None where there are none, or none can be read."""
    path = folder / FILE_NAME
    if not path.exists():
        return None
    try:
        with translated(path), contextlib.closing(sqlite.connect_reader(path)) as db:
            found = db.execute("SELECT id, (SELECT COUNT(*) FROM vectors), total FROM model").fetchone()
    except FindspotError:
        return None
    return found if found is None else (str(found[0]), int(found[1]), int(found[2]))
