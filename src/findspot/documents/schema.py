"""The format of an index on disk, and its history.

FORMAT_VERSION
    1   0.1.0   meta, terms, documents with their encoded words, removals
    2   0.2.0   short words are encoded too, so that operators and phrases hold for them
"""

from __future__ import annotations

FORMAT_VERSION = 2

TABLES = """
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE terms (
    number INTEGER PRIMARY KEY,
    term   TEXT NOT NULL
);

CREATE TABLE documents (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,  -- new whenever a document is indexed again
    doc_id   TEXT NOT NULL UNIQUE,
    content  TEXT NOT NULL,
    metadata TEXT NOT NULL,
    encoded  BLOB NOT NULL                       -- the numbers of its words, four bytes each
);

CREATE TABLE removals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    doc_id TEXT NOT NULL
);
"""
