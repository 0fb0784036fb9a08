"""The format of the default store, and its history.

FORMAT_VERSION
    1   0.1.0   files, chunks with their vectors, symbols, skips, meta
    2   0.1.0   facts and names: what the reference graph is made of
    3   0.2.0   files and skips with the time of their last change and their number on disk
"""

from __future__ import annotations

FORMAT_VERSION = 3

ORDINAL_BITS = 12
"""A chunk's number is its file revision's number followed by its place in the file.

So a chunk's file is known from its number alone, in SQLite, in the keyword index and in the
vector segments, and one set of live file numbers tells everywhere what is current.
"""

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

MIGRATIONS: dict[int, str] = {0: TABLES, 1: GRAPH_TABLES, 2: STAMPS}
"""From a version to the next: statements run in the transaction that raises `user_version`.

A fresh database is of version 0, so a new index goes through the same steps as an old one.
"""


def chunk_number(file_id: int, ordinal: int) -> int:
    return (file_id << ORDINAL_BITS) | ordinal


OUTLINE_ORDINAL = (1 << ORDINAL_BITS) - 1
"""The place of a file's outline: told from its number alone, so that scans for lines pass it by."""


def chunk_range(file_id: int) -> tuple[int, int]:
    """Return the lowest and highest number that a chunk of this file revision can have."""
    first = file_id << ORDINAL_BITS
    return first, first | ((1 << ORDINAL_BITS) - 1)
