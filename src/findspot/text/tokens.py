"""The one code tokenizer: an identifier gives itself, lower-cased, and the stems of its parts.

`HTTPServers_v2` → `httpservers_v2`, `http`, `serv`, `v2`. Keyword search, ranking and the
static model all read text through it, so that they agree on what a word is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath

from findspot.core.model import Span

_WORD = re.compile(r"[^\W_][\w]*|_+[^\W_]\w*", re.UNICODE)
"""A run of letters, digits and underscores that holds at least one letter or digit."""

_PART = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])"  # HTTP in HTTPServer
    r"|[A-Z]?[a-z]+\d*"  # Server, server, utf8
    r"|[A-Z]+\d*"  # URL, V2
    r"|\d+"
    r"|[^\W\d_A-Za-z]+",  # words of other scripts
)

MAX_TOKEN_CHARS = 64
"""Longer runs are hashes, base64 and the like: noise to a reader and to an index."""


_ENDINGS = (
    ("ations", "at"), ("ation", "at"), ("ators", "at"), ("ator", "at"), ("ating", "at"),
    ("ates", "at"), ("ated", "at"), ("ate", "at"), ("ies", "y"), ("ings", ""), ("ing", ""),
    ("ers", ""), ("ors", ""), ("er", ""), ("or", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""),
)  # fmt: skip
"""Questions say `validates`, code says `validator`: both end up as `validat`. Longest first."""

_DOUBLING = frozenset(("ing", "ings", "er", "ers", "or", "ors", "ed"))
"""Endings before which English doubles a consonant: `mapped`, `formatter`."""
_LISTED = (
    "a an and are as at be been but by can could did do does doing for from had has have how i if in into is "
    "it its itself me my not of off on or our should so some such than that the their them then there these "
    "they this those to us using used uses via was we were what when where which while who why will with "
    "within without would you your"
)
STOP_WORDS = frozenset(_LISTED.split())


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return a lower-cased word without its grammatical ending, at least three letters long."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= 3:
            if ending == "s" and word.endswith("ss"):
                return word
            base = word[: -len(ending)] + instead
            if ending in _DOUBLING and len(base) > 3 and base[-1] == base[-2]:
                return base[:-1]
            return base
    return word


@lru_cache(maxsize=200_000)
def word_tokens(word: str) -> tuple[str, ...]:
    """Return the tokens of one identifier: itself lower-cased, then the stems of its parts."""
    if len(word) > MAX_TOKEN_CHARS:
        return ()
    whole = word.strip("_").lower()
    stems = [stem(part.lower()) for part in _PART.findall(word)]
    if stems == [whole]:
        return (whole,)
    return (whole, *stems)


def placed_tokens(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield where each word of a text begins, with its tokens."""
    for word in _WORD.finditer(text):
        yield word.start(), word_tokens(word.group())


def tokens(text: str) -> list[str]:
    """Return all tokens of a text, in order, identifiers followed by the stems of their parts."""
    return list(chain.from_iterable(map(word_tokens, _WORD.findall(text))))


@lru_cache(maxsize=200_000)
def word_parts(word: str) -> tuple[str, ...]:
    """Return the lower-cased parts of one identifier, which a model of natural words understands."""
    if len(word) > MAX_TOKEN_CHARS:
        return ()
    return tuple(part.lower() for part in _PART.findall(word))


def parts(text: str) -> list[str]:
    """Return the lower-cased parts of all words of a text, in order, compounds left out."""
    return list(chain.from_iterable(map(word_parts, _WORD.findall(text))))


def words(text: str) -> list[str]:
    """Return the words of a text as they are written."""
    return _WORD.findall(text)


LONG_LINE_CHARS = 2_000
"""The longest line that is never cut: as large as a chunk of several lines may be."""

STEM_REPEATS = 2
"""A file's name says what it is about; it counts twice, so that a long body does not drown it."""

FOLDERS = 3
"""The last folders name the subsystem; those above are the same for the whole project."""


@lru_cache(maxsize=4096)
def path_text(path: str) -> str:
    """Return the words of a path that help to find it."""
    pure = PurePosixPath(path)
    stem = pure.name.split(".", 1)[0] or pure.name
    return " ".join([stem] * STEM_REPEATS + list(pure.parent.parts[-FOLDERS:]))


def keyword_text(path: str, breadcrumb: str | None, context: str, text: str) -> str:
    """Return the tokens that are indexed for a chunk, joined by spaces."""
    return " ".join(tokens(f"{path_text(path)} {breadcrumb or ''} {context}\n{text}"))


def holds(lines: Sequence[str], span: Span, text: str) -> bool:
    """Return whether `text` is a chunk of these lines: all of them, or a piece of the last one."""
    own, wanted = list(lines[span.start - 1 : span.end]), text.split("\n")
    if own == wanted:
        return True
    if not own or len(own) != len(wanted) or len(own[-1]) <= LONG_LINE_CHARS:
        return False
    return own[-1].startswith(wanted[-1]) and own[:-1] == wanted[:-1] if len(own) > 1 else text in own[0]
