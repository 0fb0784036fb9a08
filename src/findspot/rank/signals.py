"""Signals that rank candidates; every constant with its reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from types import MappingProxyType

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


@dataclass(slots=True)
class Candidate:
    """A chunk on its way to becoming an answer."""

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


@dataclass(slots=True)
class Pool:
    """All candidates of a query by chunk number."""

    by_number: dict[int, Candidate] = field(default_factory=dict)

    def by_file(self) -> Collection[list[Candidate]]:
        """Return the candidates of each file."""
        files: dict[int, list[Candidate]] = {}
        for candidate in self.by_number.values():
            files.setdefault(candidate.file_id, []).append(candidate)
        return files.values()

    def ranked(self) -> list[Candidate]:
        """Best first; ties by path, then by place in the file."""
        return sorted(self.by_number.values(), key=lambda c: (-c.score, c.path, c.number))


def fuse(
    pool: Pool,
    keyword: Mapping[int, float],
    semantic: Mapping[int, float],
    weight: float,
    second: Mapping[int, float] = MappingProxyType({}),
    *,
    share: float = 0.5,
) -> None:
    """Scale all kinds of score to 0..1 over the pool, and mix them.

    `second` is what a slower model says, and `share` its part of the meaning; of what it has not read,
    the first is believed.
    """
    words, meaning, again = _scaled(keyword, floor=0.0), _scaled(semantic), _scaled(second)
    for number, candidate in pool.by_number.items():
        candidate.keyword = words.get(number, 0.0)
        first = meaning.get(number, 0.0)
        candidate.semantic = (1 - share) * first + share * again.get(number, first)
        candidate.fused = (1 - weight) * candidate.keyword + weight * candidate.semantic


def _scaled(scores: Mapping[int, float], floor: float | None = None) -> dict[int, float]:
    if not scores:
        return {}
    low = min(scores.values()) if floor is None else floor
    spread = max(scores.values()) - low
    return {number: (score - low) / spread if spread > 0 else 1.0 for number, score in scores.items()}


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
    for members in pool.by_file():
        if len(members) == 1:
            continue
        best = max(members, key=lambda c: (c.fused, -c.number))
        others = sum(sorted((c.fused for c in members if c is not best), reverse=True)[:3])
        best.coherence = COHERENCE * min(1.0, others / 1.5)


def spread_files(pool: Pool, decay: float = SAME_FILE_DECAY) -> None:
    """Let each further chunk of a file count less than the one before."""
    for members in pool.by_file():
        if len(members) == 1:
            continue
        for place, candidate in enumerate(sorted(members, key=lambda c: (-c.score, c.number))):
            candidate.repeat = decay**place


def beginnings(words: Iterable[str]) -> frozenset[str]:
    """Return how words begin: two that begin differently are not alike, which settles most paths."""
    return frozenset(word[:_ALIKE_FROM] for word in words)


def path_share(query: Sequence[str], name: Sequence[str], folder: Sequence[str]) -> float:
    """Return how well the words of a query and of a path fit each other, 0 to 1."""
    places = (*name, *folder)
    if not name or beginnings(query).isdisjoint(beginnings(places)):
        return 0.0
    repeated = sum(max(_likeness(word, part) for part in places) for word in query) / len(query)
    explained = sum(max(_likeness(part, word) for word in query) for part in name) / len(name)
    return (1 - NAME_SHARE) * repeated + NAME_SHARE * explained


def heading_share(query: Sequence[str], heading: Sequence[str]) -> float:
    """Return how much of a query its heading, or one above, repeats."""
    if not query or not heading:
        return 0.0
    return sum(max(_likeness(word, part) for part in heading) for word in query) / len(query)


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
