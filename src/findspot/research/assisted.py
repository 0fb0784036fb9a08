"""A search with its query widened and its results told, by a language model or without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from findspot.core.errors import LanguageModelError
from findspot.core.model import Hit, Mode, Query, Results
from findspot.core.synthesis import Assistance, Expansion, Synthesis
from findspot.llm import LanguageModel
from findspot.research.expansion import expand_by_model
from findspot.research.synthesis import synthesize_by_model, synthesize_from_hits

Search = Callable[[Query], Results]
FromIndex = Callable[[Query, tuple[Hit, ...]], Expansion]


def assisted(
    search: Search, from_index: FromIndex, query: Query, wanted: Assistance, model: LanguageModel | None
) -> Results:
    """search, maybe again with more words, and maybe told; a model's trouble is only a warning."""
    said: list[str] = []
    expansion = None
    if wanted.expand and query.text.strip() and query.mode is not Mode.REGEX and query.similar_to is None:
        expansion = _expanded(search, from_index, query, model, said)
    results = search(replace(query, also=expansion.terms) if expansion else query)
    synthesis = _told(results, model, said) if wanted.synthesize else None
    warning = " ".join(filter(None, (results.warning, *dict.fromkeys(said)))) or None
    return replace(results, expansion=expansion, synthesis=synthesis, warning=warning)


def _expanded(
    search: Search, from_index: FromIndex, query: Query, model: LanguageModel | None, said: list[str]
) -> Expansion:
    if model is not None:
        try:
            return expand_by_model(model, query)
        except LanguageModelError as error:
            said.append(f"{error.user_message}. The query was expanded from the index instead.")
    return from_index(query, search(query).hits)


def _told(results: Results, model: LanguageModel | None, said: list[str]) -> Synthesis:
    if model is not None and results.hits:
        try:
            return synthesize_by_model(model, results.query, results.hits)
        except LanguageModelError as error:
            said.append(f"{error.user_message}. The synthesis is drawn from the results instead.")
    return synthesize_from_hits(results.hits)
