"""The query language: plain terms, `+must`, `-must_not` and `"phrases"`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, filterfalse

from findspot.documents.tokenizer import Tokenizer

MAX_QUERY_CHARS = 10_000

_PART = re.compile(r'(?<!\S)([+-]?)"([^"]*)"|(\S+)')
"""A quoted part, with its operator if it has one; or a run without blanks."""

_OPERATED = re.compile(r"([+-])(?=\w)(.*)", re.DOTALL)
"""One sign right before a word. `--force`, `C++` and a lone `-` hold no operator."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand in a row, short ones too; often it is one word."""

    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a query asks for, in the tokens of the index it is put to."""

    terms: tuple[str, ...] = ()
    must: tuple[Phrase, ...] = ()
    must_not: tuple[Phrase, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    ignored: tuple[str, ...] = ()
    """Plain terms that are too short to be tokens."""
    scored: tuple[str, ...] = ()
    """Every token that adds to a score; one that is asked for twice counts twice."""

    @property
    def required(self) -> tuple[Phrase, ...]:
        return self.must + self.phrases

    @property
    def shown(self) -> list[tuple[str, ...]]:
        """What highlights show: words, and phrases as a whole."""
        return [*((term,) for term in self.terms), *(phrase.words for phrase in self.required)]

    @property
    def warning(self) -> str | None:
        """What the query asks for in vain."""
        if not self.ignored:
            return None
        words = ", ".join(dict.fromkeys(self.ignored))
        return (
            f"Too short to be searched for by themselves, so ignored: {words}. "
            'Require them as +word or "word".'
        )

    def as_lists(self) -> dict[str, list[str]]:
        return {
            "terms": list(self.terms),
            "must": [str(phrase) for phrase in self.must],
            "must_not": [str(phrase) for phrase in self.must_not],
            "phrases": [str(phrase) for phrase in self.phrases],
        }


def parse(query: str, tokenizer: Tokenizer) -> ParsedQuery:
    """Read a query; where an operator precedes a word that holds several words, they are a phrase.

    Words that are too short to be tokens hold in operators and phrases, and score nothing.
    """
    terms: list[str] = []
    operated: dict[str, list[Phrase]] = {"+": [], "-": [], "": []}
    for quoted_sign, quoted, word in _PART.findall(query[:MAX_QUERY_CHARS]):
        found = _OPERATED.fullmatch(word) if word else None
        if word and not found:
            terms.extend(tokenizer.words(word))
            continue
        sign, text = found.groups() if found else (quoted_sign, quoted)
        if words := tokenizer.words(text):
            operated[sign].append(Phrase(tuple(words)))
    required = chain.from_iterable(phrase.words for phrase in (*operated["+"], *operated[""]))
    return ParsedQuery(
        tuple(filter(tokenizer.is_token, terms)),
        tuple(operated["+"]),
        tuple(operated["-"]),
        tuple(operated[""]),
        ignored=tuple(filterfalse(tokenizer.is_token, terms)),
        scored=tuple(filter(tokenizer.is_token, (*terms, *required))),
    )
