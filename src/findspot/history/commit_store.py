"""The commits of a repository in one database: their words, their vectors, and what they changed."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from findspot.core import sqlite
from findspot.embed.chunk_vectors import quantise
from findspot.embed.embedder import Embedder, EmbedMode
from findspot.history.commit_log import Change, Commit
from findspot.text.tokens import STOP_WORDS, tokens

FILE_NAME = "history.sqlite"

_COLUMNS = "subject, body, names, removed, paths, lines"
_TABLES = {
    0: f"""CREATE TABLE commits (id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT UNIQUE NOT NULL,
            time INTEGER NOT NULL, author TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL,
            removed TEXT NOT NULL, vector BLOB NOT NULL);
        CREATE TABLE paths (id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL);
        CREATE TABLE changes (commit_id INTEGER NOT NULL, path_id INTEGER NOT NULL, names TEXT NOT NULL,
            PRIMARY KEY (commit_id, path_id)) WITHOUT ROWID;
        CREATE VIRTUAL TABLE words USING fts5({_COLUMNS}, content='',
            tokenize="unicode61 remove_diacritics 0 tokenchars '_'");
        CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"""
}
"""Rows of `words` that belong to no commit any more stay behind: nothing is found by them."""

_WEIGHTS = "2.0, 1.5, 1.0, 1.0, 1.0, 2.0"
"""Of the columns of `words`, chosen with 60 questions about six projects: what changed says as much as the
message."""

_COMPLETE = "complete"
"""The commit up to which all commits are stored."""
MOST_FOUND = 200


class CommitStore:
    """The commits of one repository. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / FILE_NAME
        self._guard = threading.Lock()
        self._vectors: tuple[str, NDArray[np.int64], NDArray[np.float32]] | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a database, with its tables."""
        if not self._path.exists():
            return False
        with self._reading() as db:
            return sqlite.version_of(db) > 0

    def remove(self) -> None:
        """Remove the database, to begin again."""
        sqlite.remove_database(self._path)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite.Connection]:
        with sqlite.translated(self._path), contextlib.closing(sqlite.connect_reader(self._path)) as db:
            yield db

    @contextlib.contextmanager
    def writing(self) -> Iterator[CommitWriter]:
        """Open the database to add and remove commits; it is made if need be."""
        with (
            sqlite.translated(self._path),
            contextlib.closing(sqlite.connect_logged(self._path, synchronous="NORMAL")) as db,
        ):
            sqlite.migrate(db, _TABLES)
            yield CommitWriter(db)
            sqlite.shrink_log(db)

    def complete_at(self) -> str:
        """Return the commit of HEAD when all commits were stored; empty if that never was so."""
        if not self.exists:
            return ""
        with self._reading() as db:
            row = db.execute("SELECT value FROM meta WHERE name = ?", (_COMPLETE,)).fetchone()
        return str(row[0]) if row else ""

    def by_words(self, question: str) -> dict[int, float]:
        """Return the commits that hold words of a question, with their scores."""
        asked = [word for word in dict.fromkeys(tokens(question)) if word not in STOP_WORDS]
        wanted = " OR ".join('"' + word.replace('"', "") + '"' for word in asked)
        if not wanted:
            return {}
        here = set(self._loaded()[0].tolist())
        with self._reading() as db:
            rows = db.execute(
                f"SELECT rowid, -bm25(words, {_WEIGHTS}) AS score FROM words "
                "WHERE words MATCH ? ORDER BY score DESC",
                (wanted,),
            )
            return dict(islice(((number, score) for number, score in rows if number in here), MOST_FOUND))

    def by_meaning(self, vector: NDArray[np.float32], most: int = MOST_FOUND) -> dict[int, float]:
        """Return the commits whose messages are nearest to a vector, best first, with their cosines."""
        numbers, rows = self._loaded()
        if not numbers.size:
            return {}
        cosines = rows @ vector
        best = np.argsort(-cosines)[:most]
        return dict(zip(numbers[best].tolist(), cosines[best].tolist(), strict=True))

    def _loaded(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        with self._guard, self._reading() as db:
            stamp = str(db.execute("SELECT COUNT(*), MAX(id) FROM commits").fetchone())
            if self._vectors is None or self._vectors[0] != stamp:
                rows = db.execute("SELECT id, vector FROM commits").fetchall()
                numbers = np.array([number for number, _ in rows], np.int64)
                whole = np.frombuffer(b"".join(vector for _, vector in rows), np.int8)
                vectors = (
                    whole.reshape(len(rows), -1).astype(np.float32) if rows else np.empty((0, 0), np.float32)
                )
                lengths = np.linalg.norm(vectors, axis=1, keepdims=True) if rows else 1
                self._vectors = stamp, numbers, vectors / np.maximum(lengths, 1)
            return self._vectors[1], self._vectors[2]

    def commits(self, numbers: Sequence[int]) -> dict[int, Commit]:
        """Return commits by their numbers."""
        among = f"IN ({','.join('?' * len(numbers))})"
        columns = "id, hash, time, author, subject, body, removed"
        with self._reading() as db:
            rows = db.execute(f"SELECT {columns} FROM commits WHERE id {among}", tuple(numbers)).fetchall()
        changed = self.changes(numbers)
        return {
            number: Commit(name, time, author, subject, body, removed.split(), changed.get(number, []))
            for number, name, time, author, subject, body, removed in rows
        }

    def changes(self, numbers: Sequence[int]) -> dict[int, list[Change]]:
        """Return what each of these commits changed."""
        among = f"IN ({','.join('?' * len(numbers))})"
        select = "SELECT commit_id, path, names FROM changes JOIN paths ON paths.id = path_id"
        found: dict[int, list[Change]] = defaultdict(list)
        with self._reading() as db:
            for number, path, names in db.execute(f"{select} WHERE commit_id {among}", tuple(numbers)):
                found[number].append(Change(path, names.split()))
        return found


class CommitWriter:
    """Adds and removes commits."""

    def __init__(self, db: sqlite.Connection) -> None:
        self._db = db

    def known(self) -> set[str]:
        return {row[0] for row in self._db.execute("SELECT hash FROM commits")}

    def left_behind(self) -> int:
        """Return how many rows of words belong to no commit any more."""
        last = self._db.execute("SELECT MAX(seq) FROM sqlite_sequence").fetchone()[0] or 0
        return int(last) - len(self.known())

    def remove(self, hashes: Iterable[str]) -> None:
        """Remove commits that HEAD no longer reaches."""
        with sqlite.transaction(self._db) as db:
            for name in hashes:
                db.execute(
                    "DELETE FROM changes WHERE commit_id = (SELECT id FROM commits WHERE hash = ?)", (name,)
                )
                db.execute("DELETE FROM commits WHERE hash = ?", (name,))

    def add(self, commits: Sequence[Commit], embedder: Embedder) -> None:
        """Add commits, all of them or none."""
        messages = [f"{commit.subject}\n{commit.body}" for commit in commits]
        vectors = quantise(embedder.embed(messages, EmbedMode.PASSAGE)).values
        with sqlite.transaction(self._db) as db:
            for commit, vector in zip(commits, vectors, strict=True):
                self._add(db, commit, vector.tobytes())

    def _add(self, db: sqlite.Connection, commit: Commit, vector: bytes) -> None:
        removed = " ".join(commit.removed)
        values = commit.hash, commit.time, commit.author, commit.subject, commit.body, removed, vector
        columns = "hash, time, author, subject, body, removed, vector"
        added = db.execute(f"INSERT OR IGNORE INTO commits ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        if not added.rowcount:
            return
        names = " ".join(name for file in commit.changes for name in file.names)
        paths = " ".join(file.path for file in commit.changes)
        texts = (commit.subject, commit.body, names, removed, paths, " ".join(commit.words))
        row = (added.lastrowid, *(" ".join(tokens(text)) for text in texts))
        db.execute(f"INSERT INTO words (rowid, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for file in commit.changes:
            db.execute("INSERT OR IGNORE INTO paths (path) VALUES (?)", (file.path,))
            db.execute(
                "INSERT OR IGNORE INTO changes SELECT ?, id, ? FROM paths WHERE path = ?",
                (added.lastrowid, " ".join(file.names), file.path),
            )

    def note_complete(self, head: str) -> None:
        with sqlite.transaction(self._db) as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_COMPLETE, head))
