"""Formats, a database that is no index yet, and what errors of SQLite mean."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from contents import record
from findspot.core import sqlite
from findspot.core.errors import (
    DiskFullError,
    IndexBusyError,
    IndexCorruptError,
    IndexNotFoundError,
    PermissionDeniedError,
)
from findspot.store.damage import confirm
from findspot.store.sqlite_store import SqliteStore


def test_a_step_that_fails_leaves_the_old_format(tmp_path: Path) -> None:
    db = sqlite.connect(tmp_path / "x.sqlite", create=True)
    first = {0: "CREATE TABLE kept (x);\nINSERT INTO kept VALUES (1)"}
    sqlite.migrate(db, first)
    with pytest.raises(sqlite3.OperationalError):
        sqlite.migrate(db, {**first, 1: "CREATE TABLE more (x);\nINSERT INTO nowhere VALUES (1)"})
    assert sqlite.version_of(db) == 1
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("kept",)]
    sqlite.migrate(db, {**first, 1: "CREATE TABLE more (x)"})
    assert (sqlite.version_of(db), db.execute("SELECT x FROM kept").fetchall()) == (2, [(1,)])
    db.close()


@pytest.mark.parametrize("content", [b"", None])
def test_a_database_without_tables_is_no_index_yet(tmp_path: Path, content: bytes | None) -> None:
    """As a writer leaves it that is killed, or has only just begun."""
    store = SqliteStore(tmp_path / "index", "p")
    store.folder.mkdir()
    if content is None:
        db = sqlite3.connect(store.database)
        db.execute("PRAGMA journal_mode = WAL")
        db.close()
    else:
        store.database.write_bytes(content)
    for read in (store.meta, store.figures, lambda: store.snapshot().__enter__()):
        with pytest.raises(IndexNotFoundError):
            read()
    assert confirm(store.folder, LookupError("meta")) is None
    assert not store.damaged
    with store.writer() as writer:
        writer.put(record("a.py", "alpha"))
        writer.commit()
    with store.snapshot() as snapshot:
        assert len(snapshot.files.files) == 1


def test_errors_of_sqlite_are_told_apart_by_their_codes(tmp_path: Path) -> None:
    cases = {
        sqlite3.SQLITE_FULL: DiskFullError,
        sqlite3.SQLITE_IOERR_WRITE: DiskFullError,
        sqlite3.SQLITE_IOERR_SHMSIZE: DiskFullError,
        sqlite3.SQLITE_BUSY: IndexBusyError,
        sqlite3.SQLITE_BUSY_SNAPSHOT: IndexBusyError,
        sqlite3.SQLITE_READONLY: PermissionDeniedError,
        sqlite3.SQLITE_CANTOPEN: PermissionDeniedError,
        sqlite3.SQLITE_CORRUPT: IndexCorruptError,
        sqlite3.SQLITE_NOTADB: IndexCorruptError,
        sqlite3.SQLITE_IOERR_SHORT_READ: IndexCorruptError,
    }
    for code, expected in cases.items():
        error = sqlite3.OperationalError("said by SQLite")
        error.sqlite_errorcode = code
        with pytest.raises(expected), sqlite.translated(tmp_path):
            raise error


def test_a_mistake_of_the_caller_is_not_taken_for_damage(tmp_path: Path) -> None:
    db = sqlite.connect(tmp_path / "x.sqlite", create=True)
    db.close()
    with pytest.raises(sqlite3.ProgrammingError), sqlite.translated(tmp_path):
        db.execute("SELECT 1")
