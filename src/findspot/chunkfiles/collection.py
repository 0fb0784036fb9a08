"""Chunks loaded from files: one state, searched by many threads and never changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from findspot.chunkfiles.facets import Facets
from findspot.chunkfiles.model import SearchOptions, SearchResult
from findspot.chunkfiles.reading import FileHead
from findspot.chunkfiles.spool import Spool, decoded
from findspot.embed.batch import quantise
from findspot.embed.protocol import Vectors
from findspot.store.segments import Segment
from findspot.store.vectors import scan_among

RESCORED = 32
"""Rows beyond the limit whose exact cosine is computed: the scan reads int8, which is off by up to
0.01, so that the last places may change hands."""


@dataclass(frozen=True, slots=True)
class Collection:
    """The vectors as int8 to scan, the texts and exact vectors in a spool."""

    segment: Segment
    facets: Facets
    spool: Spool
    head: FileHead
    skipped: tuple[str, ...] = ()
    """Files that were left out, each with the reason."""

    def search(self, vector: Vectors, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that pass the filters: by cosine, then by id."""
        if not vector.any():
            return []  # a query of which the model knows nothing is near to nothing
        query = quantise(vector[None])
        wanted = self.facets.rows(options)
        rows, _ = scan_among([self.segment], query.values[0], wanted, options.limit + RESCORED)
        scored = sorted(self._scored(rows.tolist(), vector), key=lambda item: -item[0])
        least = scored[: options.limit][-1][0] if scored else 0.0
        near = [(score, data) for score, data in scored if score >= max(least, options.min_score)]
        results = [SearchResult(decoded(data), score) for score, data in near]
        results.sort(key=lambda result: (-result.combined_score, result.chunk.id))
        return results[: options.limit]

    def _scored(self, rows: Sequence[int], vector: Vectors) -> list[tuple[float, bytes]]:
        dimensions = self.head.dimensions
        records = [self.spool.read(row, dimensions) for row in rows]
        return [(round(float(np.clip(known @ vector, -1, 1)), 6), data) for known, data in records]
