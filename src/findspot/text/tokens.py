"""The one tokenizer: an identifier gives itself, lower-cased, and the stems of its parts.

`HTTPServers_v2` → `httpservers_v2`, `http`, `serv`, `v2`. Accents are dropped (`café` → `cafe`), and
scripts without spaces give pairs of characters (`日本語` → `日本`, `本語`). Keyword search, ranking and the
static model all read text through it, so that they agree on what a word is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import PurePosixPath
from types import ModuleType

from findspot.core.model import Span
from findspot.core.platforms import native

_MARKS = (
    r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e"
    r"\u0eb1-\u0ecd\u102b-\u103e\u1780-\u17d3\u1dc0-\u1dff\u3099\u309a"
)
"""Accents and vowel signs: parts of a word that are not letters to `re`."""

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff\u1100-\u11ff\uac00-\ud7a3"
)
"""Thai, Lao, Burmese, Khmer, Chinese and Japanese: no spaces between words. Korean has spaces, but its
words end in particles."""

_ASCII_WORD = re.compile(r"(?<!_)_*[a-zA-Z0-9]\w*", re.ASCII)
_WORD = re.compile(rf"(?<!_)_*[^\W_][\w{_MARKS}]*")
"""A run of letters, digits and underscores that holds at least one letter or digit."""

_OTHERS_TO_SPACES = bytes(
    code if code >= 128 or chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(256)
)
"""Turns each ASCII character that is not part of a word into a space; splitting takes a third of a regex."""

_LATIN_PART = (
    r"[A-Z]{2,}s(?![a-z])"  # URLs
    r"|[A-Z]+(?=[A-Z][a-z])"  # HTTP in HTTPServer
    r"|[A-Z]?[a-z]+\d*"  # Server, server, utf8
    r"|[A-Z]+\d*"  # URL, V2
    r"|\d+"
)
_ASCII_PART = re.compile(_LATIN_PART)


@cache
def _part() -> re.Pattern[str]:
    """Return the pattern of a part in any script; it takes long to compile, and is rarely needed."""
    other_scripts = rf"(?:(?![{_UNSPACED}])[^\W\d_A-Za-z]|[{_MARKS}])+"
    return re.compile(rf"{_LATIN_PART}|[{_UNSPACED}]+|{other_scripts}")


@cache
def _unspaced() -> re.Pattern[str]:
    """Return the pattern of a character of a script without spaces, compiled when it is needed."""
    return re.compile(rf"[{_UNSPACED}]")


_LIGATURES = {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "đ": "d",
              "Đ": "D", "ł": "l", "Ł": "L", "ð": "d", "þ": "th", "ı": "i"}  # fmt: skip


def _letters_without_accents() -> dict[int, str | None]:
    """Map the Latin and Greek letters that have accents to those that have none."""
    plain: dict[int, str | None] = {ord(letter): instead for letter, instead in _LIGATURES.items()}
    for code in (*range(0xC0, 0x250), *range(0x370, 0x400), *range(0x1E00, 0x2000)):
        plain.setdefault(code, unicodedata.normalize("NFD", chr(code))[0])
    return plain | dict.fromkeys(range(0x300, 0x370))


_WITHOUT_ACCENTS = _letters_without_accents()

REMEMBERED_WORDS = 200_000
"""Distinct words whose tokens are cached: most words of a project, at about 200 bytes each."""

_native = native()
_RECENT_WORDS = 4_096 if _native else REMEMBERED_WORDS
"""The compiled part remembers words itself; what Python does for it serves tokens and vectors of one file."""

MAX_TOKEN_CHARS = 64
"""Longer runs are hashes, base64 and the like: noise to a reader and to an index."""


_ENDINGS = (
    ("ations", "at"), ("ation", "at"), ("ators", "at"), ("ator", "at"), ("ating", "at"),
    ("ates", "at"), ("ated", "at"), ("ate", "at"), ("ies", "y"), ("ings", ""), ("ing", ""),
    ("ers", ""), ("ors", ""), ("er", ""), ("or", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""),
)  # fmt: skip
"""Questions say `validates`, code says `validator`: both end up as `validat`. Longest first."""

_ENDINGS_BY_LETTER = {
    last: tuple(pair for pair in _ENDINGS if pair[0][-1] == last) for last in {e[-1] for e, _ in _ENDINGS}
}

_DOUBLING = frozenset(("ing", "ings", "er", "ers", "or", "ors", "ed"))
"""Endings before which English doubles a consonant: `mapped`, `formatter`."""
_LISTED = (
    "a an and are as at be been but by can could did do does doing for from had has have how i if in into is "
    "it its itself me my not of off on or our should so some such than that the their them then there these "
    "they this those to us using used uses via was we were what when where which while who why will with "
    "within without would you your"
)
STOP_WORDS = frozenset(_LISTED.split())


@lru_cache(maxsize=_RECENT_WORDS)
def stem(word: str) -> str:
    """Return a lower-cased word without its grammatical ending, at least three letters long."""
    for ending, instead in _ENDINGS_BY_LETTER.get(word[-1:], ()):
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= 3:
            if ending == "s" and word.endswith("ss"):
                return word
            base = word[: -len(ending)] + instead
            if ending in _DOUBLING and len(base) > 3 and base[-1] == base[-2]:
                return base[:-1]
            return base
    return word


def without_accents(word: str) -> str:
    """Return a word with plain Latin and Greek letters; other scripts keep their marks."""
    return word if word.isascii() else _without_accents(word)


@lru_cache(maxsize=256)
def _without_accents(word: str) -> str:
    return unicodedata.normalize("NFKC", word).translate(_WITHOUT_ACCENTS)


def _word_tokens(word: str) -> tuple[str, ...]:
    stems = tuple(map(stem, word_parts(word)))
    whole = without_accents(word).strip("_").lower()
    if not stems or stems == (whole,) or len(whole) > MAX_TOKEN_CHARS:
        return stems
    if not word.isascii() and _unspaced().search(word):
        return stems
    return (whole, *stems)


@lru_cache(maxsize=REMEMBERED_WORDS)
def word_tokens(word: str) -> tuple[str, ...]:
    """Return the tokens of one identifier: itself lower-cased, then the stems of its parts."""
    return _word_tokens(word)


def placed_tokens(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield where each word of a text begins, with its tokens."""
    for word in _words_of(text).finditer(text):
        yield word.start(), word_tokens(word.group())


def tokens(text: str) -> list[str]:
    """Return all tokens of a text, in order, identifiers followed by the stems of their parts."""
    return list(chain.from_iterable(map(word_tokens, runs(text))))


class _TokenTexts(dict[str, str]):
    """Word → its tokens, joined by spaces; computed once per word."""

    def __missing__(self, word: str) -> str:
        if len(self) >= REMEMBERED_WORDS:
            self.clear()
        joined = self[word] = " ".join(_word_tokens(word))
        return joined


_TOKEN_TEXTS = _TokenTexts()


@lru_cache(maxsize=_RECENT_WORDS)
def word_parts(word: str) -> tuple[str, ...]:
    """Return the lower-cased parts of one identifier, which a model of natural words understands."""
    if word.isascii():
        letters = word.replace("_", "")
        if letters.isalpha() and letters.islower() and len(word) <= MAX_TOKEN_CHARS:
            return tuple(filter(None, word.split("_")))
        return tuple(map(_lowered, _ASCII_PART.findall(word))) if len(word) <= MAX_TOKEN_CHARS else ()
    runs = map(_lowered, _part().findall(without_accents(word)))
    return tuple(part for run in runs for part in _pairs(run) if len(part) <= MAX_TOKEN_CHARS)


def _lowered(part: str) -> str:
    """Return a part in lower case, an acronym without its plural ending: `URLs` → `url`."""
    return (part[:-1] if len(part) > 2 and part[-1] == "s" and part[:-1].isupper() else part).lower()


def _pairs(run: str) -> Sequence[str]:
    """Return the pairs of characters of a run without spaces; other runs as they are."""
    if len(run) < 3 or not _unspaced().match(run):
        return (run,)
    return [run[start : start + 2] for start in range(len(run) - 1)]


def parts(text: str) -> list[str]:
    """Return the lower-cased parts of all words of a text, in order, compounds left out."""
    return list(chain.from_iterable(map(word_parts, runs(text))))


def words(text: str) -> list[str]:
    """Return the words of a text as they are written."""
    return [run for run in runs(text) if run.strip("_")]


def runs(text: str) -> list[str]:
    """Return the words of a text, and runs of underscores among them, which have no tokens and no parts."""
    spaced = text.encode("utf-8", "surrogatepass").translate(_OTHERS_TO_SPACES)
    found = spaced.decode("utf-8", "surrogatepass").split()
    if text.isascii():
        return found
    return [word for run in found for word in ((run,) if run.isascii() else _WORD.findall(run))]


def _words_of(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _WORD


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


def token_text_in_python(texts: Iterable[str]) -> str:
    """Return the tokens of all words of some texts, joined by spaces."""
    found = chain.from_iterable(map(runs, texts))
    return " ".join(filter(None, map(_TOKEN_TEXTS.__getitem__, found)))


def _run_tokens(run: str) -> str:
    """Return the same for a run of characters without ASCII separators, which is not remembered here."""
    return " ".join(chain.from_iterable(map(_word_tokens, _WORD.findall(run))))


def run_parts(run: str) -> list[str]:
    """Return the parts of the words of such a run."""
    return list(chain.from_iterable(map(word_parts, _WORD.findall(run))))


def _compiled_token_text(module: ModuleType) -> Callable[[tuple[str, ...]], str]:
    endings = tuple((ending, instead, ending in _DOUBLING) for ending, instead in _ENDINGS)
    texts = module.TokenTexts(_run_tokens, endings, REMEMBERED_WORDS)
    join: Callable[[tuple[str, ...]], str] = texts.join
    return join


token_text: Callable[[tuple[str, ...]], str] = (
    _compiled_token_text(_native) if _native else token_text_in_python
)


def keyword_text(path: str, breadcrumb: str | None, context: str, text: str) -> str:
    """Return the tokens that are indexed for a chunk, joined by spaces."""
    return token_text((path_text(path), breadcrumb or "", context, text))


def holds(lines: Sequence[str], span: Span, text: str) -> bool:
    """Return whether `text` is a chunk of these lines: all of them, or a piece of the last one."""
    own, wanted = list(lines[span.start - 1 : span.end]), text.split("\n")
    if own == wanted:
        return True
    if not own or len(own) != len(wanted) or len(own[-1]) <= LONG_LINE_CHARS:
        return False
    return own[-1].startswith(wanted[-1]) and own[:-1] == wanted[:-1] if len(own) > 1 else text in own[0]
