"""The candidates of a query as columns of numbers: fused, scored and ranked together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.rank.signals import COHERENCE, ENOUGH_REST, SAME_FILE_DECAY

Column = NDArray[np.float64]
"""One value per candidate; not a number where there is none."""

Order = NDArray[np.int64]


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
    wording: float = 0.0
    coherence: float = 0.0
    role: float = 1.0
    place: float = 1.0
    repeat: float = 1.0
    words: float = float("nan")
    """The score of keyword search."""
    cosine: float = float("nan")
    chance: float | None = None
    """How likely it is right, where a fitted model ranks."""
    learned: dict[str, float] = field(default_factory=dict)
    """What each signal of a fitted model added, where one ranks and an explanation is wanted."""

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
            "wording": self.wording,
            "coherence": self.coherence,
            "roleFactor": self.role,
            "placeFactor": self.place,
            "sameFileFactor": self.repeat,
        }
        return {name: round(value, 4) for name, value in signals.items() if value}


LeadingCommits = Mapping[tuple[str, str], int]
"""The commits whose messages led to definitions, by path and name in lower case."""

SIGNALS = (
    "keyword", "semantic", "fused", "defines", "stem", "path_match", "mention", "wording", "coherence",
    "role", "place", "repeat", "words", "cosine",
)  # fmt: skip
"""The columns of a pool, in the order of a candidate's fields."""


class Pool:
    """All candidates of a query: one row per chunk, those of a file together, and one column per signal."""

    def __init__(
        self,
        numbers: NDArray[np.int64],
        file_ids: NDArray[np.int64],
        paths: Mapping[int, str],
        scores: tuple[Column, Column] | None = None,
    ) -> None:
        """Take the chunks in the order of their numbers, with their files, and their keyword scores and
        cosines.
        """
        size = numbers.size
        self.numbers = numbers
        begins = np.ones(size, np.bool_)
        np.not_equal(file_ids[1:], file_ids[:-1], out=begins[1:])
        self.starts = np.flatnonzero(begins).astype(np.int64, copy=False)
        """The first row of each file."""
        self.file_ids = file_ids[self.starts]
        """Each file once."""
        self.homes = np.cumsum(begins) - 1
        """The place of each row's file among these."""
        self._paths = paths
        self.keyword, self.semantic, self.fused, self.defines, self.stem, *others = np.zeros((9, size))
        self.path_match, self.mention, self.wording, self.coherence = others
        self.role, self.place, self.repeat = np.ones((3, size))
        self.words: Column
        self.cosine: Column
        self.words, self.cosine = scores or np.full((2, size), np.nan)
        self.file_chance = np.zeros(size)
        """The logarithm of how likely the file answers, beside the other files; 0 where no model says so."""
        self.places_chosen = False
        """Whether a fitted model says which passage of a file answers."""
        self.leading_commits: LeadingCommits = {}
        self.chances: Sequence[float] = ()
        self.learned: Mapping[int, dict[str, float]] = {}
        """By number."""

    @property
    def score(self) -> Column:
        gathered = self.fused + self.defines + self.stem + self.path_match + self.mention + self.wording
        gathered += self.coherence
        score: Column = gathered * self.role * self.place * self.repeat
        return score

    def row(self, number: int) -> int:
        """Return the row of a chunk that is in the pool."""
        return int(np.searchsorted(self.numbers, number))

    def path(self, home: int) -> str:
        """Return the path of a file, by its place."""
        return self._paths[int(self.file_ids[home])]

    @cached_property
    def paths(self) -> list[str]:
        """The path of each file."""
        return [self._paths[number] for number in self.file_ids.tolist()]

    def ranked(self) -> Ranking:
        """Best first; ties by path, then by place in the file."""
        score = self.score
        order = np.argsort(-score, kind="stable")
        scores = score[order]
        ties = np.flatnonzero(scores[1:] == scores[:-1])
        if ties.size:
            self._settle(order, ties.tolist())
        return Ranking(self, order, self.numbers[order].tolist(), scores.tolist())

    def _settle(self, order: Order, ties: list[int]) -> None:
        """Put rows of the same score into the order of paths; `ties` are places that tie with the next."""

        def place(row: int) -> tuple[str, int]:
            return self.path(int(self.homes[row])), int(self.numbers[row])

        known, end = set(ties), -1
        for first in ties:
            if first < end:
                continue
            end = first + 1
            while end in known:
                end += 1
            order[first : end + 1] = sorted(order[first : end + 1].tolist(), key=place)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates of a pool, best first."""

    pool: Pool
    order: Order
    numbers: list[int]
    scores: list[float]

    def signals(self, ranks: Sequence[int], *names: str) -> Iterator[tuple[float, ...]]:
        """Return some signals of the candidates of ranks."""
        rows = self.order[ranks]
        return zip(*(getattr(self.pool, name)[rows].tolist() for name in names), strict=True)

    def candidates(self, ranks: Sequence[int]) -> list[Candidate]:
        """Return the candidates of ranks with their signals."""
        pool, rows = self.pool, self.order[ranks]
        columns = [getattr(pool, name)[rows].tolist() for name in SIGNALS]
        found = []
        for rank, row, *signals in zip(ranks, rows.tolist(), *columns, strict=True):
            number, home = self.numbers[rank], int(pool.homes[row])
            fields: list[Any] = [number, int(pool.file_ids[home]), pool.path(home), *signals]
            fields += pool.chances[row] if pool.chances else None, pool.learned.get(number, {})
            found.append(Candidate(*fields))
        return found


def fuse(pool: Pool, weight: float) -> None:
    """Scale both kinds of score to 0..1 over the pool, and mix them."""
    pool.keyword[:], pool.semantic[:] = _scaled(pool.words, floor=0.0), _scaled(pool.cosine)
    pool.fused[:] = (1 - weight) * pool.keyword + weight * pool.semantic


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
    """Lift the best chunk of each file by what the next three found; enough of them gives all of it."""
    order, places = _within_files(pool.fused, pool.starts)
    values = np.append(pool.fused[order], (0.0, 0.0, 0.0))
    after = np.append(places, (0, 0, 0))
    rest = np.zeros(order.size)
    for step in (1, 2, 3):  # the next ones of the file, in order: sums depend on it
        here = slice(step, step + order.size)
        rest += np.where(after[here] == places + step, values[here], 0.0)
    crowded = (places == 0) & (after[1 : order.size + 1] == 1)
    pool.coherence[:] = 0.0
    pool.coherence[order[crowded]] = COHERENCE * np.minimum(1.0, rest[crowded] / ENOUGH_REST)


def spread_files(pool: Pool, decay: float = SAME_FILE_DECAY) -> None:
    """Let each further chunk of a file count less than the one before."""
    order, placed = _within_files(pool.score, pool.starts)
    places = np.empty(pool.numbers.size, np.int64)
    places[order] = placed
    worth = np.array([decay**place for place in range(int(places.max(initial=0)) + 1)])
    pool.repeat = worth[places]


def _within_files(values: Column, starts: Order) -> tuple[Order, Order]:
    """Return the rows file by file, those of a file best first, and the place of each in its file."""
    rows = np.arange(values.size)
    homes = np.searchsorted(starts, rows, side="right") - 1
    return np.lexsort((-values, homes)), rows - starts[homes]
