"""Search with help: the query expanded by related words, the results summed up in a few sentences."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from findspot.core.errors import LanguageModelError
from findspot.core.model import Assistance, Expansion, Mode, Query, Results, Synthesis
from findspot.llm import LanguageModel
from findspot.research.expansion import expand_by_model, expand_from_index
from findspot.research.synthesis import synthesize_by_model, synthesize_from_hits
from findspot.search.reader import IndexReader


def assisted_search(
    open_reader: Callable[[], AbstractContextManager[IndexReader]],
    query: Query,
    wanted: Assistance,
    model: LanguageModel | None,
) -> Results:
    """Expand the query, search, and sum up the results, as far as `wanted`.

    Both searches of an expansion read the same snapshot. It is not open while a language model is asked.
    Where the model fails, the index does the work and the answer says so.
    """
    warnings: list[str] = []
    expands = wanted.expand and _can_expand(query)
    expansion = _expand_by_model(model, query, warnings) if expands else None
    with open_reader() as reader:
        if expands and expansion is None:
            expansion = expand_from_index(reader, query)
        results = reader.search(replace(query, also=expansion.terms) if expansion else query)
    synthesis = _synthesize(results, model, warnings) if wanted.synthesize else None
    warning = " ".join(filter(None, (results.warning, *dict.fromkeys(warnings)))) or None
    return replace(results, expansion=expansion, synthesis=synthesis, warning=warning)


def _can_expand(query: Query) -> bool:
    return bool(query.text.strip()) and query.mode is not Mode.REGEX and query.similar_to is None


def _expand_by_model(model: LanguageModel | None, query: Query, warnings: list[str]) -> Expansion | None:
    if model is None:
        return None
    try:
        return expand_by_model(model, query)
    except LanguageModelError as error:
        warnings.append(f"{error.user_message}. The query was expanded from the index instead.")
        return None


def _synthesize(results: Results, model: LanguageModel | None, warnings: list[str]) -> Synthesis:
    if model is not None and results.hits:
        try:
            return synthesize_by_model(model, results.query, results.hits)
        except LanguageModelError as error:
            warnings.append(f"{error.user_message}. The synthesis is drawn from the results instead.")
    return synthesize_from_hits(results.hits)
