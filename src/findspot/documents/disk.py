"""An index on disk: one SQLite file, safe against crashes, shared between processes.

The file is the truth. Each process keeps the postings in memory, made from the encoded words
that are stored with the documents, and reads what others have committed before every answer.
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
from findspot.documents.errors import DamagedIndexError, IndexExistsError, UnknownIndexError
from findspot.documents.highlights import highlights
from findspot.documents.model import Added, Document, Found, IndexInfo, SearchAnswer
from findspot.documents.postings import Postings, Vocabulary
from findspot.documents.query import ParsedQuery, parse
from findspot.documents.ranking import rank
from findspot.documents.schema import FORMAT_VERSION, TABLES
from findspot.documents.tokenizer import Tokenizer

_log = get_logger("documents")

_READ_ROWS = 10_000
_MIGRATED_ROWS = 100


class _State:
    """An open connection, and the postings as far as they were read from it."""

    def __init__(self, db: Connection, inode: int) -> None:
        self.db = db
        self.inode = inode
        self.postings = Postings()
        self.last_document = 0
        self.last_removal = 0


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
        """Make the file; `IndexExistsError` where it holds an index already."""
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

    def add(self, documents: Iterable[Document]) -> list[Added]:
        """Add documents, or replace those of the same id; all of them or, on an error, none."""
        with self._writing() as state:
            return [self._add(state, document) for document in documents]

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
            self._catch_up(state)
            ranked, total = rank(state.postings, parsed, k)
            stored = _stored(state.db, [doc_id for doc_id, _ in ranked])
        return SearchAnswer(self._found(ranked, stored, parsed), total, parsed)

    def close(self) -> None:
        with self._lock:
            self._reset()

    def drop(self) -> None:
        """Delete the file; processes that have it open notice with their next request."""
        with self._lock:
            self._reset()
            remove_database(self._path)

    def _found(
        self, ranked: Sequence[tuple[str, float]], stored: dict[str, tuple[str, str]], query: ParsedQuery
    ) -> tuple[Found, ...]:
        return tuple(
            Found(
                doc_id,
                score,
                highlights(stored[doc_id][0], query.shown, self.tokenizer),
                json.loads(stored[doc_id][1]),
            )
            for doc_id, score in ranked
        )

    def _add(self, state: _State, document: Document) -> Added:
        words = self.tokenizer.words(document.content)
        encoded, fresh = state.postings.vocabulary.encode(words)
        state.db.executemany("INSERT INTO terms VALUES (?, ?)", fresh)
        row = (document.doc_id, document.content, document.metadata_json, encoded.tobytes())
        cursor = state.db.execute(
            "INSERT OR REPLACE INTO documents (doc_id, content, metadata, encoded) VALUES (?, ?, ?, ?)", row
        )
        state.last_document = int(cursor.lastrowid or 0)
        replaced = state.postings.add(document.doc_id, encoded)
        return Added(document.doc_id, self.tokenizer.count(words), replaced)

    def _catch_up(self, state: _State) -> None:
        """Read what was committed since; within a transaction, so that it fits together."""
        numbers, postings = state.postings.vocabulary.numbers, state.postings
        terms = state.db.execute("SELECT term, number FROM terms WHERE number >= ?", (len(numbers),))
        numbers.update(terms)
        written = state.db.execute(
            "SELECT number, doc_id, encoded FROM documents WHERE number > ? ORDER BY number",
            (state.last_document,),
        )
        while batch := written.fetchmany(_READ_ROWS):
            ids = [doc_id for _, doc_id, _ in batch]
            for doc_id in ids:
                postings.remove(doc_id)
            postings.extend(ids, [np.frombuffer(encoded, np.uint32) for _, _, encoded in batch])
            state.last_document = batch[-1][0]
        removed = state.db.execute(
            "SELECT number, doc_id, doc_id IN (SELECT doc_id FROM documents) FROM removals WHERE number > ?",
            (state.last_removal,),
        )
        for number, doc_id, is_back in removed:
            state.last_removal = number
            if not is_back:
                postings.remove(doc_id)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[_State]:
        with self._transaction("BEGIN") as state:
            yield state

    @contextlib.contextmanager
    def _writing(self) -> Iterator[_State]:
        """Provide a transaction of the only writer, who knows all that is committed."""
        with self._transaction("BEGIN IMMEDIATE") as state:
            self._catch_up(state)
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

    def _opened(self) -> _State:
        try:
            inode = self._path.stat().st_ino
        except FileNotFoundError:
            self._reset()
            raise UnknownIndexError(self.name) from None
        if self._state is None or self._state.inode != inode:
            self._reset()
            self._state = _State(_connect(self._path), inode)
        return self._state

    def _reset(self) -> None:
        if self._state is not None:
            self._state.db.close()
            self._state = None

    def _read_tokenizer(self) -> Tokenizer:
        if not self._path.is_file():
            raise UnknownIndexError(self.name)
        with _translated(self.name, self._path), contextlib.closing(_connect(self._path)) as db:
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
    """Encode the documents of format 1 again: it left out the words that are too short to be tokens."""
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
    """Return the name of the index that a file holds; None for one that is only begun or cannot be read."""
    try:
        with translated(path), contextlib.closing(sqlite.connect_reader(path)) as db:
            return str(db.execute("SELECT value FROM meta WHERE key = 'name'").fetchone()[0])
    except FindspotError as error:
        _log.warning("%s is no index of documents: %s", path.name, error.developer_message)
        return None


def _stored(db: Connection, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Content and metadata of these documents."""
    found: dict[str, tuple[str, str]] = {}
    for first in range(0, len(ids), MAX_PARAMETERS):
        part = ids[first : first + MAX_PARAMETERS]
        marks = ",".join("?" * len(part))
        rows = db.execute(f"SELECT doc_id, content, metadata FROM documents WHERE doc_id IN ({marks})", part)
        found.update({doc_id: (content, metadata) for doc_id, content, metadata in rows})
    return found


def _connect(path: Path) -> Connection:
    """Open the file to read and write, or only to read where nobody can write to its folder."""
    return sqlite.connect_reader(path) if sqlite.is_immutable(path) else sqlite.connect(path)


def _translated(name: str, path: Path) -> contextlib.AbstractContextManager[None]:
    """Turn SQLite's errors into ours."""
    return translated(path, lambda detail: DamagedIndexError(name, detail))
