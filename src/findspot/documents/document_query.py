"""How an index reads text: its tokenizer, and its query language.

A query has plain terms, `+must`, `-must_not` and `"phrases"`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import chain, filterfalse
from typing import Any

from findspot.core.errors import InvalidArgumentError

_WORD = re.compile(r"\w+")

MAX_MIN_LENGTH = 100


def composed(text: str) -> str:
    """Return a text with each accented letter as one character: decomposed, it would end a word."""
    return unicodedata.normalize("NFC", text)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Splits documents and queries into runs of word characters, as an index's settings say."""

    lowercase: bool = True
    min_length: int = 2

    @classmethod
    def from_config(cls, config: Mapping[str, Any] | None) -> Tokenizer:
        """Read `tokenizer_config`; missing fields have their defaults."""
        known = asdict(cls())
        given = known | dict(config or {})
        if unknown := [name for name in given if name not in known]:
            raise InvalidArgumentError(
                f"Unknown tokenizer_config field: '{unknown[0]}'. Known fields: {', '.join(known)}."
            )
        if not isinstance(given["lowercase"], bool):
            raise InvalidArgumentError("tokenizer_config.lowercase must be true or false")
        return cls(given["lowercase"], _length(given["min_length"]))

    @property
    def config(self) -> dict[str, Any]:
        return asdict(self)

    def words(self, text: str) -> list[str]:
        """Return all words of a text in order, including those that are too short to be tokens."""
        return _WORD.findall(text.lower() if self.lowercase else text)

    def is_token(self, word: str) -> bool:
        """Return whether a word is long enough to score; operators find shorter words too."""
        return len(word) >= self.min_length

    def count(self, words: Iterable[str]) -> int:
        """Count the words that are tokens."""
        return sum(map(self.is_token, words))

    def folded(self, text: str) -> str:
        """Return a text for case-insensitive search, with every character at its position."""
        return text.replace("İ", "I").lower() if self.lowercase else text  # it alone becomes two


def _length(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_MIN_LENGTH:
        raise InvalidArgumentError(
            f"tokenizer_config.min_length must be a whole number from 1 to {MAX_MIN_LENGTH}"
        )
    return value


MAX_QUERY_CHARS = 10_000

_PART = re.compile(r'(?<!\S)([+-]?)"([^"]*)"|(\S+)')
"""A quoted part with an optional operator, or a run without blanks."""

_OPERATED = re.compile(r"([+-])(?=\w)(.*)", re.DOTALL)
"""One sign directly before a word. `--force`, `C++` and a single `-` have no operator."""


Phrase = tuple[str, ...]
"""One or more words in a row, short ones included."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query in the tokens of an index."""

    terms: tuple[str, ...] = ()
    must: tuple[Phrase, ...] = ()
    must_not: tuple[Phrase, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    ignored: tuple[str, ...] = ()
    """Plain terms that are too short to be tokens."""
    scored: tuple[str, ...] = ()
    """Every token that adds to a score; a repeated one counts twice."""

    @property
    def required(self) -> tuple[Phrase, ...]:
        return self.must + self.phrases

    @property
    def shown(self) -> list[Phrase]:
        """The words and whole phrases for highlights."""
        return [*((term,) for term in self.terms), *self.required]

    @property
    def warning(self) -> str | None:
        """A warning about terms that are ignored."""
        if not self.ignored:
            return None
        words = ", ".join(dict.fromkeys(self.ignored))
        return (
            f"Too short to be searched for by themselves, so ignored: {words}. "
            'Require them as +word or "word".'
        )

    def as_lists(self) -> dict[str, list[str]]:
        phrases = {"must": self.must, "must_not": self.must_not, "phrases": self.phrases}
        return {"terms": list(self.terms)} | {n: [" ".join(p) for p in each] for n, each in phrases.items()}


def parse(query: str, tokenizer: Tokenizer) -> ParsedQuery:
    """Parse a query; if an operator precedes several joined words, they are a phrase.

    Words that are too short to be tokens count in operators and phrases, and score nothing.
    """
    terms: list[str] = []
    operated: dict[str, list[Phrase]] = {"+": [], "-": [], "": []}
    for quoted_sign, quoted, word in _PART.findall(composed(query[:MAX_QUERY_CHARS])):
        found = _OPERATED.fullmatch(word) if word else None
        if word and not found:
            terms.extend(tokenizer.words(word))
            continue
        sign, text = found.groups() if found else (quoted_sign, quoted)
        if words := tokenizer.words(text):
            operated[sign].append(tuple(words))
    required = chain.from_iterable((*operated["+"], *operated[""]))
    return ParsedQuery(
        tuple(filter(tokenizer.is_token, terms)),
        tuple(operated["+"]),
        tuple(operated["-"]),
        tuple(operated[""]),
        ignored=tuple(filterfalse(tokenizer.is_token, terms)),
        scored=tuple(filter(tokenizer.is_token, (*terms, *required))),
    )
