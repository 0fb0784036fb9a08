"""The query language: plain terms, `+must`, `-must_not` and `"phrases"`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from findspot.documents.tokenizer import TOO_SHORT, Tokenizer

MAX_QUERY_CHARS = 10_000

_PART = re.compile(r'(?<!\S)([+-]?)"([^"]*)"|(\S+)')
"""A quoted part, with its operator if it has one; or a run without blanks."""

_OPERATED = re.compile(r"([+-])(?=\w)(.*)", re.DOTALL)
"""One sign right before a word. `--force`, `C++` and a lone `-` hold no operator."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Tokens that stand in a row, each at its distance from the first; one token is a plain term."""

    tokens: tuple[str, ...]
    offsets: tuple[int, ...]

    def __str__(self) -> str:
        return " ".join(self.tokens)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a query asks for, in the tokens of the index it is put to."""

    terms: tuple[str, ...] = ()
    must: tuple[Phrase, ...] = ()
    must_not: tuple[Phrase, ...] = ()
    phrases: tuple[Phrase, ...] = ()

    @property
    def required(self) -> tuple[Phrase, ...]:
        return self.must + self.phrases

    @property
    def scored(self) -> list[str]:
        """Every token that adds to a score; one that is asked for twice counts twice."""
        return [*self.terms, *_tokens(self.must), *_tokens(self.phrases)]

    def as_lists(self) -> dict[str, list[str]]:
        return {
            "terms": list(self.terms),
            "must": [str(phrase) for phrase in self.must],
            "must_not": [str(phrase) for phrase in self.must_not],
            "phrases": [str(phrase) for phrase in self.phrases],
        }


def parse(query: str, tokenizer: Tokenizer) -> ParsedQuery:
    """Read a query; a word that holds several tokens is a phrase where an operator precedes it.

    Tokens that the index does not keep, being too short, are left out of queries as well.
    """
    terms: list[str] = []
    operated: dict[str, list[Phrase]] = {"+": [], "-": [], "": []}
    for quoted_sign, quoted, word in _PART.findall(query[:MAX_QUERY_CHARS]):
        found = _OPERATED.fullmatch(word) if word else None
        if word and not found:
            terms.extend(tokenizer.tokens(word))
            continue
        sign, text = found.groups() if found else (quoted_sign, quoted)
        if phrase := _phrase(text, tokenizer):
            operated[sign].append(phrase)
    return ParsedQuery(tuple(terms), tuple(operated["+"]), tuple(operated["-"]), tuple(operated[""]))


def _phrase(text: str, tokenizer: Tokenizer) -> Phrase | None:
    kept = [(place, token) for place, token in enumerate(tokenizer.places(text)) if token != TOO_SHORT]
    if not kept:
        return None
    first = kept[0][0]
    return Phrase(tuple(token for _, token in kept), tuple(place - first for place, _ in kept))


def _tokens(phrases: Iterable[Phrase]) -> list[str]:
    return [token for phrase in phrases for token in phrase.tokens]
