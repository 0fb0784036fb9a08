"""What a request asks, as the library takes it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from findspot.core.errors import InvalidArgumentError
from findspot.core.model import Corpus, IncludeTests, Mode, Query

DEFAULT_LIMIT, MAX_LIMIT = 20, 100

_Choice = TypeVar("_Choice", bound=StrEnum)


def query_of(given: Mapping[str, str]) -> Query:
    """Return a search, with the signals behind each rank."""
    return Query(
        text=given.get("q", ""),
        corpus=choice(Corpus, given, "corpus", Corpus.CODE),
        limit=number(given, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT),
        offset=number(given, "offset", 0, 0, 100_000),
        mode=choice(Mode, given, "mode", Mode.HYBRID),
        languages=tuple(filter(None, given.get("languages", "").split(","))),
        path_filter=given.get("path") or None,
        include_tests=choice(IncludeTests, given, "tests", IncludeTests.AUTO),
        similar_to=given.get("similar") or None,
        explain=True,
    )


def choice(kind: type[_Choice], given: Mapping[str, str], name: str, default: _Choice) -> _Choice:
    try:
        return kind(given.get(name) or default)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidArgumentError(f"'{name}' must be one of {known}.", given[name]) from None


def number(given: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = given.get(name) or str(default)
    digits = text.lstrip("0") or "0"
    if not text or not (text.isascii() and text.isdecimal()) or not least <= int(digits[:10]) <= most:
        raise InvalidArgumentError(f"'{name}' must be a number from {least} to {most}.", text[:50])
    return int(digits)
