"""Results of `cortex_search`, as many and as long as fit a number of tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from findspot.search.token_budget import left_out_note, token_count
from findspot.serve.search_answers import indented, one_line
from findspot.text.snippet import best_column, best_line, shorten
from findspot.text.tokens import tokens

if TYPE_CHECKING:
    from findspot.chunkfiles import SearchResult

MAX_CONTEXT_TOKENS = 1_200
"""The default: what an assistant reads without losing sight of its task."""

_TEXT_CHARS = (1_200, 600, 300, 150)
"""How long texts are when not all fit; then the last results are left out."""

_LONGEST_NOTE = "To fit max_tokens: 999 shortened, 999 left out of 999 results."


def chunk_results_object(results: Sequence[SearchResult]) -> list[dict[str, Any]]:
    """Return results in the shape of the specification."""
    return [
        {"chunk": result.chunk.as_object(), "combined_score": result.combined_score} for result in results
    ]


def chunks_text(answer: dict[str, Any]) -> str:
    """Return an answer as a compact listing: each chunk's title, then its text."""
    blocks = [
        f"{rank}. {one_line(result['chunk']['title'])}\n{indented(result['chunk']['text'])}"
        for rank, result in enumerate(answer["results"], 1)
    ]
    return "\n".join(filter(None, (*blocks, None if blocks else "No results.", answer.get("warning"))))


def fitted_chunks(
    results: Sequence[SearchResult],
    query: str,
    max_tokens: int,
    around: Callable[[list[Any], str | None], Any],
) -> tuple[list[dict[str, Any]], str | None]:
    """Return as much of the results as fits, and what was left out; `around` builds the whole answer."""
    whole_results = list(results)
    if _chunks_fit(whole_results, None, max_tokens, around):
        return chunk_results_object(whole_results), None
    shown = _shortened_chunks(whole_results, query, max_tokens, around)
    for position, (whole, short) in enumerate(zip(whole_results, shown, strict=False)):
        shown[position] = whole
        if not _chunks_fit(shown, _LONGEST_NOTE, max_tokens, around):
            shown[position] = short
            break
    shortened = sum(short != whole for whole, short in zip(whole_results, shown, strict=False))
    note = left_out_note(len(whole_results), shortened=shortened, left_out=len(whole_results) - len(shown))
    return chunk_results_object(shown), note


def _shortened_chunks(
    whole_results: list[SearchResult],
    query: str,
    max_tokens: int,
    around: Callable[[list[Any], str | None], Any],
) -> list[SearchResult]:
    weights = dict.fromkeys(tokens(query), 1.0)
    shown = whole_results
    for most in _TEXT_CHARS:
        shown = [_cut_chunk(result, weights, most) for result in whole_results]
        if _chunks_fit(shown, _LONGEST_NOTE, max_tokens, around):
            return shown
    while shown and not _chunks_fit(shown, _LONGEST_NOTE, max_tokens, around):
        shown.pop()
    return shown


def _cut_chunk(result: SearchResult, weights: dict[str, float], max_chars: int) -> SearchResult:
    """Return a result with the passage of its text that holds the most of the query's words."""
    text = result.chunk.text
    if len(text) <= max_chars:
        return result
    focus = best_line(text, weights)
    column = best_column(text.split("\n")[focus], weights)
    return replace(result, chunk=replace(result.chunk, text=shorten(text, focus, max_chars, column)))


def _chunks_fit(
    results: Sequence[SearchResult],
    note: str | None,
    max_tokens: int,
    around: Callable[[list[Any], str | None], Any],
) -> bool:
    return (
        token_count(json.dumps(around(chunk_results_object(results), note), ensure_ascii=False)) <= max_tokens
    )
