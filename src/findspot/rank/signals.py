"""Signals that rank candidates; every constant with its reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise, takewhile
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from findspot.rank.roles import Role

DEFINES_NAME = 1.0
"""A chunk that defines the very name asked for outranks everything that only mentions it."""

DEFINES_NAME_IN_SENTENCE = 0.5
"""In a sentence the name is one word of several."""

RE_EXPORTS_NAME = 0.7
"""Where no file defines the name, the one that re-exports it is where to read about it."""

KIND_WORTH = {
    "field": 0.4,
    "property": 0.5,
    "constant": 0.7,
    "constructor": 0.7,
    "impl": 0.4,
    "extension": 0.5,
    "test": 0.5,
}
"""Who asks for a name means the type or function of that name rather than a field or an
implementation block that carries it; kinds not listed count whole."""

OTHER_CASE = 0.6
"""`Tokenizer` means the class; `tokenizer`, a variable of that name, is the second choice."""

STEM_IS_NAME = 0.3
"""Among several definitions, the one in the file of that name is the main one."""

PATH_MATCH = 0.5
"""Sentences name what a file is about; its name and folder say the same in a word or two."""

NAME_SHARE = 0.5
"""Half of the path signal is how much of the query the path repeats, half how much of the file's
name the query explains: of six words only one may be `validates`, but it is all of `validator`."""

MENTIONED = 0.3
"""A file that a bug report or a stack trace names is where to look first."""

HEADING_MATCH = 0.4
"""A section's heading, and those above it, are written to be found by."""

DOCS_PATH_MATCH = 0.15
"""Names of documents are vaguer than names of source files."""

COHERENCE = 0.1
"""A file of which several chunks match is about the subject; its best chunk gains from the rest."""

SAME_FILE_DECAY = 0.8
"""Each further chunk of a file counts a fifth less: ten results should show several files, and the
neighbours of a good answer too."""

ROLE_FACTOR = {
    Role.SOURCE: 1.0,
    Role.TEST: 0.5,
    Role.EXAMPLE: 0.5,
    Role.DECLARATION: 0.7,
    Role.DATA: 0.4,
    Role.TRANSLATION: 0.4,
    Role.CHANGELOG: 0.4,
    Role.MANUAL: 0.5,
    Role.GENERATED: 0.5,
    Role.VENDORED: 0.5,
}
"""What usually is not the answer: tests repeat the words of a question more than the code does.
Translations and changelogs hold every message and every feature's name, and are never where they are made:
as little as data. Manuals describe options in the words of questions. Generated and vendored code is code,
but nobody changes it there: as tests."""


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

    def candidate(self, rank: int) -> Candidate:
        """Return the candidate of a rank with its signals."""
        pool, row = self.pool, int(self.order[rank])
        file = next(file for file in pool.files if file.start <= row < file.stop)
        number = self.numbers[rank]
        return Candidate(
            number,
            file.id,
            file.path,
            **{name: float(getattr(pool, name)[row]) for name in _SIGNALS},
            chance=pool.chances[row] if pool.chances else None,
            learned=pool.learned.get(number, {}),
        )


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
    low = float(np.nanmin(scores)) if floor is None else floor
    spread = float(np.nanmax(scores)) - low
    return np.where(here, (scores - low) / spread if spread > 0 else 1.0, 0.0)


def definition_worth(kind: str, display: str, names: Sequence[str]) -> float:
    """Return how much a definition counts: by what it is, and whether it is spelled as asked."""
    spelled = any(display == name or display.endswith((f".{name}", f"::{name}")) for name in names)
    return KIND_WORTH.get(kind, 1.0) * (1.0 if spelled else OTHER_CASE)


def same_name(stem: str, name: str) -> bool:
    """Return whether a file is named after something, whatever the style of its name."""
    plain = stem.lower()
    return name in (plain, plain.replace("_", "").replace("-", ""))


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
    score = pool.score.tolist()
    for _, _, start, stop in pool.crowded():
        for place, row in enumerate(sorted(range(start, stop), key=lambda row: -score[row])):
            pool.repeat[row] = decay**place


def beginnings(words: Iterable[str]) -> frozenset[str]:
    """Return how words begin: two that begin differently are not alike, which settles most paths."""
    return frozenset(word[:_ALIKE_FROM] for word in words)


def path_share(query: Sequence[str], name: Sequence[str], folder: Sequence[str]) -> float:
    """Return how well the words of a query and of a path fit each other, 0 to 1."""
    if not query or not name:
        return 0.0
    places = (*name, *folder)
    repeated = sum(_best_likeness(word, places) for word in query) / len(query)
    explained = sum(_best_likeness(part, query) for part in name) / len(name)
    return (1 - NAME_SHARE) * repeated + NAME_SHARE * explained


def heading_share(query: Sequence[str], heading: Sequence[str]) -> float:
    """Return how much of a query its heading, or one above, repeats."""
    if not query or not heading:
        return 0.0
    return sum(_best_likeness(word, heading) for word in query) / len(query)


def _best_likeness(word: str, others: Iterable[str]) -> float:
    start = word[:_ALIKE_FROM]
    return max((_likeness(word, other) for other in others if other.startswith(start)), default=0.0)


_ALIKE_FROM = 3
"""Words that differ within their first letters are not alike."""

MIN_COMMON_LETTERS = 4
MIN_COMMON_SHARE = 0.6
"""`checks` and `checker` share five of seven letters; `content` and `contact` too few."""


@lru_cache(maxsize=100_000)
def _likeness(word: str, other: str) -> float:
    """1 for the same word, less for words of one family, 0 for others."""
    if word == other:
        return 1.0
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    shorter, longer = sorted((len(word), len(other)))
    whole = common == shorter >= _ALIKE_FROM
    family = common >= MIN_COMMON_LETTERS and common / longer >= MIN_COMMON_SHARE
    return common / longer if whole or family else 0.0


def coverage(weights: Mapping[str, float], held: Collection[str]) -> float:
    """Return the share of a query's terms, by weight, that a text holds."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in held) / total if total else 0.0
