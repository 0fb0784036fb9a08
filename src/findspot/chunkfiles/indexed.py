"""Answers from the project's own index: what the chunk files would hold, without writing them."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from findspot.chunkfiles.described import Describer
from findspot.chunkfiles.facets import Facets, Rows
from findspot.chunkfiles.model import SearchOptions, SearchResult
from findspot.core.errors import ModelMismatchError
from findspot.embed.batch import quantise
from findspot.embed.protocol import Embedder, EmbedMode, model_name
from findspot.store.protocol import Store
from findspot.store.snapshot import Snapshot


class _Generation:
    """What is derived from one state of the index: numbers, filters, descriptions."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.number = snapshot.generation
        self.describer = Describer(snapshot)
        self.facets = Facets()
        numbers = array("q")
        for number, chunk_type, tags in snapshot.facets():
            numbers.append(number)
            self.facets.add(chunk_type, self.describer.tags(number, tags))
        self.numbers: Rows = np.array(numbers, np.int64)


class IndexedChunks:
    """Searches the chunks of an index, outlines among them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._generation: _Generation | None = None

    def search(self, embedder: Embedder, query: str, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that pass the filters: by cosine, then by id."""
        with self._store.snapshot() as snapshot:
            meta = snapshot.meta()
            if meta.get("model") not in (None, model_name(embedder)):
                raise ModelMismatchError(meta["model"], model_name(embedder))
            state = self._state(snapshot)
            question = quantise(embedder.embed([query], EmbedMode.QUERY))
            if not question.values.any():
                return []
            wanted = state.numbers[state.facets.rows(options)]
            numbers, scores = snapshot.nearest_among(question.values[0], wanted, options.limit)
            chunks = snapshot.chunks(numbers.tolist())
            scale = float(question.scales[0])
            results = [
                SearchResult(state.describer.describe(chunks[number]), _cosine(score * scale))
                for number, score in zip(numbers.tolist(), scores.tolist(), strict=True)
            ]
        near = [result for result in results if result.combined_score >= options.min_score]
        return sorted(near, key=lambda result: (-result.combined_score, result.chunk.id))

    def stats(self) -> Mapping[str, Any]:
        with self._store.snapshot() as snapshot:
            state, meta = self._state(snapshot), snapshot.meta()
        return {
            "source": "index",
            "total_chunks": int(state.numbers.size),
            "chunks_by_type": state.facets.type_counts,
            "model": meta.get("model", ""),
        }

    def _state(self, snapshot: Snapshot) -> _Generation:
        with self._guard:
            if self._generation is None or self._generation.number != snapshot.generation:
                self._generation = _Generation(snapshot)
            return self._generation


def _cosine(value: float) -> float:
    return round(max(-1.0, min(1.0, value)), 6)
