"""The candidates of a query as columns of numbers: fused, scored and ranked together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from findspot.rank.signals import COHERENCE, SAME_FILE_DECAY

Column = NDArray[np.float64]
"""One value per candidate; not a number where there is none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may become an answer, with all that speaks for it."""

    number: int
    file_id: int
    path: str
    keyword: float = 0.0
    semantic: float = 0.0
    fused: float = 0.0
    defines: float = 0.0
    stem: float = 0.0
    path_match: float = 0.0
    mention: float = 0.0
    coherence: float = 0.0
    role: float = 1.0
    repeat: float = 1.0
    words: float = float("nan")
    """The score of keyword search."""
    cosine: float = float("nan")
    chance: float | None = None
    """How likely it is right, where a fitted model ranks."""
    learned: dict[str, float] = field(default_factory=dict)
    """What each signal of a fitted model added, where one ranks and an explanation is wanted."""

    @property
    def score(self) -> float:
        gathered = self.fused + self.defines + self.stem + self.path_match + self.mention + self.coherence
        return gathered * self.role * self.repeat

    def why(self) -> dict[str, float]:
        """Return the signals that had a say, rounded for people."""
        if self.learned:
            return self.learned | ({"sameFileFactor": self.repeat} if self.repeat < 1 else {})
        signals = {
            "keyword": self.keyword,
            "semantic": self.semantic,
            "fused": self.fused,
            "definition": self.defines,
            "fileName": self.stem,
            "path": self.path_match,
            "mentioned": self.mention,
            "coherence": self.coherence,
            "roleFactor": self.role,
            "sameFileFactor": self.repeat,
        }
        return {name: round(value, 4) for name, value in signals.items() if value}


_SIGNALS = (
    "keyword", "semantic", "fused", "defines", "stem", "path_match", "mention", "coherence", "role", "repeat",
    "words", "cosine",
)  # fmt: skip
"""The columns of a pool, in the order of a candidate's fields."""


class PoolFile(NamedTuple):
    """A file with candidates, and the rows of a pool that they take."""

    id: int
    path: str
    start: int
    stop: int


class Pool:
    """All candidates of a query: one row per chunk, those of a file together, and one column per signal."""

    def __init__(
        self, numbers: NDArray[np.int64], file_ids: NDArray[np.int64], paths: Mapping[int, str]
    ) -> None:
        """Take the chunks in the order of their numbers, with their files."""
        size = numbers.size
        self.numbers = numbers
        edges = [0, *(np.flatnonzero(np.diff(file_ids)) + 1).tolist(), size] if size else []
        ids = file_ids[edges[:-1]].tolist()
        self.files = [
            PoolFile(number, paths[number], start, stop)
            for number, (start, stop) in zip(ids, pairwise(edges), strict=True)
        ]
        """Each file once."""
        self.keyword, self.semantic, self.fused = np.zeros((3, size))
        self.defines, self.stem, self.path_match, self.mention, self.coherence = np.zeros((5, size))
        self.role, self.repeat = np.ones((2, size))
        self.words, self.cosine = np.full((2, size), np.nan)
        self.chances: Sequence[float] = ()
        self.learned: Mapping[int, dict[str, float]] = {}
        """By number."""

    @classmethod
    def of(cls, candidates: Iterable[Candidate]) -> Pool:
        """Return a pool of candidates whose signals are known."""
        rows = sorted(candidates, key=lambda candidate: (candidate.file_id, candidate.number))
        pool = cls(
            np.array([each.number for each in rows], np.int64),
            np.array([each.file_id for each in rows], np.int64),
            {each.file_id: each.path for each in rows},
        )
        for name in _SIGNALS:
            getattr(pool, name)[:] = [getattr(each, name) for each in rows]
        if any(each.chance is not None for each in rows):
            pool.chances = [each.chance or 0.0 for each in rows]
        pool.learned = {each.number: each.learned for each in rows}
        return pool

    @property
    def score(self) -> Column:
        gathered = self.fused + self.defines + self.stem + self.path_match + self.mention + self.coherence
        score: Column = gathered * self.role * self.repeat
        return score

    def row(self, number: int) -> int:
        """Return the row of a chunk that is in the pool."""
        return int(np.searchsorted(self.numbers, number))

    def by_file(self, values: Sequence[float]) -> Column:
        """Return a column with one value per file."""
        column: Column = np.repeat(
            np.array(values, np.float64), [file.stop - file.start for file in self.files]
        )
        return column

    def crowded(self) -> Iterator[PoolFile]:
        """Yield the files with several candidates."""
        return (file for file in self.files if file.stop - file.start > 1)

    def ranked(self) -> Ranking:
        """Best first; ties by path, then by place in the file."""
        score = self.score
        order = np.lexsort((self.numbers, -score))
        if bool((np.diff(score[order]) == 0).any()):
            places = {path: place for place, path in enumerate(sorted(file.path for file in self.files))}
            by_path = self.by_file([places[file.path] for file in self.files])
            order = np.lexsort((self.numbers, by_path, -score))
        return Ranking(self, order, self.numbers[order].tolist(), score[order].tolist())


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates of a pool, best first."""

    pool: Pool
    order: NDArray[np.intp]
    numbers: list[int]
    scores: list[float]

    def candidates(self, ranks: Sequence[int]) -> list[Candidate]:
        """Return the candidates of ranks with their signals."""
        pool, rows = self.pool, self.order[ranks]
        columns = [getattr(pool, name)[rows].tolist() for name in _SIGNALS]
        found = []
        for rank, row, *signals in zip(ranks, rows.tolist(), *columns, strict=True):
            file = pool.files[bisect_right(pool.files, row, key=attrgetter("start")) - 1]
            number = self.numbers[rank]
            rest: dict[str, Any] = dict(zip(_SIGNALS, signals, strict=True))
            rest["chance"] = pool.chances[row] if pool.chances else None
            rest["learned"] = pool.learned.get(number, {})
            found.append(Candidate(number, file.id, file.path, **rest))
        return found


def fuse(
    pool: Pool, weight: float, second: Mapping[int, float] = MappingProxyType({}), *, share: float = 0.5
) -> None:
    """Scale all kinds of score to 0..1 over the pool, and mix them.

    `second` is what a slower model says, and `share` its part of the meaning; of what it has not read,
    the first is believed.
    """
    pool.keyword, first = _scaled(pool.words, floor=0.0), _scaled(pool.cosine)
    pool.semantic = first
    if second:
        read = np.array([second.get(number, np.nan) for number in pool.numbers.tolist()])
        again = np.where(np.isnan(read), first, _scaled(read))
        pool.semantic = (1 - share) * first + share * again
    pool.fused = (1 - weight) * pool.keyword + weight * pool.semantic


def _scaled(scores: Column, floor: float | None = None) -> Column:
    """Return scores from 0 to 1; what has none gets 0."""
    here = ~np.isnan(scores)
    if not here.any():
        return np.zeros(scores.size)
    known = scores[here]
    low = float(known.min()) if floor is None else floor
    spread = float(known.max()) - low
    return np.where(here, (scores - low) / spread if spread > 0 else 1.0, 0.0)


def add_coherence(pool: Pool) -> None:
    """Lift the best chunk of each file by what the file's other chunks found."""
    fused = pool.fused.tolist()
    for _, _, start, stop in pool.crowded():
        values = fused[start:stop]
        best = max(values)
        pool.coherence[start + values.index(best)] = COHERENCE * min(
            1.0, sum(sorted(values, reverse=True)[1:4]) / 1.5
        )


def spread_files(pool: Pool, decay: float = SAME_FILE_DECAY) -> None:
    """Let each further chunk of a file count less than the one before."""
    order = (-pool.score).tolist()
    repeat = pool.repeat.tolist()
    for _, _, start, stop in pool.crowded():
        for place, row in enumerate(sorted(range(start, stop), key=order.__getitem__)):
            repeat[row] = decay**place
    pool.repeat = np.array(repeat)
