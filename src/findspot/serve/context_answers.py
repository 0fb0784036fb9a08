"""Context chunks as an answer within its number of tokens: the best keep their text longest."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from findspot.search.fit import Fitted, token_count
from findspot.text.snippet import best_column, best_line, shorten
from findspot.text.tokens import tokens

if TYPE_CHECKING:
    from findspot.chunkfiles import SearchResult

MAX_TOKENS = 1_200
"""The default: what an assistant reads without losing sight of its task."""

_TEXT_CHARS = (1_200, 600, 300, 150)
"""How long texts are when not all fit; then the last results are left out."""

_NOTED = Fitted((), 999, 999)
"""So that saying what is left out fits too."""


def results_object(results: Sequence[SearchResult]) -> list[dict[str, Any]]:
    """Return results in the shape of the specification."""
    return [
        {"chunk": result.chunk.as_object(), "combined_score": result.combined_score} for result in results
    ]


def fitted(
    results: Sequence[SearchResult],
    query: str,
    max_tokens: int,
    around: Callable[[list[Any], str | None], Any],
) -> tuple[list[dict[str, Any]], str | None]:
    """Return as much of the results as fits, and what was left out; `around` builds the whole answer."""
    found = list(results)
    if _fits(found, None, max_tokens, around):
        return results_object(found), None
    kept = _shortened(found, query, max_tokens, around)
    for place, (whole, short) in enumerate(zip(found, kept, strict=False)):
        kept[place] = whole
        if not _fits(kept, _NOTED.note, max_tokens, around):
            kept[place] = short
            break
    shortened = sum(short != whole for whole, short in zip(found, kept, strict=False))
    counted = Fitted((), shortened, len(found) - len(kept))
    note = counted.note
    return results_object(kept), note and note.replace(f"of {counted.dropped} ", f"of {len(found)} ")


def _shortened(
    found: list[SearchResult], query: str, max_tokens: int, around: Callable[[list[Any], str | None], Any]
) -> list[SearchResult]:
    weights = dict.fromkeys(tokens(query), 1.0)
    kept = found
    for most in _TEXT_CHARS:
        kept = [_cut(result, weights, most) for result in found]
        if _fits(kept, _NOTED.note, max_tokens, around):
            return kept
    while kept and not _fits(kept, _NOTED.note, max_tokens, around):
        kept.pop()
    return kept


def _cut(result: SearchResult, weights: dict[str, float], max_chars: int) -> SearchResult:
    """Return a result with the passage of its text that holds the most of the query's words."""
    text = result.chunk.text
    if len(text) <= max_chars:
        return result
    focus = best_line(text, weights)
    column = best_column(text.split("\n")[focus], weights)
    return replace(result, chunk=replace(result.chunk, text=shorten(text, focus, max_chars, column)))


def _fits(
    results: Sequence[SearchResult],
    note: str | None,
    max_tokens: int,
    around: Callable[[list[Any], str | None], Any],
) -> bool:
    return token_count(json.dumps(around(results_object(results), note), ensure_ascii=False)) <= max_tokens
