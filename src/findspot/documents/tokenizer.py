"""The simple tokenizer of named indexes: runs of word characters, as their settings say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from findspot.core.errors import InvalidArgumentError

_WORD = re.compile(r"\w+")

MAX_MIN_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """How an index reads text, both documents and queries."""

    lowercase: bool = True
    min_length: int = 2

    @classmethod
    def from_config(cls, config: Mapping[str, Any] | None) -> Tokenizer:
        """Read `tokenizer_config`; what it leaves out has its default."""
        given = dict(config or {})
        known = asdict(cls())
        if unknown := [name for name in given if name not in known]:
            raise InvalidArgumentError(
                f"Unknown tokenizer_config field: '{unknown[0]}'. Known fields: {', '.join(known)}."
            )
        lowercase = given.get("lowercase", known["lowercase"])
        if not isinstance(lowercase, bool):
            raise InvalidArgumentError("tokenizer_config.lowercase must be true or false")
        return cls(lowercase, _length(given.get("min_length", known["min_length"])))

    @property
    def config(self) -> dict[str, Any]:
        return asdict(self)

    def words(self, text: str) -> list[str]:
        """Return every word of a text in order, also those that are too short to be tokens."""
        return _WORD.findall(text.lower() if self.lowercase else text)

    def is_token(self, word: str) -> bool:
        """Return whether a word counts and scores; shorter ones are only looked for by operators."""
        return len(word) >= self.min_length

    def count(self, words: Iterable[str]) -> int:
        """Return how many of these words are tokens."""
        return sum(map(self.is_token, words))

    def folded(self, text: str) -> str:
        """Return a text in which words can be found, each character in its place."""
        return text.replace("İ", "I").lower() if self.lowercase else text  # it alone becomes two


def _length(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_MIN_LENGTH:
        raise InvalidArgumentError(
            f"tokenizer_config.min_length must be a whole number from 1 to {MAX_MIN_LENGTH}"
        )
    return value
