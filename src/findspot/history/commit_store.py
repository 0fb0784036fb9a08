"""The commits of a repository in one database: their words, their vectors, and what they changed."""

from __future__ import annotations

import contextlib
import math
import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from findspot.core import sqlite
from findspot.core.paths import stat_of
from findspot.embed.chunk_vectors import quantise
from findspot.embed.embedder import Embedder, EmbedMode
from findspot.history.commit_log import MOST_COMMITS, Change, Commit
from findspot.store.vector_segments import Segment, nearest_in, scores_in
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
        CREATE INDEX changes_of_path ON changes (path_id);
        CREATE VIRTUAL TABLE words USING fts5({_COLUMNS}, content='',
            tokenize="unicode61 remove_diacritics 0 tokenchars '_'");
        CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"""
}
"""Rows of `words` that belong to no commit any more stay behind: nothing is found by them."""

WEIGHTS = (2.0, 1.5, 1.0, 1.0, 1.0, 2.0)
"""Of the columns of `words`, chosen with 60 questions about six projects: what changed says as much as the
message."""

_MOST_FOUND = 200
_COMMON = 0.3
"""Of all commits: words in more than that say little beside rarer ones, and cost the most time."""
_SATURATION = 2.2
"""What a word counts at most beside its rarity, in SQLite's BM25."""
_FITS_FROM = 0.15
"""The share of a topic's words below which no commit is about it."""
_FEW_COMMITS = 200
"""Among so few no word is rare: one that is found fits."""
_EXPLAINED_CHARS = 200
"""A message of so many characters explains its change; a longer one explains it no better."""

_WORDS, _MEANING, _EXPLAINS, _REMOVES = 19.1, 10.0, 0.48, 3.6
_STEEPNESS, _MIDDLE = 0.255, 19.3
"""Of the model that ranks commits, fitted on 100 questions about ten projects, and of the chance that one of
its first five is right. With each project left out in turn, the right commit is among five for 0.69."""

_ENDS = re.compile(
    r"\b(?:remov|dropp?(?!down)|delet|disappear|abandon|discontinu|vanish|withdr[ae]w|ceas|eliminat|reject"
    r"|retir|gone\b|go(?:es)? away|went away|no longer|any ?more|used to|stop|got rid|los[et]"
    r"|taken (?:back )?out|phased out)",
    re.IGNORECASE,
)
"""A question for the end of something."""
_REMOVAL = re.compile(
    r"\b(?:remov|dropp?(?!down)|delet|get rid|kill|no longer|deprecat|unneeded|unused|revert|replac|strip)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Loaded:
    """What is kept of all commits, one row for each."""

    stamp: str
    vectors: Segment
    """Of the messages, by the numbers of commits, the newest first."""
    explains: NDArray[np.float32]
    """How much each message explains."""
    subjects: Sequence[str]

    @classmethod
    def of(cls, stamp: str, rows: Sequence[tuple[int, bytes, int, str]]) -> Loaded:
        whole = np.frombuffer(b"".join(row[1] for row in rows), np.int8)
        vectors = whole.reshape(len(rows), -1) if rows else np.empty((0, 0), np.int8)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float32))
        segment = Segment(np.array([row[0] for row in rows], np.int64), 1 / np.maximum(lengths, 1), vectors)
        explained = np.minimum(np.array([row[2] for row in rows], np.float32), _EXPLAINED_CHARS)
        return cls(stamp, segment, np.log1p(explained), [row[3] for row in rows])

    @cached_property
    def rows(self) -> dict[int, int]:
        return {number: row for row, number in enumerate(self.vectors.numbers.tolist())}

    @cached_property
    def removes(self) -> NDArray[np.bool_]:
        """Whether each subject speaks of removing something."""
        return np.array([_REMOVAL.search(subject) is not None for subject in self.subjects], np.bool_)


class CommitStore:
    """The commits of one repository. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / FILE_NAME
        self._files = self._path, folder / f"{FILE_NAME}-wal"
        self._guard = threading.Lock()
        self._kept: Loaded | None = None
        self._lent = threading.RLock()
        self._open: tuple[sqlite.Connection, int] | None = None
        """The connection that is kept, and the number of the file that it reads."""
        self._seen = ""
        """The stamp of the database when it was last found to have its tables."""

    @property
    def exists(self) -> bool:
        """Whether there is a database, with its tables."""
        stamp = self._stamp()
        if stamp != self._seen and self._path.exists():
            with self._reading() as db:
                self._seen = stamp if sqlite.version_of(db) > 0 else ""
        return stamp == self._seen

    def remove(self) -> None:
        self.close()
        sqlite.remove_database(self._path)

    def close(self) -> None:
        with self._lent:
            if self._open is not None:
                self._open[0].close()
                self._open = None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite.Connection]:
        """Lend the connection that is kept, to one reader at a time: a new one would read all pages again."""
        with sqlite.translated(self._path), self._lent:
            info = stat_of(self._path)
            if self._open is None or info is None or self._open[1] != info.st_ino:
                self.close()
                self._open = sqlite.connect_reader(self._path), info.st_ino if info else 0
            db = self._open[0]
            with contextlib.ExitStack() as unless_whole:
                unless_whole.callback(self.close)
                yield db
                if not sqlite.keeps_others_out(db):
                    unless_whole.pop_all()

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
            row = db.execute("SELECT value FROM meta WHERE name = 'complete'").fetchone()
        return str(row[0]) if row else ""

    def knows_path(self, path: str) -> bool:
        """Return whether any commit changed a file of that name."""
        with self._reading() as db:
            return db.execute("SELECT 1 FROM paths WHERE path = ?", (path,)).fetchone() is not None

    def ranked(self, question: str, topic: str, embedder: Embedder) -> list[tuple[int, float]]:
        """Return the commits that answer a question, best first, with the chance that each is right.

        `topic` is the question without the words that ask. None fits where none has enough of its words.
        """
        loaded, words = self._loaded(), self._by_words(topic)
        fits_from = _FITS_FROM if len(loaded.vectors.numbers) > _FEW_COMMITS else 0.0
        if not words or max(words.values()) < fits_from:
            return []
        shares = np.zeros(len(loaded.vectors.numbers), np.float32)
        shares[[loaded.rows[number] for number in words]] = list(words.values())
        asked = quantise(embedder.embed([question], EmbedMode.QUERY))
        cosines = asked.scales[0] * scores_in(loaded.vectors, asked.values[0], np.arange(len(shares)))
        scores = _WORDS * shares + _MEANING * cosines + _EXPLAINS * loaded.explains
        if _ENDS.search(question):
            scores += _REMOVES * loaded.removes
        best = np.argsort(-scores, kind="stable")[:_MOST_FOUND]
        chances = 1 / (1 + np.exp(-_STEEPNESS * (scores[best] - _MIDDLE)))
        return list(zip(loaded.vectors.numbers[best].tolist(), chances.tolist(), strict=True))

    def _by_words(self, topic: str) -> dict[int, float]:
        """Return the commits that hold words of a topic, with their share of the best possible score."""
        words = [word for word in dict.fromkeys(tokens(topic)) if word not in STOP_WORDS]
        found, everything = self._counted(words)
        rare = [word for word, count in found.items() if 0 < count <= _COMMON * everything]
        asked = rare if len(rare) > 1 else [word for word, count in found.items() if count]
        most = _SATURATION * sum(rarity(count, everything) for count in found.values())
        scored = self._scored(asked) if asked else ()
        return dict(islice(((number, score / most) for number, score in scored), _MOST_FOUND))

    def _counted(self, words: Sequence[str]) -> tuple[dict[str, int], int]:
        """Return how many rows of words hold each word, and how many rows there are."""
        count = "SELECT COUNT(*) FROM words"
        with self._reading() as db:
            found = {word: db.execute(f"{count} WHERE words MATCH ?", (_quoted(word),)) for word in words}
            counted = {word: int(rows.fetchone()[0]) for word, rows in found.items()}
            return counted, int(db.execute(count).fetchone()[0])

    def _scored(self, words: Sequence[str]) -> list[tuple[int, float]]:
        """Return the commits that hold any of some words, best first, with their BM25."""
        here = set(self._loaded().vectors.numbers.tolist())
        weights = ", ".join(map(str, WEIGHTS))
        select = f"SELECT rowid, -bm25(words, {weights}) AS score FROM words WHERE words MATCH ?"
        with self._reading() as db:
            rows = db.execute(f"{select} ORDER BY score DESC", (" OR ".join(map(_quoted, words)),))
            return [row for row in rows if row[0] in here]

    def by_meaning(self, vector: NDArray[np.int8], scale: float, most: int) -> list[tuple[int, float, int]]:
        """Return the commits whose messages are nearest to a vector, best first.

        Each is a number, its cosine, and how many commits are newer.
        """
        loaded = self._loaded()
        if not loaded.vectors.numbers.size:
            return []
        numbers, scores = nearest_in(loaded.vectors, vector, np.arange(len(loaded.vectors.numbers)), most)
        best = np.argsort(-scores, kind="stable")[:most]
        pairs = zip(numbers[best].tolist(), (scale * scores[best]).tolist(), strict=True)
        return [(number, cosine, loaded.rows[number]) for number, cosine in pairs]

    def _loaded(self) -> Loaded:
        with self._guard:
            stamp = self._stamp()
            if self._kept is None or self._kept.stamp != stamp:
                read = "SELECT id, vector, length(body), subject FROM commits ORDER BY time DESC, hash"
                with self._reading() as db:
                    self._kept = Loaded.of(stamp, db.execute(read).fetchall())
            return self._kept

    def _stamp(self) -> str:
        """Return a text that changes when the database does; a reader may leave an empty log beside it."""
        files = map(stat_of, self._files)
        return str([(info.st_ino, info.st_mtime_ns, info.st_size) for info in files if info and info.st_size])

    def commits(self, numbers: Sequence[int]) -> dict[int, Commit]:
        among = f"IN ({','.join('?' * len(numbers))})"
        columns = "id, hash, time, author, subject, body, removed"
        with self._reading() as db:
            rows = db.execute(f"SELECT {columns} FROM commits WHERE id {among}", tuple(numbers)).fetchall()
        changed = self.changes(numbers)
        return {
            number: Commit(name, time, author, subject, body, removed.split(), changed.get(number, []))
            for number, name, time, author, subject, body, removed in rows
        }

    def last_change(self, path: str, name: str) -> Commit | None:
        """Return the newest commit that changed a definition of a file."""
        changed = "paths JOIN changes ON path_id = paths.id JOIN commits ON commits.id = commit_id"
        named = "path = ? AND instr(' ' || names || ' ', ?)"
        newest = f"SELECT hash, time, author, subject FROM {changed} WHERE {named} ORDER BY time DESC LIMIT 1"
        with self._reading() as db:
            commit = db.execute(newest, (path, f" {name} ")).fetchone()
        return Commit(*commit) if commit else None

    def changes(self, numbers: Sequence[int]) -> dict[int, list[Change]]:
        among = f"IN ({','.join('?' * len(numbers))})"
        select = "SELECT commit_id, path, names FROM changes JOIN paths ON paths.id = path_id"
        found: dict[int, list[Change]] = defaultdict(list)
        with self._reading() as db:
            for number, path, names in db.execute(f"{select} WHERE commit_id {among}", tuple(numbers)):
                found[number].append(Change(path, names.split()))
        return found


def rarity(count: int, everything: int) -> float:
    """Return what a word counts by its rarity, as in SQLite's BM25."""
    return max(math.log((everything - count + 0.5) / (count + 0.5)), 1e-6)


def _quoted(word: str) -> str:
    return '"' + word.replace('"', "") + '"'


def described(
    commits: Sequence[Commit], embedder: Embedder
) -> Iterator[tuple[Commit, bytes, list[list[str]]]]:
    """Yield commits with the vectors of their messages, and their words by column."""
    messages = [f"{commit.subject}\n{commit.body}" for commit in commits]
    vectors = quantise(embedder.embed(messages, EmbedMode.PASSAGE)).values
    for commit, vector in zip(commits, vectors, strict=True):
        names = " ".join(name for file in commit.changes for name in file.names)
        paths, removed = " ".join(file.path for file in commit.changes), " ".join(commit.removed)
        texts = (commit.subject, commit.body, names, removed, paths, " ".join(commit.words))
        yield commit, vector.tobytes(), [list(tokens(text)) for text in texts]


class CommitWriter:
    def __init__(self, db: sqlite.Connection) -> None:
        self._db = db

    def known(self) -> set[str]:
        return {row[0] for row in self._db.execute("SELECT hash FROM commits")}

    def finish(self, head: str, wanted: set[str]) -> bool:
        """Remove all but these commits, which HEAD reaches; returns whether little is left of others."""
        gone = [(name,) for name in self.known() - wanted]
        own = "commit_id = (SELECT id FROM commits WHERE hash = ?)"
        with sqlite.transaction(self._db) as db:
            db.executemany(f"DELETE FROM changes WHERE {own}", gone)
            db.executemany("DELETE FROM commits WHERE hash = ?", gone)
            last = db.execute("SELECT MAX(seq) FROM sqlite_sequence").fetchone()[0] or 0
            db.execute("INSERT OR REPLACE INTO meta VALUES ('complete', ?)", (head,))
        return int(last) - len(wanted) <= MOST_COMMITS

    def add(self, commits: Sequence[Commit], embedder: Embedder) -> None:
        """Add commits, all of them or none."""
        rows = list(described(commits, embedder))
        columns = "hash, time, author, subject, body, removed, vector"
        insert = f"INSERT OR IGNORE INTO commits ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        of_change = "INSERT OR IGNORE INTO changes SELECT ?, id, ? FROM paths WHERE path = ?"
        with sqlite.transaction(self._db) as db:
            for commit, vector, words in rows:
                about = commit.hash, commit.time, commit.author, commit.subject, commit.body
                added = db.execute(insert, (*about, " ".join(commit.removed), vector))
                if added.rowcount:
                    number, paths = added.lastrowid, [(change.path,) for change in commit.changes]
                    row = number, *map(" ".join, words)
                    db.execute(f"INSERT INTO words (rowid, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                    db.executemany("INSERT OR IGNORE INTO paths (path) VALUES (?)", paths)
                    changes = [(number, " ".join(each.names), each.path) for each in commit.changes]
                    db.executemany(of_change, changes)
