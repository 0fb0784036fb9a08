"""An index on disk: one SQLite file, safe against crashes, shared between processes.

The file is the truth. Each process holds the postings in memory, made from the encoded words that are
stored with the documents, and reads what others have committed before every answer.

FORMAT_VERSION
    1   0.1.0   meta, terms, documents with their encoded words, removals
    2   0.2.0   short words are encoded too, so that operators and phrases hold for them
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from findspot.core import sqlite
from findspot.core.errors import FindspotError, IndexFormatError
from findspot.core.log import get_logger
from findspot.core.sqlite import MAX_PARAMETERS, Connection, remove_database, translated, version_of
from findspot.documents.document_query import Tokenizer, parse
from findspot.documents.document_record import (
    AddedDocument,
    DamagedIndexError,
    Document,
    IndexExistsError,
    IndexInfo,
    SearchAnswer,
    UnknownIndexError,
    answer,
)
from findspot.documents.postings import Postings, Vocabulary, rank

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


_log = get_logger("documents")

_READ_ROWS = 10_000
_MIGRATED_ROWS = 100


class _State:
    """An open connection, and the postings that were read from it so far."""

    def __init__(self, db: Connection, inode: int) -> None:
        self.db = db
        self.inode = inode
        self.postings = Postings()
        self.last_document = 0
        self.last_removal = 0

    def add(self, document: Document, tokenizer: Tokenizer) -> AddedDocument:
        """Write a document, and add its words to the postings."""
        words = tokenizer.words(document.content)
        encoded, fresh = self.postings.vocabulary.encode(words)
        self.db.executemany("INSERT INTO terms VALUES (?, ?)", fresh)
        row = (document.doc_id, document.content, document.metadata_json, encoded.tobytes())
        cursor = self.db.execute(
            "INSERT OR REPLACE INTO documents (doc_id, content, metadata, encoded) VALUES (?, ?, ?, ?)", row
        )
        self.last_document = int(cursor.lastrowid or 0)
        replaced = self.postings.add(document.doc_id, encoded)
        return AddedDocument(document.doc_id, tokenizer.count(words), replaced)

    def catch_up(self) -> None:
        """Read what was committed since the last call; needs a transaction, for one consistent state."""
        numbers, postings = self.postings.vocabulary.numbers, self.postings
        terms = self.db.execute("SELECT term, number FROM terms WHERE number >= ?", (len(numbers),))
        numbers.update(terms)
        written = self.db.execute(
            "SELECT number, doc_id, encoded FROM documents WHERE number > ? ORDER BY number",
            (self.last_document,),
        )
        while batch := written.fetchmany(_READ_ROWS):
            ids = [doc_id for _, doc_id, _ in batch]
            for doc_id in ids:
                postings.remove(doc_id)
            postings.extend(ids, [np.frombuffer(encoded, np.uint32) for _, _, encoded in batch])
            self.last_document = batch[-1][0]
        removed = self.db.execute(
            "SELECT number, doc_id, doc_id IN (SELECT doc_id FROM documents) FROM removals WHERE number > ?",
            (self.last_removal,),
        )
        for number, doc_id, is_back in removed:
            self.last_removal = number
            if not is_back:
                postings.remove(doc_id)


class DiskIndex:
    """A named index that outlives the process."""

    backend = "disk"

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path
        self._lock = threading.Lock()
        self._state: _State | None = None
        self.tokenizer = self._read_tokenizer()

    @classmethod
    def create(cls, name: str, path: Path, tokenizer: Tokenizer) -> DiskIndex:
        """Create the file; raise `IndexExistsError` if it has an index already."""
        with (
            _translated(name, path),
            contextlib.closing(sqlite.connect_logged(path)) as db,
            sqlite.transaction(db),
        ):
            if version_of(db):
                raise IndexExistsError(name)
            for statement in TABLES.split(";\n"):
                db.execute(statement)
            config = json.dumps(tokenizer.config)
            db.executemany("INSERT INTO meta VALUES (?, ?)", [("name", name), ("tokenizer", config)])
            db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        return cls(name, path)

    def info(self) -> IndexInfo:
        with self._reading() as state:
            count = int(state.db.execute("SELECT COUNT(*) FROM documents").fetchone()[0])
        files = [Path(f"{self._path}{end}") for end in ("", "-wal")]
        return IndexInfo(self.name, self.backend, count, sum(f.stat().st_size for f in files if f.exists()))

    def add(self, documents: Iterable[Document]) -> list[AddedDocument]:
        """Add documents, or replace those with the same id; on an error, none is added."""
        with self._writing() as state:
            return [state.add(document, self.tokenizer) for document in documents]

    def remove(self, doc_id: str) -> bool:
        with self._writing() as state:
            removed = state.db.execute("DELETE FROM documents WHERE doc_id = ?", (doc_id,)).rowcount > 0
            if removed:
                state.db.execute("INSERT INTO removals (doc_id) VALUES (?)", (doc_id,))
            return removed

    def search(self, query: str, k: int) -> SearchAnswer:
        """Return the best `k` documents for a query, from one state of the file."""
        parsed = parse(query, self.tokenizer)
        with self._reading() as state:
            state.catch_up()
            ranked, total = rank(state.postings, parsed, k)
            stored = _stored(state.db, [doc_id for doc_id, _ in ranked])
        return answer(ranked, total, stored, parsed, self.tokenizer)

    def close(self) -> None:
        with self._lock:
            self._reset()

    def drop(self) -> None:
        """Delete the file; other processes notice with their next request."""
        with self._lock:
            self._reset()
            remove_database(self._path)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[_State]:
        with self._transaction("BEGIN") as state:
            yield state

    @contextlib.contextmanager
    def _writing(self) -> Iterator[_State]:
        """Provide a transaction of the only writer, with everything committed already read."""
        with self._transaction("BEGIN IMMEDIATE") as state:
            state.catch_up()
            yield state

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[_State]:
        with self._lock, _translated(self.name, self._path):
            state = self._opened()
            try:
                state.db.execute(begin)
                yield state
                state.db.execute("COMMIT")
            except BaseException:
                self._reset()  # what was read may be ahead of what is committed: read it again
                raise
            if sqlite.keeps_others_out(state.db):
                self._reset()

    def _opened(self) -> _State:
        try:
            inode = self._path.stat().st_ino
        except FileNotFoundError:
            self._reset()
            raise UnknownIndexError(self.name) from None
        if self._state is None or self._state.inode != inode:
            self._reset()
            self._state = _State(sqlite.connect_reader(self._path), inode)
            self._state.db.execute("PRAGMA synchronous = FULL")  # it also writes, where that can be done
        return self._state

    def _reset(self) -> None:
        if self._state is not None:
            self._state.db.close()
            self._state = None

    def _read_tokenizer(self) -> Tokenizer:
        if not self._path.is_file():
            raise UnknownIndexError(self.name)
        with _translated(self.name, self._path), contextlib.closing(sqlite.connect_reader(self._path)) as db:
            version = version_of(db)
            if version == 0:  # whoever began to make it did not come to the end
                raise UnknownIndexError(self.name)
            if version > FORMAT_VERSION:
                raise IndexFormatError(version, FORMAT_VERSION)
            config = db.execute("SELECT value FROM meta WHERE key = 'tokenizer'").fetchone()[0]
            tokenizer = Tokenizer.from_config(json.loads(config))
            if version < FORMAT_VERSION and not sqlite.is_immutable(self._path):
                _migrate(db, tokenizer)
        return tokenizer


def _migrate(db: Connection, tokenizer: Tokenizer) -> None:
    """Encode the documents of format 1 again, which left out words that are too short to be tokens."""
    with sqlite.transaction(db):
        if version_of(db) >= FORMAT_VERSION:  # another process was first
            return
        vocabulary, last = Vocabulary(), 0
        db.execute("DELETE FROM terms")
        while rows := db.execute(
            "SELECT number, content FROM documents WHERE number > ? ORDER BY number LIMIT ?",
            (last, _MIGRATED_ROWS),
        ).fetchall():
            for number, content in rows:
                encoded, fresh = vocabulary.encode(tokenizer.words(content))
                db.executemany("INSERT INTO terms VALUES (?, ?)", fresh)
                db.execute("UPDATE documents SET encoded = ? WHERE number = ?", (encoded.tobytes(), number))
            last = rows[-1][0]
        db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def name_in(path: Path) -> str | None:
    """Return the name of the index in a file; None if it is incomplete or unreadable."""
    try:
        with translated(path), contextlib.closing(sqlite.connect_reader(path)) as db:
            return str(db.execute("SELECT value FROM meta WHERE key = 'name'").fetchone()[0])
    except FindspotError as error:
        _log.warning("%s is not an index of documents: %s", path.name, error.developer_message)
        return None


def _stored(db: Connection, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return content and metadata of these documents."""
    found: dict[str, tuple[str, str]] = {}
    for first in range(0, len(ids), MAX_PARAMETERS):
        part = ids[first : first + MAX_PARAMETERS]
        marks = ",".join("?" * len(part))
        rows = db.execute(f"SELECT doc_id, content, metadata FROM documents WHERE doc_id IN ({marks})", part)
        found.update({doc_id: (content, metadata) for doc_id, content, metadata in rows})
    return found


def _translated(name: str, path: Path) -> contextlib.AbstractContextManager[None]:
    """Translate SQLite's errors into ours."""
    return translated(path, lambda detail: DamagedIndexError(name, detail))
