"""Indexes by name: those in the memory of this process, and those on disk, which all processes share.

Each is a SQLite database of documents and the places of their words. One on disk is safe against crashes.

FORMAT_VERSION
    1   0.1.0   encoded words with the documents
    2   0.2.0   short words too, so that operators and phrases hold for them
    3   0.3.0   a table of words and their places
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from findspot.core import sqlite
from findspot.core.errors import FindspotError, IndexFormatError, InvalidArgumentError
from findspot.core.files import make_private_dir
from findspot.core.log import get_logger
from findspot.core.sqlite import MAX_PARAMETERS, Connection, remove_database, translated, version_of
from findspot.documents.document_record import (
    AddedDocument,
    DamagedIndexError,
    Document,
    FoundDocument,
    IndexInfo,
    ParsedQuery,
    Phrase,
    SearchAnswer,
    Tokenizer,
    UnknownIndexError,
    highlights,
    parse,
)

_log = get_logger("documents")

FORMAT_VERSION = 3

_META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_DOCUMENTS = """
CREATE TABLE documents (
    number   INTEGER PRIMARY KEY,
    doc_id   TEXT NOT NULL UNIQUE,
    content  TEXT NOT NULL,
    metadata TEXT NOT NULL
)"""
_WORDS = """
CREATE TABLE words (
    word     TEXT NOT NULL,
    document INTEGER NOT NULL,
    places   BLOB NOT NULL,  -- the positions of the word among the document's words, four bytes each
    PRIMARY KEY (word, document)
) WITHOUT ROWID"""


class DocumentIndex:
    """The documents of one name. Safe to use from several threads."""

    def __init__(self, name: str, tokenizer: Tokenizer, path: Path | None, db: Connection | None) -> None:
        """Of `path` and `db`, the index has the one that says where it is."""
        self.name = name
        self.tokenizer = tokenizer
        self.backend = "memory" if path is None else "disk"
        self._path = path
        self._db = db
        self._inode = 0
        self._lock = threading.Lock()
        self.memory_bytes = 0
        """What an index in memory takes."""

    @classmethod
    def in_memory(cls, name: str, tokenizer: Tokenizer) -> DocumentIndex:
        db = sqlite.connect_in_memory()
        for table in (_DOCUMENTS, _WORDS):
            db.execute(table)
        return cls(name, tokenizer, None, db)

    @classmethod
    def create(cls, name: str, path: Path, tokenizer: Tokenizer) -> DocumentIndex:
        """Create the file; an error if it has an index already."""
        with (
            _translated(name, path),
            contextlib.closing(sqlite.connect_logged(path)) as db,
            sqlite.transaction(db),
        ):
            if version_of(db):
                raise InvalidArgumentError(f"Index already exists: {name}")
            for table in (_META, _DOCUMENTS, _WORDS):
                db.execute(table)
            config = json.dumps(tokenizer.config)
            db.executemany("INSERT INTO meta VALUES (?, ?)", [("name", name), ("tokenizer", config)])
            db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        return cls(name, tokenizer, path, None)

    @classmethod
    def open(cls, name: str, path: Path) -> DocumentIndex:
        """Open the index in a file; `UnknownIndexError` if there is none, or it was only begun."""
        if not path.is_file():
            raise UnknownIndexError(name)
        with _translated(name, path), contextlib.closing(sqlite.connect_reader(path)) as db:
            version = version_of(db)
            if version == 0:
                raise UnknownIndexError(name)
            if version > FORMAT_VERSION:
                raise IndexFormatError(version, FORMAT_VERSION)
            config = db.execute("SELECT value FROM meta WHERE key = 'tokenizer'").fetchone()[0]
            tokenizer = Tokenizer.from_config(json.loads(config))
            if version < FORMAT_VERSION:
                _migrate(db, tokenizer)
        return cls(name, tokenizer, path, None)

    def info(self) -> IndexInfo:
        with self._transaction("BEGIN") as db:
            count = int(db.execute("SELECT COUNT(*) FROM documents").fetchone()[0])
            size = _used_bytes(db)
        if self._path is not None:
            files = [Path(f"{self._path}{end}") for end in ("", "-wal")]
            size = sum(file.stat().st_size for file in files if file.exists())
        return IndexInfo(self.name, self.backend, count, size)

    def add(self, documents: Iterable[Document], check: Callable[[], None]) -> list[AddedDocument]:
        """Add documents, or replace those with the same id; `check` raises an error if they are too large.

        On an error, an index on disk has none of them, one in memory those before it.
        """
        if self._path is None:
            return [self._add([document], check)[0] for document in documents]
        return self._add(documents, check)

    def remove(self, doc_id: str) -> bool:
        with self._transaction("BEGIN IMMEDIATE") as db:
            return _delete(db, doc_id, self.tokenizer)

    def search(self, query: str, k: int) -> SearchAnswer:
        """Return the best `k` documents for a query, from one state of the index."""
        parsed = parse(query, self.tokenizer)
        with self._transaction("BEGIN") as db:
            ranked, total = _rank(db, parsed, k)
            rows = _documents(db, "number, content, metadata", [number for number, _, _ in ranked])
        stored = {number: (content, metadata) for number, content, metadata in rows}
        results = []
        for number, doc_id, score in ranked:
            content, metadata = stored[number]
            shown = highlights(content, parsed.shown, self.tokenizer)
            results.append(FoundDocument(doc_id, score, shown, json.loads(metadata)))
        return SearchAnswer(tuple(results), total, parsed)

    def close(self) -> None:
        with self._lock:
            self._reset()

    def drop(self) -> None:
        """Delete everything; other processes notice with their next request."""
        with self._lock:
            self._reset()
            if self._path is not None:
                remove_database(self._path)

    def _add(self, documents: Iterable[Document], check: Callable[[], None]) -> list[AddedDocument]:
        added = []
        with self._transaction("BEGIN IMMEDIATE") as db:
            for document in documents:
                replaced = _delete(db, document.doc_id, self.tokenizer)
                words = self.tokenizer.words(document.content)
                _insert(db, document.doc_id, document.content, document.metadata_json, words)
                added.append(
                    AddedDocument(document.doc_id, sum(map(self.tokenizer.is_token, words)), replaced)
                )
            self._measure(db)
            check()
        return added

    def _measure(self, db: Connection) -> None:
        self.memory_bytes = _used_bytes(db) if self._path is None else 0

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        with self._lock, _translated(self.name, self._path or Path()):
            db = self._opened()
            db.execute(begin)
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite.Error):  # SQLite may have rolled back by itself
                    db.execute("ROLLBACK")
                raise
            finally:
                self._measure(db)
            if sqlite.keeps_others_out(db):
                self._reset()

    def _opened(self) -> Connection:
        if self._path is not None:
            try:
                inode = self._path.stat().st_ino
            except FileNotFoundError:
                self._reset()
                raise UnknownIndexError(self.name) from None
            if self._db is None or self._inode != inode:
                self._reset()
                self._db, self._inode = sqlite.connect_reader(self._path), inode
                self._db.execute("PRAGMA synchronous = FULL")  # it also writes, where that can be done
        if self._db is None:
            raise UnknownIndexError(self.name)
        return self._db

    def _reset(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _used_bytes(db: Connection) -> int:
    names = ("page_size", "page_count", "freelist_count")
    size, pages, free = (int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in names)
    return size * (pages - free)


def _insert(db: Connection, doc_id: str, content: str, metadata: str, words: Sequence[str]) -> None:
    insert = "INSERT INTO documents (doc_id, content, metadata) VALUES (?, ?, ?)"
    number = db.execute(insert, (doc_id, content, metadata)).lastrowid
    places: dict[str, array[int]] = defaultdict(lambda: array("I"))
    for place, word in enumerate(words):
        places[word].append(place)
    rows = ((word, number, places[word].tobytes()) for word in sorted(places))
    db.executemany("INSERT INTO words VALUES (?, ?, ?)", rows)


def _delete(db: Connection, doc_id: str, tokenizer: Tokenizer) -> bool:
    row = db.execute("SELECT number, content FROM documents WHERE doc_id = ?", (doc_id,)).fetchone()
    if row is None:
        return False
    words = ((word, row[0]) for word in set(tokenizer.words(row[1])))
    db.executemany("DELETE FROM words WHERE word = ? AND document = ?", words)
    db.execute("DELETE FROM documents WHERE number = ?", row[:1])
    return True


def _migrate(db: Connection, tokenizer: Tokenizer) -> None:
    """Write the words of all documents of an older format again."""
    with sqlite.transaction(db):
        if version_of(db) >= FORMAT_VERSION:  # another process was first
            return
        db.execute("ALTER TABLE documents RENAME TO old")
        for table in (_DOCUMENTS, _WORDS):
            db.execute(table)
        for doc_id, content, metadata in db.execute("SELECT doc_id, content, metadata FROM old"):
            _insert(db, doc_id, content, metadata, tokenizer.words(content))
        for table in ("old", "terms", "removals"):
            db.execute(f"DROP TABLE {table}")
        db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


_SCORE_DECIMALS = 9
"""Sums of floats differ in their last bits with the order, which must not decide a tie."""


def _rank(db: Connection, query: ParsedQuery, k: int) -> tuple[list[tuple[int, str, float]], int]:
    """Return the best `k` documents with ids and scores, ties by id, and the number of all matches.

    A score is the sum of tf · (ln(N / (df + 1)) + 1) over the query's tokens. If words or phrases are
    required, having them is enough to match: short words score nothing.
    """
    total = int(db.execute("SELECT COUNT(*) FROM documents").fetchone()[0])
    sums: dict[int, float] = defaultdict(float)
    for token, times in sorted(Counter(query.scored).items()):
        counts = db.execute(
            "SELECT document, length(places) / 4 FROM words WHERE word = ?", (token,)
        ).fetchall()
        weight = times * (math.log(total / (len(counts) + 1)) + 1) if counts else 0.0
        for document, count in counts:
            sums[document] += count * weight
    scores = {document: round(score, _SCORE_DECIMALS) for document, score in sums.items()}
    if query.required:
        matching = set.intersection(*(_holding(db, phrase) for phrase in query.required))
    else:
        matching = {document for document, score in scores.items() if score > 0}
    matching = matching.difference(*(_holding(db, phrase) for phrase in query.must_not))
    best = sorted((scores.get(document, 0.0) for document in matching), reverse=True)[:k]
    # Only those that tie for the last places need their ids compared.
    near = [document for document in matching if best and scores.get(document, 0.0) >= best[-1]]
    rows = _documents(db, "number, doc_id", near)
    named = [(number, doc_id, scores.get(number, 0.0)) for number, doc_id in rows]
    return sorted(named, key=lambda found: (-found[2], found[1]))[:k], len(matching)


def _holding(db: Connection, phrase: Phrase) -> set[int]:
    """Return the documents that have the words of a phrase in a row."""
    select = "SELECT document, places FROM words WHERE word = ?"
    places = [dict(db.execute(select, (word,)).fetchall()) for word in phrase]
    holding = set.intersection(*map(set, places))
    if len(places) == 1:
        return holding

    def starts(document: int) -> Iterator[set[int]]:
        for position, held in enumerate(places):
            yield {place - position for place in array("I", held[document])}

    return {document for document in holding if set.intersection(*starts(document))}


def _documents(db: Connection, columns: str, numbers: Sequence[int]) -> list[Any]:
    """Return rows of documents: all of them, as the connection may be closed when they are looked at."""
    rows: list[Any] = []
    for first in range(0, len(numbers), MAX_PARAMETERS):
        part = numbers[first : first + MAX_PARAMETERS]
        marks = ",".join("?" * len(part))
        rows += db.execute(f"SELECT {columns} FROM documents WHERE number IN ({marks})", part)
    return rows


def name_in(path: Path) -> str | None:
    """Return the name of the index in a file; None if it is incomplete or unreadable."""
    try:
        with translated(path), contextlib.closing(sqlite.connect_reader(path)) as db:
            return str(db.execute("SELECT value FROM meta WHERE key = 'name'").fetchone()[0])
    except FindspotError as error:
        _log.warning("%s is not an index of documents: %s", path.name, error.developer_message)
        return None


def _translated(name: str, path: Path) -> contextlib.AbstractContextManager[None]:
    return translated(path, lambda detail: DamagedIndexError(name, detail))


DEFAULT_INDEX = "default"
BACKENDS = ("memory", "disk")
MAX_MEMORY_INDEXES = 1_000

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FILES = "docs-*.sqlite"


class NamedIndexes:
    """Every named index that this process can reach. Safe to use from several threads."""

    def __init__(self, folder: Path, max_memory_bytes: int) -> None:
        self._folder = folder
        self._max_memory_bytes = max_memory_bytes
        self._guard = threading.Lock()
        self._memory = {DEFAULT_INDEX: DocumentIndex.in_memory(DEFAULT_INDEX, Tokenizer())}
        self._disk: dict[str, DocumentIndex] = {}

    def create(
        self, name: str, backend: str = "memory", tokenizer_config: Mapping[str, Any] | None = None
    ) -> IndexInfo:
        """Create an index; its name must be new."""
        if not _NAME.fullmatch(name):
            raise InvalidArgumentError(
                f"Invalid index name: {name}. Use 1 to 64 letters, digits, hyphens and underscores."
            )
        if backend not in BACKENDS:
            raise InvalidArgumentError(f"Unknown backend: {backend}")
        tokenizer = Tokenizer.from_config(tokenizer_config)
        with self._guard:
            if name in self._memory or self._on_disk(name):
                raise InvalidArgumentError(f"Index already exists: {name}")
            if backend == "disk":
                make_private_dir(self._folder)
                self._disk[name] = DocumentIndex.create(name, self._file(name), tokenizer)
                return self._disk[name].info()
            if len(self._memory) >= MAX_MEMORY_INDEXES:
                raise InvalidArgumentError(f"There are {MAX_MEMORY_INDEXES:,} indexes in memory already")
            self._memory[name] = DocumentIndex.in_memory(name, tokenizer)
            return self._memory[name].info()

    def add(self, documents: Iterable[Document], index_name: str = DEFAULT_INDEX) -> list[AddedDocument]:
        """Add or replace documents."""
        index = self._find(index_name)
        return index.add(documents, self._check_memory if index.backend == "memory" else lambda: None)

    def search(self, query: str, k: int = 10, index_name: str = DEFAULT_INDEX) -> SearchAnswer:
        """Return the best documents of an index for a query."""
        return self._find(index_name).search(query, k)

    def remove(self, doc_id: str, index_name: str = DEFAULT_INDEX) -> bool:
        """Remove a document; return False if the index does not have it."""
        return self._find(index_name).remove(doc_id)

    def drop(self, name: str) -> None:
        """Delete an index with all its documents; the default one is emptied."""
        index = self._find(name)
        with self._guard:
            self._disk.pop(name, None)
            self._memory.pop(name, None)
            index.drop()
            if name == DEFAULT_INDEX:
                self._memory[name] = DocumentIndex.in_memory(name, Tokenizer())

    def info(self, name: str) -> IndexInfo:
        """Return the figures of one index."""
        return self._find(name).info()

    def listing(self) -> list[IndexInfo]:
        """Return all indexes, by name."""
        with self._guard:
            names = [name for path in self._folder.glob(_FILES) if (name := name_in(path)) is not None]
            on_disk = [index for name in names if (index := self._on_disk(name)) is not None]
            indexes = [*self._memory.values(), *on_disk]
        return sorted((index.info() for index in indexes), key=lambda info: info.name)

    def close(self) -> None:
        """Close every index that is open."""
        with self._guard:
            for index in self._disk.values():
                index.close()
            self._disk.clear()

    def _find(self, name: str) -> DocumentIndex:
        with self._guard:
            index = self._memory.get(name) or (self._on_disk(name) if _NAME.fullmatch(name) else None)
        if index is None:
            raise UnknownIndexError(name, [info.name for info in self.listing()])
        return index

    def _on_disk(self, name: str) -> DocumentIndex | None:
        """Return the index of that name on disk, whichever process created it."""
        if not self._file(name).is_file():
            self._disk.pop(name, None)
            return None
        if name not in self._disk:
            try:
                self._disk[name] = DocumentIndex.open(name, self._file(name))
            except UnknownIndexError:  # only begun
                return None
        return self._disk[name]

    def _file(self, name: str) -> Path:
        """Return a file name with a hash: some file systems do not tell `Docs` from `docs`."""
        mark = "" if name == name.lower() else "." + hashlib.sha256(name.encode()).hexdigest()[:8]
        return self._folder / f"docs-{name.lower()}{mark}.sqlite"

    def _check_memory(self) -> None:
        held = sum(index.memory_bytes for index in list(self._memory.values()))
        if held > self._max_memory_bytes:
            raise InvalidArgumentError(
                f"Memory limit reached: all indexes in memory may take {self._max_memory_bytes >> 20} MB "
                "together. Use the backend 'disk', or set documents.maxMemory."
            )
