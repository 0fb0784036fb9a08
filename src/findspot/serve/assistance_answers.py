"""Expansions and syntheses of results as fields and as lines, shortened to leave room for results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from findspot.core.model import CodeReference, Results, Synthesis
from findspot.search.token_budget import CHARS_PER_TOKEN

_SHARE = 0.35
"""Of an answer's room: a summary that leaves no room for results summarises nothing."""

_SHORT_SUMMARY_CHARS = 300

_EXPANDED_QUERY_CHARS = 120
"""Of a long query before the words that were added; the answer has it at full length already."""


def assistance_object(results: Results) -> dict[str, Any]:
    """Return an expansion and a synthesis as fields in camel case."""
    values: dict[str, Any] = {}
    if results.expansion is not None:
        values["expandedQuery"] = expanded_query(results)
        values["expandedBy"] = results.expansion.made_by
    if results.synthesis is not None:
        values["synthesis"] = _synthesis_object(results.synthesis)
        values["followUps"] = list(results.synthesis.follow_ups)
    return values


def assistance_flat(results: Results) -> dict[str, Any]:
    """Return an expansion and a synthesis as fields in snake case."""
    values = {_snake(name): value for name, value in assistance_object(results).items()}
    if "synthesis" in values:
        values["synthesis"] = {_snake(name): value for name, value in values["synthesis"].items()}
    return values


def assistance_lines(results: Results) -> Iterator[str]:
    """Yield an expansion and a synthesis as lines for people."""
    if results.expansion is not None and results.expansion.terms:
        yield f"Also searched for: {', '.join(results.expansion.terms)} (by {results.expansion.made_by})"
    synthesis = results.synthesis
    if synthesis is None:
        return
    yield f"{synthesis.summary} (by {synthesis.made_by}, confidence {synthesis.confidence:g})"
    yield from (f"- {insight}" for insight in synthesis.key_insights)
    yield from (f"  {place.path}:{place.line}  {place.text}" for place in synthesis.code_references)
    if synthesis.follow_ups:
        yield f"Ask next: {'; '.join(synthesis.follow_ups)}"


def expanded_query(results: Results) -> str:
    """Return the query with the words that were added to it."""
    terms = results.expansion.terms if results.expansion else ()
    return " ".join((cut(results.query, _EXPANDED_QUERY_CHARS), *terms))


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, with a mark where something is missing."""
    return text if len(text) <= most else text[: max(most - 1, 0)] + "…"


def shorten_assistance(results: Results, max_tokens: int) -> Results:
    """Return the results with an expansion and a synthesis that leave room for hits."""
    room = int(max_tokens * CHARS_PER_TOKEN * _SHARE)
    expansion, synthesis = results.expansion, results.synthesis
    if expansion is not None:
        while expansion.terms and len(" ".join(expansion.terms)) > max_tokens // 2:
            expansion = replace(expansion, terms=expansion.terms[:-1])
    if synthesis is not None:
        synthesis = next((form for form in _forms(synthesis, room) if _size(form) <= room), None)
    return replace(results, expansion=expansion, synthesis=synthesis)


def without_assistance(results: Results) -> Results:
    """Return the results without expansion and synthesis, for answers with room for hits alone."""
    return replace(results, expansion=None, synthesis=None)


def _forms(synthesis: Synthesis, room: int) -> Iterator[Synthesis]:
    """Yield a synthesis in shorter and shorter forms."""
    yield synthesis
    less = replace(
        synthesis,
        key_insights=synthesis.key_insights[:2],
        code_references=synthesis.code_references[:2],
        follow_ups=synthesis.follow_ups[:1],
    )
    yield less
    for most in (_SHORT_SUMMARY_CHARS, room // 3):
        short = cut(synthesis.summary, most)
        yield replace(less, summary=short, key_insights=(), code_references=(), follow_ups=())


def _size(synthesis: Synthesis) -> int:
    return len(json.dumps([_synthesis_object(synthesis), list(synthesis.follow_ups)], ensure_ascii=False))


def _synthesis_object(synthesis: Synthesis) -> dict[str, Any]:
    return {
        "summary": synthesis.summary,
        "keyInsights": list(synthesis.key_insights),
        "codeReferences": [_reference(place) for place in synthesis.code_references],
        "confidence": synthesis.confidence,
        "followUps": list(synthesis.follow_ups),
        "madeBy": synthesis.made_by,
    }


def _reference(place: CodeReference) -> dict[str, Any]:
    named = {"symbol": place.symbol} if place.symbol else {}
    return {"path": place.path, "line": place.line, "text": place.text, **named}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
