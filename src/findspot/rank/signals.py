"""Signals that rank candidates; every constant with its reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

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

WORDING = 4.0
"""What holds a pasted message word for word outranks all that is only like it, even from a test."""

HEADING_MATCH = 0.4
"""A section's heading, and those above it, are written to be found by."""

DOCS_PATH_MATCH = 0.15
"""Names of documents are vaguer than names of source files."""

COHERENCE = 0.1
"""A file of which several chunks match is about the subject; its best chunk gains from the rest."""

ENOUGH_REST = 1.5
"""What the next three chunks of a file have to score together for the whole of that."""

SAME_FILE_DECAY = 0.8
"""Each further chunk of a file counts a fifth less: ten results should show several files, and the
neighbours of a good answer too."""

PLACED_DECAY = 0.6
"""Where a model chose the places in files, all passages of a file are worth nearly the same without it."""

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


def definition_worth(kind: str, display: str, names: Sequence[str]) -> float:
    """Return how much a definition counts: by what it is, and whether it is spelled as asked."""
    spelled = any(display == name or display.endswith((f".{name}", f"::{name}")) for name in names)
    return KIND_WORTH.get(kind, 1.0) * (1.0 if spelled else OTHER_CASE)


def same_name(stem: str, name: str) -> bool:
    """Return whether a file is named after something, whatever the style of its name."""
    plain = stem.lower()
    return name in (plain, plain.replace("_", "").replace("-", ""))


def beginnings(words: Iterable[str]) -> frozenset[str]:
    """Return how words begin: two that begin differently are not alike, which settles most paths."""
    return frozenset(word[:_ALIKE_FROM] for word in words)


def path_share(query: Sequence[str], name: Sequence[str], folder: Sequence[str]) -> float:
    """Return how well the words of a query and of a path fit each other, 0 to 1."""
    if not query or not name:
        return 0.0
    alike = _alike(tuple(query))
    repeated = dict.fromkeys(query, 0.0)
    explained = 0.0
    for part in name:
        best = 0.0
        for word, likeness in alike[part]:
            best = likeness if likeness > best else best
            repeated[word] = likeness if likeness > repeated[word] else repeated[word]
        explained += best
    for part in folder:
        for word, likeness in alike[part]:
            repeated[word] = likeness if likeness > repeated[word] else repeated[word]
    share = sum(repeated.values() if len(repeated) == len(query) else map(repeated.__getitem__, query))
    return (1 - NAME_SHARE) * (share / len(query)) + NAME_SHARE * (explained / len(name))


class _Alike(dict[str, list[tuple[str, float]]]):
    """Part of a path → the words of a query that are like it, and how much; looked up once per part."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._by_beginning: dict[str, list[str]] = {}
        for word in dict.fromkeys(words):
            self._by_beginning.setdefault(word[:_ALIKE_FROM], []).append(word)

    def __missing__(self, part: str) -> list[tuple[str, float]]:
        near = self._by_beginning.get(part[:_ALIKE_FROM], ())
        self[part] = alike = [(word, _likeness(word, part)) for word in near]
        return alike


@lru_cache(maxsize=16)
def _alike(words: tuple[str, ...]) -> _Alike:
    return _Alike(words)


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
