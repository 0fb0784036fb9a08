"""The commits of a published index: as rows, and as a reader without the repository finds them."""

from __future__ import annotations

import json
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.git import current_commit
from findspot.embed.embedder import Embedder
from findspot.embed.provider_registry import IN_THE_BOX, open_embedder
from findspot.history.commit_log import Change, Commit, commit_ids, read_commits
from findspot.history.commit_store import WEIGHTS, CommitStore, Loaded, described, rarity
from findspot.history.project_history import DEFAULT_LIMIT, Commits, FoundCommit, ProjectHistory
from findspot.publishing.published_store import PublishedStore
from findspot.store.lance.lance_format import COMMITS_TABLE
from findspot.store.lance.lance_snapshot import Cache, VersionRows
from findspot.text.bm25 import K1, B

_BATCH = 2_000
_ROW_BYTES = 4 << 20
"""Of commits that are kept as they were read."""
_NUMBER_DIGITS = 12
_WORD = np.dtype([("word", "<u4"), ("weight", "<u2")])
"""A word by its hash, and twice what its occurrences weigh in the columns that hold it."""

_NONE = "No commits are published with this version: `findspot publish` in a git checkout adds them."
_OF_FILE = "The repository is not here: these are the commits that changed the file, not its lines alone."


def commits_to_publish(root: Path) -> dict[int, str]:
    """Return the commits that HEAD reaches by the numbers that the table has for them."""
    ids = commit_ids(root) if current_commit(root) else []
    return {int(name[:_NUMBER_DIGITS], 16): name for name in ids}


def commit_batches(root: Path, commits: dict[int, str]) -> Iterator[list[tuple[Any, ...]]]:
    numbered = list(commits.items())
    for at in range(0, len(numbered), _BATCH):
        part = {name: number for number, name in numbered[at : at + _BATCH]}
        rows = described(read_commits(root, list(part)), open_embedder(IN_THE_BOX))
        yield [_row(part[row[0].hash], *row) for row in rows]


def _row(number: int, commit: Commit, vector: bytes, columns: list[list[str]]) -> tuple[Any, ...]:
    weights: Counter[int] = Counter()
    for words, weight in zip(columns, WEIGHTS, strict=True):
        for word in words:
            weights[zlib.crc32(word.encode())] += int(2 * weight)
    counted = np.array([(word, min(weight, 0xFFFF)) for word, weight in weights.items()], _WORD)
    changes = json.dumps([[change.path, change.names] for change in commit.changes])
    return (
        number, commit.hash, commit.time, commit.author, commit.subject, commit.body,
        " ".join(commit.removed), changes, vector, len(commit.body), counted.tobytes(),
        sum(map(len, columns)),
    )  # fmt: skip


class PublishedCommits(CommitStore):
    """The commits of one version; vectors and words of all are read when they are first asked for."""

    def __init__(self, rows: VersionRows) -> None:
        self._rows = rows
        self._guard = threading.Lock()
        self._read = Cache(_ROW_BYTES, lambda row: 300 + sum(map(len, row[3:8])))

    @cached_property
    def exists(self) -> bool:
        return bool(self._rows.table(COMMITS_TABLE).count_rows())

    def knows_path(self, path: str) -> bool:
        return bool(self.of_path(path))

    def of_path(self, path: str) -> list[int]:
        """Return the commits that changed a file, or one in a folder."""
        begun, rows = "[" + json.dumps(path)[:-1], self._rows.all(COMMITS_TABLE, ("number", "changes"))
        likely = ((number, _changes(changes)) for number, changes in rows if begun in changes)
        return [n for n, changes in likely if any(f"{c.path}/".startswith(f"{path}/") for c in changes)]

    def commits(self, numbers: Sequence[int]) -> dict[int, Commit]:
        return {
            number: Commit(name, time, author, subject, body, removed.split(), _changes(changes))
            for number, name, time, author, subject, body, removed, changes in self._found(numbers)
        }

    def last_change(self, path: str, name: str) -> Commit | None:
        """Return None: all rows would have to be read for one line of an answer."""

    def changes(self, numbers: Sequence[int]) -> dict[int, list[Change]]:
        return {row[0]: _changes(row[-1]) for row in self._found(numbers)}

    def _found(self, numbers: Sequence[int]) -> list[tuple[Any, ...]]:
        held = {number: self._read.get(number) for number in numbers}
        if missing := ", ".join(str(number) for number, row in held.items() if row is None):
            fields = ("number", "hash", "time", "author", "subject", "body", "removed", "changes")
            for row in self._rows.all(COMMITS_TABLE, fields, f"number IN ({missing})"):
                held[row[0]] = row
                self._read.put(row[0], row)
        return [row for row in held.values() if row is not None]

    def _loaded(self) -> Loaded:
        with self._guard:
            return self._all

    @cached_property
    def _all(self) -> Loaded:
        return Loaded.of("", self._ordered("number", "vector", "explained", "subject"))

    def _ordered(self, *fields: str) -> list[Any]:
        """Return some fields of all commits, the newest first, as a checkout has them."""
        rows = list(self._rows.all(COMMITS_TABLE, ("time", "hash", *fields)))
        return [row[2:] for row in sorted(rows, key=lambda row: (-row[0], row[1]))]

    @cached_property
    def _words(self) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.float64]]:
        """The words of all commits, where those of each end, and its length beside the average."""
        rows = self._ordered("words", "length")
        ends = np.cumsum([len(words) // _WORD.itemsize for words, _ in rows], dtype=np.int64)
        lengths = np.array([length for _, length in rows], np.float64)
        return np.frombuffer(b"".join(row[0] for row in rows), _WORD), ends, lengths / (lengths.mean() or 1)

    def _holding(self, word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the commits that hold a word, as rows, and what it weighs in each."""
        with self._guard:
            words, ends, _ = self._words
        found = np.flatnonzero(words["word"] == zlib.crc32(word.encode()))
        return np.searchsorted(ends, found, "right"), words["weight"][found] / 2

    def _counted(self, words: Sequence[str]) -> tuple[dict[str, int], int]:
        return {word: self._holding(word)[0].size for word in words}, len(self._loaded().vectors.numbers)

    def _scored(self, words: Sequence[str]) -> list[tuple[int, float]]:
        numbers = self._loaded().vectors.numbers
        scores = np.zeros(len(numbers))
        for word in words:
            rows, weights = self._holding(word)
            length = 1 - B + B * self._words[2][rows]
            share = weights * (K1 + 1) / (weights + K1 * length)
            scores[rows] += rarity(len(rows), len(numbers)) * share
        best = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
        return list(zip(numbers[best].tolist(), scores[best].tolist(), strict=True))


def _changes(written: str) -> list[Change]:
    return [Change(path, names) for path, names in json.loads(written)]


class PublishedHistory(ProjectHistory):
    """The commits of the version that answers: there is nothing to keep current."""

    def __init__(self, store: PublishedStore, open_model: Callable[[], Embedder]) -> None:
        super().__init__(store.folder, store.folder, open_model)
        self._published = store
        self._opened: tuple[VersionRows, PublishedCommits] | None = None

    @property
    def commits(self) -> PublishedCommits | None:
        rows = self._published.current().rows
        if self._opened is None or self._opened[0] is not rows:
            self._opened = rows, PublishedCommits(rows)
        return self._opened[1] if self._opened[1].exists else None

    def update_soon(self) -> None:
        """Do nothing: the next version has the next commits."""

    def _current(self) -> tuple[CommitStore | None, str | None]:
        commits = self.commits
        return commits, f"{self._published.notice} {'' if commits else _NONE}".strip()

    def of_lines(self, path: str, lines: tuple[int, int] | None, limit: int = DEFAULT_LIMIT) -> Commits:
        """Return the commits that changed a file, the newest first: lines cannot be followed without git."""
        commits, warning = self.commits, self._current()[1]
        found: Iterable[Commit] = commits.commits(commits.of_path(path)).values() if commits else ()
        newest = sorted(found, key=lambda commit: -commit.time)[:limit]
        note = f"{warning} {_OF_FILE if lines and commits else ''}".strip()
        return Commits(path, tuple(map(FoundCommit, newest)), warning=note, is_of_place=True)
