"""The write-ahead log, where the disk allows it; a rollback journal where it does not.

The log needs memory that all processes share, which network file systems do not have: there it
fails, or worse, seems to work. With a rollback journal readers and the writer wait for each other.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from findspot.core.log import get_logger
from findspot.core.mounts import remote_kind
from findspot.store import database as rows

_log = get_logger("store")

NOTE = "journal"
"""The row of `meta` that says why there is no write-ahead log."""

_WITHOUT_SHARED_MEMORY = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL}
)
"""What SQLite says, by its version, when it cannot map the log's index; or of a disk that is read-only."""

_ALONE_S = 1.0


def connect_to_write(path: Path) -> sqlite3.Connection:
    """Open the database for its one writer, in the journal mode that works where it is."""
    remote = remote_kind(path.parent)
    db = rows.connect(path, create=True)
    try:
        if rows.format_of(db) == 0 and not remote:
            db.execute("PRAGMA journal_mode = WAL")
        works = _can_write(db)
    except BaseException:
        db.close()
        raise
    if _mode(db) == "wal" and (remote or not works):
        db.close()
        _leave_log(path)
        db = rows.connect(path)
    if _mode(db) != "wal":
        # Else a large transaction would lock readers out from its middle on, not just while it commits.
        db.execute("PRAGMA cache_spill = OFF")
    return db


def use_log(path: Path) -> None:
    """Give a database, made if need be, the write-ahead log where that works; nobody else has it open."""
    if remote_kind(path.parent):
        return
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        works = _can_write(db)
    if not works:
        _leave_log(path)


def note_journal(db: sqlite3.Connection) -> None:
    """Write down, once, that there is no log."""
    if _mode(db) != "wal" and NOTE not in rows.read_meta(db):
        said = "The file system of the index has no shared memory: searches wait while files are stored."
        _log.warning("%s", said)
        rows.write_meta(db, {NOTE: said})


def _can_write(db: sqlite3.Connection) -> bool:
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in _WITHOUT_SHARED_MEMORY:
            return False
        raise
    return True


def _leave_log(path: Path) -> None:
    """Alone with the database one needs no shared memory, and can bring in what the log holds."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=_ALONE_S)) as db:
        try:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            _log.info("%s is being read, and keeps its write-ahead log for now", path.name)


def _mode(db: sqlite3.Connection) -> str:
    return str(db.execute("PRAGMA journal_mode").fetchone()[0])
