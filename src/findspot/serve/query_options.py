"""What a search asks, by the options of a tool, of a command or of the page: one reader for all of them.

What a value may be spelled like, `core.model.Query` reads itself, so that it means the same in the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from findspot.core.errors import InvalidArgumentError
from findspot.core.model import Query

DEFAULT_LIMIT, MAX_LIMIT = 10, 100
MAX_TOP_K = 50
_MAX_OFFSET = 10**18
_MAX_DIGITS = 20

_OPTIONS = (
    "corpus", "mode", "semantic_weight", "extensions", "languages", "path_filter", "exclude", "similar_to",
    "include_tests", "explain", "group_by", "changed_since", "dependency",
)  # fmt: skip


def query_of(given: Mapping[str, Any], **decided: Any) -> Query:
    """Return the search that options ask for; `decided` is what no option says.

    Options are named like the tools' arguments. None or an empty text means that an option was not given;
    a number may be text.
    """
    values = {name: given[name] for name in _OPTIONS if given.get(name) not in (None, "")}
    top_k = number(given, "top_k", DEFAULT_LIMIT, 1, MAX_TOP_K)
    values |= {
        "text": given.get("query") or "",
        "limit": number(given, "limit", top_k, 1, MAX_LIMIT),
        "offset": number(given, "offset", 0, 0, _MAX_OFFSET),
    }
    return Query(**values | decided)


def number(given: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    text = str(given.get(name) or default)
    digits = text.lstrip("0") or "0"
    if not (text.isascii() and text.isdecimal()) or not least <= int(digits[:_MAX_DIGITS]) <= most:
        raise InvalidArgumentError(f"'{name}' must be a whole number from {least} to {most}.", text[:50])
    return int(digits)
