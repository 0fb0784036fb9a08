"""Formats: the newest is made, older ones are brought up to it, newer ones are refused."""

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
from findspot.store.database import FORMAT_VERSION, MIGRATIONS, connect, read_meta, write_meta
from findspot.store.sqlite_store import SqliteStore


def test_the_steps_lead_to_the_current_format() -> None:
    assert sorted(MIGRATIONS) == list(range(FORMAT_VERSION))


def test_an_older_database_goes_through_every_later_step(tmp_path: Path) -> None:
    db = sqlite.connect(tmp_path / "x.sqlite", create=True)
    sqlite.migrate(db, MIGRATIONS)
    write_meta(db, {"kept": "yes"})
    steps = {
        **MIGRATIONS,
        FORMAT_VERSION: "ALTER TABLE files ADD COLUMN extra TEXT;\nCREATE TABLE more (x)",
        FORMAT_VERSION + 1: "INSERT INTO more VALUES (7)",
    }
    sqlite.migrate(db, steps)
    assert sqlite.version_of(db) == FORMAT_VERSION + 2
    assert read_meta(db) == {"kept": "yes"}
    assert db.execute("SELECT x FROM more").fetchall() == [(7,)]
    sqlite.migrate(db, steps)
    assert db.execute("SELECT x FROM more").fetchall() == [(7,)]
    db.close()


def test_a_step_that_fails_leaves_the_old_format(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    db = sqlite.connect(path, create=True)
    sqlite.migrate(db, MIGRATIONS)
    broken = {**MIGRATIONS, FORMAT_VERSION: "CREATE TABLE more (x);\nINSERT INTO nowhere VALUES (1)"}
    with pytest.raises(sqlite3.OperationalError):
        sqlite.migrate(db, broken)
    db.close()
    db = connect(path)
    assert sqlite.version_of(db) == FORMAT_VERSION
    assert db.execute("SELECT name FROM sqlite_master WHERE name = 'more'").fetchall() == []
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
    with pytest.raises(IndexNotFoundError), store.snapshot():
        pass
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
