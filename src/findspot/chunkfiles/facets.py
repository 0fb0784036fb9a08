"""Filters: which rows have a type and all of some tags, as sorted row numbers."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from findspot.chunkfiles.model import SearchOptions

Rows = NDArray[np.int64]


class Facets:
    """The rows of each chunk type and of each tag; tags are compared without regard to case."""

    def __init__(self, entries: Iterable[tuple[str, Sequence[str]]]) -> None:
        types: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        tagged: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        self.count = 0
        for row, (chunk_type, tags) in enumerate(entries):
            types[chunk_type].append(row)
            for tag in {tag.lower() for tag in tags}:
                tagged[tag].append(row)
            self.count = row + 1
        self._types = {name: np.array(rows, np.uint32) for name, rows in types.items()}
        self._tags = {name: np.array(rows, np.uint32) for name, rows in tagged.items()}

    @property
    def type_counts(self) -> dict[str, int]:
        return {name: rows.size for name, rows in sorted(self._types.items())}

    def rows(self, options: SearchOptions) -> Rows:
        """The rows that pass, in order."""
        none = np.empty(0, np.uint32)
        sets = [self._tags.get(tag.lower(), none) for tag in options.tags]
        if options.chunk_types:
            chosen = [self._types.get(name, none) for name in dict.fromkeys(options.chunk_types)]
            sets.append(np.sort(np.concatenate(chosen)))
        if not sets:
            return np.arange(self.count, dtype=np.int64)
        common = reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), sets)
        return common.astype(np.int64)
