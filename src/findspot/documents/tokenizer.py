"""The simple tokenizer of named indexes: runs of word characters, as their settings say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from findspot.core.errors import InvalidArgumentError

_WORD = re.compile(r"\w+")

TOO_SHORT = ""
"""Stands for a word below `min_length`: not indexed, but a phrase counts its place."""

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

    def places(self, text: str) -> list[str]:
        """Each word of a text in its place, as its token or as `TOO_SHORT`."""
        words = _WORD.findall(text.lower() if self.lowercase else text)
        least = self.min_length
        return words if least <= 1 else [word if len(word) >= least else TOO_SHORT for word in words]

    def tokens(self, text: str) -> list[str]:
        return [token for token in self.places(text) if token]

    def spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Each token with where it stands in the text."""
        for word in _WORD.finditer(text):
            token = word[0].lower() if self.lowercase else word[0]
            if len(token) >= self.min_length:
                yield token, word.start(), word.end()


def _length(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_MIN_LENGTH:
        raise InvalidArgumentError(
            f"tokenizer_config.min_length must be a whole number from 1 to {MAX_MIN_LENGTH}"
        )
    return value
