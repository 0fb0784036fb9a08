"""`hybrid`: keywords and meaning, added where they agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from findspot.catalogue.model import SearchMode, SearchOptions
from findspot.catalogue.modes.embedding import NOTHING, EmbeddingStrategy
from findspot.catalogue.modes.fit import any_fits
from findspot.catalogue.modes.request import SYNONYM_SHARE, SYNONYMS, Request
from findspot.catalogue.orchestrator import Ranked, Scores, ranked
from findspot.catalogue.toolset import ToolSet

MEANING_SHARE = 0.6
"""Requests name the wish, tools name the means: meaning counts a little more than words. Mean
NDCG@10 over the six tool sets: 0.721 at 0.4, 0.732 at 0.5, 0.736 here, 0.733 at 0.8; leaving a set
out chooses 0.6 to 0.8."""


class HybridStrategy:
    """Both scores in units of their own spread over the catalogue, so that they can be added."""

    mode = SearchMode.HYBRID

    def __init__(self, embedding: EmbeddingStrategy) -> None:
        self._embedding = embedding

    def initialize(self) -> None:
        """What is needed was made ready by the modes this one is made of."""

    def search(self, query: str, tools: ToolSet, options: SearchOptions) -> Ranked:
        allowed = tools.allowed(options.server)
        request = self._embedding.read(query, tools, self.mode)
        likeness = self._embedding.likeness(request, tools)
        words = _keyword_scores(request, tools)
        fused = MEANING_SHARE * _spread(likeness.nearest) + (1 - MEANING_SHARE) * _spread(words)
        fits = any_fits(request, likeness.whole, fused, allowed, tools)
        if not fits and not (allowed & _holds_all(request, tools)).any():
            return NOTHING
        fused = np.where(allowed, fused, 0)
        best = fused.max(initial=0)
        return ranked((fused / best).astype(np.float32), tools) if best > 0 else NOTHING

    def dispose(self) -> None:
        """Nothing is held."""


def _spread(scores: Scores) -> Scores:
    """Return how far each stands out, in standard deviations: what is no better than most counts nothing."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros_like(scores)


def _keyword_scores(request: Request, tools: ToolSet) -> Scores:
    """As in mode `bm25`, and for a verb that a tool does not hold the best of its synonyms, in part."""
    scores = tools.keywords.scores(request.terms)
    for verb in sorted(SYNONYMS.keys() & request.terms):
        instead = np.max([tools.keywords.scores([other]) for other in SYNONYMS[verb]], axis=0)
        scores += np.maximum(0, SYNONYM_SHARE * instead - tools.keywords.scores([verb]))
    return scores


def _holds_all(request: Request, tools: ToolSet) -> NDArray[np.bool_]:
    """Tools with every word of the query, such as their very name: they fit, whatever a model makes of it."""
    terms = set(request.terms)
    holds: NDArray[np.bool_] = tools.keywords.held(terms) == max(1, len(terms))
    return holds
