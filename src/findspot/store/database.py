"""SQLite, the truth: the format of the default store, its history, and how the database is opened.

FORMAT_VERSION
    1   0.1.0   files, chunks with their vectors, symbols, skips, meta
    2   0.1.0   facts and names: what the reference graph is made of
    3   0.2.0   files and skips with the time of their last change and their number on disk
    4   0.2.0   edges: the references of files, resolved
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from findspot.core import sqlite
from findspot.core.errors import IndexFormatError
from findspot.core.log import get_logger
from findspot.core.sqlite import Connection, translated
from findspot.store.edge_rows import EDGE_TABLES

_log = get_logger("store")

FILE_NAME = "index.sqlite"
FILE_NAMES = tuple(FILE_NAME + ending for ending in sqlite.FILE_ENDINGS)
FORMAT_VERSION = 4

_WRITER_CACHE_KB = 16_384
"""Names come in any order: with SQLite's 2,000 their pages are written and read again all the time."""

TABLES = """
CREATE TABLE meta (
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
    chunks   INTEGER NOT NULL
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
    mtime_ns INTEGER
) WITHOUT ROWID;
"""

GRAPH_TABLES = """
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
"""

STAMPS = """
ALTER TABLE files ADD COLUMN ctime_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN inode INTEGER NOT NULL DEFAULT 0;
ALTER TABLE skips ADD COLUMN ctime_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE skips ADD COLUMN inode INTEGER NOT NULL DEFAULT 0;
DELETE FROM meta WHERE key = 'scanned_ns'
"""
"""Without `scanned_ns` the next run compares every file by its hash, and learns what is new here."""

MIGRATIONS: dict[int, str] = {0: TABLES, 1: GRAPH_TABLES, 2: STAMPS, 3: EDGE_TABLES}
"""From a version to the next: statements run in the transaction that raises `user_version`.

A fresh database is of version 0, so a new index goes through the same steps as an old one.
"""


def connect(path: Path) -> Connection:
    """Open the database to read and write; one of a newer format is refused."""
    with translated(path):
        return _checked_format(sqlite.connect(path))


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


def begin(db: Connection) -> None:
    """Begin a transaction that writes, unless one has begun."""
    if not db.in_transaction:
        db.execute("BEGIN IMMEDIATE")


def generation_of(db: Connection) -> int:
    """Return how many commits there have been."""
    return int(read_meta(db).get("generation", "0"))


def read_meta(db: Connection) -> dict[str, str]:
    return dict(db.execute("SELECT key, value FROM meta"))


def write_meta(db: Connection, values: dict[str, str]) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


ADDITIONS = "additions"
"""The row of `meta` that `Additions` is read from."""


class Additions(NamedTuple):
    """What the last commits did to the table of files: a reader need not read all of it again."""

    since: int
    """After this generation …"""
    upto: int
    """… and up to this one, files were added or replaced, and nothing else happened to them or to skips."""
    chunks: int
    """How many chunks the files have."""

    @classmethod
    def of(cls, meta: Mapping[str, str]) -> Additions | None:
        """Return what is known of the generation that `meta` names; None after a writer that says nothing."""
        noted = cls(*map(int, meta[ADDITIONS].split())) if ADDITIONS in meta else None
        return noted if noted and str(noted.upto) == meta.get("generation") else None

    @classmethod
    def after(cls, meta: Mapping[str, str], chunks: int, *, only_added: bool) -> Additions:
        """Return what holds after the next commit."""
        before, generation = cls.of(meta), int(meta.get("generation", "0"))
        since = before.since if before else generation
        return cls(since if only_added else generation + 1, generation + 1, chunks)

    @property
    def text(self) -> str:
        return " ".join(map(str, self))


JOURNAL_NOTE = "journal"
"""The row of `meta` that says why there is no write-ahead log."""


def note_journal(db: Connection) -> None:
    """Write down, once, that there is no log."""
    if not sqlite.uses_log(db) and JOURNAL_NOTE not in read_meta(db):
        note = "The file system of the index has no shared memory: searches wait while files are stored."
        _log.warning("%s", note)
        write_meta(db, {JOURNAL_NOTE: note})
