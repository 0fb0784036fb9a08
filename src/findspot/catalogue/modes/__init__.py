"""The four ways of matching that come with Findspot."""

from __future__ import annotations

from collections.abc import Callable

from findspot.catalogue.modes.bm25 import Bm25Strategy
from findspot.catalogue.modes.embedding import EmbeddingStrategy
from findspot.catalogue.modes.hybrid import HybridStrategy
from findspot.catalogue.modes.regex import RegexStrategy
from findspot.catalogue.orchestrator import SearchOrchestrator
from findspot.embed.protocol import Embedder


def standard_orchestrator(embedder: Callable[[str], Embedder]) -> SearchOrchestrator:
    """Regex, BM25, embedding and hybrid; `embedder` opens the provider that an index names."""
    orchestrator = SearchOrchestrator()
    embedding = EmbeddingStrategy(embedder)
    for strategy in (RegexStrategy(), Bm25Strategy(), embedding, HybridStrategy(embedding)):
        orchestrator.register_strategy(strategy)
    return orchestrator
