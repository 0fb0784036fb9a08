"""`bm25`: keywords, each tool's score as a share of the best one's."""

from __future__ import annotations

import numpy as np

from findspot.catalogue.model import SearchMode, SearchOptions
from findspot.catalogue.orchestrator import Ranked, ranked
from findspot.catalogue.toolset import ToolSet
from findspot.catalogue.words import query_terms


class Bm25Strategy:
    """Words of the query against words of the tools and their servers' names."""

    mode = SearchMode.BM25

    def initialize(self) -> None:
        """The words were counted when the tools were indexed."""

    def search(self, query: str, tools: ToolSet, options: SearchOptions) -> Ranked:
        scores = np.where(tools.allowed(options.server), tools.keywords.scores(query_terms(query)), 0)
        best = scores.max(initial=0)
        return ranked(scores / best if best > 0 else scores, tools)

    def dispose(self) -> None:
        """Nothing is held."""
