"""The identifiers and the files that a text mentions, with where they stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from findspot.core.languages import PLAIN, language_of
from findspot.rank.intent import OF_A_KIND
from findspot.rank.traces import MAX_LINE_CHARS, tidy_path
from findspot.text.tokens import word_parts

MAX_PLACES = 50
MAX_NAMES = 1_000
MAX_NAME_CHARS = 128


class Where(StrEnum):
    """Where a name stands in a report; the most telling first."""

    TITLE = "title"
    SPAN = "span"
    """Inline code of a sentence."""
    PROSE = "prose"
    CODE = "code"
    """Examples, traces and errors: mostly names of the author, and of libraries."""


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier as written; of `a.b.c` there is one for the whole and one for each part."""

    text: str
    where: Where


@dataclass(frozen=True, slots=True)
class Place:
    """A file that a text names outside its traces."""

    path: str
    line: int | None = None
    end_line: int | None = None
    repository: str = ""
    """`owner/name` where a link says it."""


CODE_SPAN = re.compile(r"``([^`\n]{1,120})``|`([^`\n]{1,120})`")
COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|^[A-Z]{2,}[a-z]")

_QUALIFIED = r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|\\)[A-Za-z_$~][\w$]*)*(\(\))?"
_TOKEN = re.compile(_QUALIFIED)
_TELLING = re.compile(
    r"(?<![\w$])(?=[\w$]*(?:[a-z0-9](?=[A-Z])|[A-Z][A-Z](?=[a-z])|_|\.[A-Za-z_]|::|->|#[A-Za-z]|\\[A-Za-z]|\(\)))"
    + _QUALIFIED
)
"""Only tokens that can be identifiers: most words of a sentence are passed over at once."""
_PART = re.compile(r"[A-Za-z_$~][\w$]*")
_SEPARATOR = re.compile(r"\.|::|\\|->|#")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")

_LINKED_FILE = re.compile(
    r"https?://(?:raw\.githubusercontent\.com/([^/]+/[^/]+)/[^/]+/"
    r"|[^/]+/([^/]+/[^/]+)/(?:-/)?(?:blob|blame|raw|edit|src|tree)/[^/]+/)"
    r"([^#?]+\.\w+)(?:\?[^#]*)?(?:#(?:L|lines?-|n)(\d+)(?:C\d+)?(?:(?:-L?|:)(\d+))?)?"
)
_PATH_RUN = re.compile(r"(?<![\w./\\@+~-])(?=[\w/\\@+~-]*[.\\])[\w./\\@+~-]{3,}")
_CHANGED_FILE = re.compile(r"^\+\+\+ (?:b/)?(\S{1,400})", re.MULTILINE)
"""In a patch."""
_PATH_LINE = re.compile(
    r"(?:\"?,? (?:at |on |in )?lines? |:|\(|#L|`?,? L)(\d{1,6})(?:(?:-|\u2013| to )L?(\d{1,6}))?"
)
_PRODUCTS = frozenset(
    (
        "node",
        "vue",
        "next",
        "nuxt",
        "express",
        "react",
        "three",
        "d3",
        "moment",
        "chart",
        "angular",
        "ember",
        "bun",
    )
)
"""`Node.js` and the like name a product, not a file."""

_LISTED = """
    abstract and any args array as assert async await bar baz bool boolean break case catch char class cls
    const console continue def default del delete dict do double echo elif else end enum error except
    export extends extern False false final finally float fn foo for from func function get global goto if
    impl implements import in include init instanceof int interface internal is kwargs lambda len let list
    log long main map match module mut namespace new nil None none nonlocal not null object of or override
    package pass print printf println private protected pub public puts raise range readonly ref require
    return self set short static str string struct super switch template test the this throw throws trait
    True true try type typedef typeof undefined union unsigned use using val value var virtual void where
    while with yield"""
_RECEIVERS = frozenset(("self", "this", "cls", "super"))
_KEYWORDS = frozenset(_LISTED.split())
"""Of many languages, with what every program calls something."""


def all_names(title: str, sentences: Iterable[str], shown: Iterable[str]) -> tuple[Name, ...]:
    """Return the names of a report, each once per kind of place; `shown` are its examples and traces."""
    found: dict[Name, None] = {}

    def add(names: Iterable[str], where: Where) -> None:
        if len(found) < MAX_NAMES:
            for name in names:
                found.setdefault(Name(name, where))

    add(_names_in_sentence(title), Where.TITLE)
    for sentence in sentences:
        if "`" in sentence:
            for span in CODE_SPAN.finditer(sentence):
                add(_names_in_expression(span[1] or span[2]), Where.SPAN)
        add(_names_in_sentence(sentence, spans=False), Where.PROSE)
    for line in (line for text in shown for line in text.split("\n")):
        add(_names_in_expression(line[:MAX_LINE_CHARS]), Where.CODE)
    return tuple(found)


def _names_in_expression(text: str) -> Iterator[str]:
    """Yield the names of a piece of code: qualified ones whole, then their parts."""
    if "'" in text or '"' in text:
        text = _STRING.sub(" ", text)
    for token in _TOKEN.finditer(text):
        whole = token[0].removesuffix("()")
        if whole.isalnum():
            if 1 < len(whole) <= MAX_NAME_CHARS and whole not in _KEYWORDS:
                yield whole
        elif 1 < len(whole) <= MAX_NAME_CHARS and not is_file(whole):
            yield from _with_parts(whole)


def _names_in_sentence(text: str, *, spans: bool = True) -> Iterator[str]:
    """Yield words that only a program would spell so: compounds, calls, qualified names, types."""
    if "`" in text:
        for span in CODE_SPAN.finditer(text) if spans else ():
            yield from _names_in_expression(span[1] or span[2])
        text = CODE_SPAN.sub(" ", text)
    for kind in OF_A_KIND.finditer(text):
        yield kind[1]
    for token in _TELLING.finditer(text):
        whole = token[0].removesuffix("()")
        parts = _PART.findall(whole) if len(whole) <= MAX_NAME_CHARS else ()
        if len(parts) > 1:
            if min(map(len, parts)) > 1 and not is_file(whole):
                yield from _with_parts(whole)
        elif token[1] or (parts and COMPOUND.search(whole) and len(word_parts(whole)) > 1):
            yield whole


def _with_parts(whole: str) -> Iterator[str]:
    """Yield a name, and of a qualified one its last two parts: the member and what it belongs to."""
    parts = _PART.findall(whole)
    yield whole
    if len(parts) > 1:
        yield from (part for part in parts[-2:] if len(part) > 1 and part not in _RECEIVERS)


def all_places(links: Iterable[str], texts: Iterable[str]) -> tuple[Place, ...]:
    """Return the files that links lead to and texts name, each once."""
    found: dict[Place, None] = {}
    for address in links:
        if link := _LINKED_FILE.match(address[:MAX_LINE_CHARS]):
            found.setdefault(Place(link[3], _number(link[4]), _number(link[5]), link[1] or link[2]))
    for text in texts:
        for place in _places_in(text):
            found.setdefault(place)
    return tuple(found)[:MAX_PLACES]


def _places_in(text: str) -> Iterator[Place]:
    if "+++ " in text:
        yield from (
            Place(changed[1]) for changed in _CHANGED_FILE.finditer(text) if changed[1] != "/dev/null"
        )
        return
    for run in _PATH_RUN.finditer(text):
        path = tidy_path(run[0].rstrip(".-@~+"))
        if len(path) <= MAX_LINE_CHARS and is_file(path):
            lines = _PATH_LINE.match(text, run.end())
            yield Place(path, _number(lines[1]), _number(lines[2])) if lines else Place(path)


def is_file(path: str) -> bool:
    """Return whether `auth/login.py` or `login.py` names a file; `app.run` and `items.map` do not."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    if not dot or language_of(path) == PLAIN:
        return False
    return (
        "/" in path
        or ending in ("c", "h")
        or (len(ending) > 1 and ending != "map" and stem.lower() not in _PRODUCTS)
    )


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


MAX_QUALIFIERS = 8
MAX_NAMED_DEPTH = 3


def qualifiers(names: Iterable[Name]) -> set[tuple[str, ...]]:
    """Return every run of names in qualified names, lower-cased: `a.b.C` may mean the module `a.b`."""
    found: set[tuple[str, ...]] = set()
    for name in names:
        pieces = [piece.lower() for piece in _SEPARATOR.split(name.text) if piece]
        if 2 <= len(pieces) <= MAX_QUALIFIERS:
            ends = range(1, len(pieces) + 1)
            found.update(tuple(pieces[first:last]) for last in ends for first in range(last))
    return found


def named_depth(path: Sequence[str], qualified: set[tuple[str, ...]]) -> float:
    """Return how many of the last names of a path stand together in a qualified name, at most three."""
    longest = min(MAX_NAMED_DEPTH, len(path))
    return float(next((n for n in range(longest, 0, -1) if tuple(path[-n:]) in qualified), 0))
