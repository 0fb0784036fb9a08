"""Misspelt words of a query, read as the words of the catalogue that were meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from string import ascii_lowercase

from findspot.text.bm25 import Bm25
from findspot.text.tokens import stem

_LONG_WORD = re.compile(r"\b[a-z]{8,40}\b")
"""Shorter words have neighbours that mean something else (`grated`, `graded`); names begin with a capital."""

_MAX_MISSPELT = 8
"""A text with more words that nobody knows is in another language, and not to be guessed at."""


def respelt(query: str, knows: Callable[[str], bool], keywords: Bm25) -> str:
    """With words that neither the model nor any tool knows replaced by such that both do, one slip away."""
    asked = dict.fromkeys(_LONG_WORD.findall(query))
    unknown = (word for word in asked if not knows(word) and stem(word) not in keywords)
    meant = {word: _meant(word, knows, keywords) for word in islice(unknown, _MAX_MISSPELT)}
    return _LONG_WORD.sub(lambda word: meant.get(word[0], word[0]), query) if meant else query


def _meant(word: str, knows: Callable[[str], bool], keywords: Bm25) -> str:
    """Return the neighbour that most tools hold; the word itself where it has none."""
    held = [(keywords.holding(stem(near)), near) for near in set(_one_slip_away(word)) if knows(near)]
    count, near = max(held, default=(0, word))
    return near if count else word


def _one_slip_away(word: str) -> Iterator[str]:
    """Yield a letter left out, doubled, mistaken, or two exchanged; hardly anyone gets the first one
    wrong.
    """
    for place in range(1, len(word) + 1):
        before, after = word[:place], word[place:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        yield from (before + letter + after[1:] for letter in ascii_lowercase)
        yield from (before + letter + after for letter in ascii_lowercase)
