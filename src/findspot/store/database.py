"""SQLite, the truth: the format of the default store, its history, and how the database is opened.

An index of an older format is emptied, and built again by the next run.

FORMAT_VERSION
    4   0.2.0
    5   0.3.0: facts and edges are read by other rules
"""

from __future__ import annotations

from pathlib import Path

from findspot.core import sqlite
from findspot.core.errors import IndexFormatError
from findspot.core.log import get_logger
from findspot.core.sqlite import Connection, transaction, translated, version_of

_log = get_logger("store")

FILE_NAME = "index.sqlite"
FILE_NAMES = tuple(FILE_NAME + ending for ending in sqlite.FILE_ENDINGS)
FORMAT_VERSION = 6

_WRITER_CACHE_KB = 16_384
"""Names come in any order: with SQLite's 2,000 their pages are written and read again all the time."""

TABLES = """
CREATE TABLE IF NOT EXISTS meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE files (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,  -- new for each revision, never used twice
    path     TEXT NOT NULL UNIQUE,
    corpus   TEXT NOT NULL,
    language TEXT NOT NULL,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    sha256   TEXT NOT NULL,
    chunks   INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode    INTEGER NOT NULL
);

CREATE TABLE chunks (
    id          INTEGER PRIMARY KEY,
    start_line  INTEGER NOT NULL,
    end_line    INTEGER NOT NULL,
    chunk_type  TEXT NOT NULL,
    kind        TEXT NOT NULL,
    language    TEXT NOT NULL,   -- of the lines: a notebook's cells differ from their file
    text        TEXT NOT NULL,
    symbols     TEXT NOT NULL,   -- names, one a line
    signature   TEXT,
    breadcrumb  TEXT,
    doc_comment TEXT,
    tags        TEXT NOT NULL,   -- one a line
    context     TEXT NOT NULL,   -- the capsule: found by, never shown
    key         BLOB NOT NULL,   -- what was embedded, with which model
    scale       REAL NOT NULL,
    vector      BLOB NOT NULL
);

CREATE TABLE symbols (
    name     TEXT NOT NULL,      -- lower-cased
    chunk_id INTEGER NOT NULL,
    display  TEXT NOT NULL,
    kind     TEXT NOT NULL,
    line     INTEGER NOT NULL,
    PRIMARY KEY (chunk_id, line, name, kind)
) WITHOUT ROWID;
CREATE INDEX symbols_by_name ON symbols (name);

CREATE TABLE skips (
    path     TEXT PRIMARY KEY,
    reason   TEXT NOT NULL,
    detail   TEXT NOT NULL,
    size     INTEGER,            -- of the file when it was read; NULL where its name was enough
    mtime_ns INTEGER,
    ctime_ns INTEGER NOT NULL,
    inode    INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE facts (
    file_id INTEGER PRIMARY KEY,
    data    BLOB NOT NULL        -- definitions, imports, bindings and references: `core.facts`
);

CREATE TABLE names (
    name    TEXT NOT NULL,
    file_id INTEGER NOT NULL,
    defined INTEGER NOT NULL,    -- how often the file defines the name …
    used    INTEGER NOT NULL,    -- … and refers to it
    PRIMARY KEY (name, file_id)
) WITHOUT ROWID;

CREATE TABLE edges (
    target  INTEGER NOT NULL,    -- a hash of the id of what is referred to
    file_id INTEGER NOT NULL,    -- the file that refers to it
    data    BLOB NOT NULL,       -- where and how: `graph.stored_edges`
    PRIMARY KEY (target, file_id)
) WITHOUT ROWID;

CREATE TABLE edge_sources (
    file_id INTEGER PRIMARY KEY,
    sources BLOB NOT NULL,       -- the definitions that its edges start at: `graph.stored_edges`
    targets BLOB NOT NULL        -- what its edges lead to, by which they are deleted
);

CREATE TABLE pending (
    file_id INTEGER PRIMARY KEY
)
"""

_OF_FILES = "files chunks symbols skips facts names edges edge_sources pending"
_KEPT = "'project_path', 'created_at', 'agreed_files', 'options'"
_OLDER = "An older version of Findspot made this index: it is built again."


def connect_reader(path: Path) -> Connection:
    """Open the database to read; one of a newer format is refused."""
    with translated(path):
        return _checked_format(sqlite.connect_reader(path))


def connect_writer(path: Path) -> Connection:
    """Open the database, made if need be, for its one writer."""
    # What is derived is cleaned up after a commit, so the commit itself must be on the disk.
    with translated(path):
        db = _checked_format(sqlite.connect_logged(path, synchronous="FULL"))
        db.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KB}")
    return db


def _checked_format(db: Connection) -> Connection:
    try:
        if (version := sqlite.version_of(db)) > FORMAT_VERSION:
            raise IndexFormatError(version, FORMAT_VERSION)
    except BaseException:
        db.close()
        raise
    return db


def make_tables(db: Connection) -> None:
    """Make the tables of an index that is new; an older one is emptied for that, and knows what it is of."""
    version = version_of(db)
    if version == FORMAT_VERSION:
        return
    with transaction(db):
        if version:
            generation = str(generation_of(db) + 1)
            db.execute(f"DELETE FROM meta WHERE key NOT IN ({_KEPT})")
            write_meta(db, {"build": "incomplete", "generation": generation, "notes": _OLDER})
            for table in _OF_FILES.split():
                db.execute(f"DROP TABLE IF EXISTS {table}")
            _log.info("%s", _OLDER)
        for statement in TABLES.split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def begin(db: Connection) -> None:
    if not db.in_transaction:
        db.execute("BEGIN IMMEDIATE")


def generation_of(db: Connection) -> int:
    return int(read_meta(db).get("generation", "0"))


def read_meta(db: Connection) -> dict[str, str]:
    return dict(db.execute("SELECT key, value FROM meta"))


def write_meta(db: Connection, values: dict[str, str]) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


JOURNAL_NOTE = "journal"
"""The row of `meta` that says why there is no write-ahead log."""


def note_journal(db: Connection) -> None:
    """Write down, once, that there is no log."""
    if not sqlite.uses_log(db) and JOURNAL_NOTE not in read_meta(db):
        note = "The file system of the index has no shared memory: searches wait while files are stored."
        _log.warning("%s", note)
        write_meta(db, {JOURNAL_NOTE: note})
