"""Filters: which rows have a type and all of some tags, as sorted row numbers."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from findspot.chunkfiles.model import CONSTANT, SearchOptions
from findspot.core.model import ChunkType

Rows = NDArray[np.int64]
Rows32 = NDArray[np.uint32]


class Facets:
    """The rows of each chunk type and of each tag; tags are compared without regard to case."""

    def __init__(self) -> None:
        self.count = 0
        self._types: dict[str, array[int]] = {}
        self._tags: dict[str, array[int]] = {}

    def add(self, chunk_type: str, tags: Collection[str]) -> None:
        """The next row; constants are data too, also beside functions in one chunk."""
        self._types.setdefault(chunk_type, array("I")).append(self.count)
        if chunk_type == ChunkType.DEFINITIONS and CONSTANT in tags:
            self._types.setdefault(ChunkType.DATA, array("I")).append(self.count)
        for tag in {tag.lower() for tag in tags}:
            self._tags.setdefault(tag, array("I")).append(self.count)
        self.count += 1

    def truncate(self, count: int) -> None:
        """Forget the rows from this one on."""
        self.count = count
        for rows in (*self._types.values(), *self._tags.values()):
            while rows and rows[-1] >= count:
                rows.pop()

    def as_arrays(self) -> tuple[dict[str, list[tuple[str, int]]], NDArray[np.uint32]]:
        """Return the types and tags with how many rows each has, and all these rows in that order."""
        groups = {"types": self._types, "tags": self._tags}
        named = {group: [(name, len(rows)) for name, rows in held.items()] for group, held in groups.items()}
        parts = [np.frombuffer(rows, np.uint32) for held in groups.values() for rows in held.values() if rows]
        return named, np.concatenate(parts) if parts else np.empty(0, np.uint32)

    @classmethod
    def from_arrays(cls, named: Mapping[str, list[tuple[str, int]]], rows: Rows32, count: int) -> Facets:
        """Return what `as_arrays` described."""
        facets, at = cls(), 0
        facets.count = count
        for held, group in ((facets._types, "types"), (facets._tags, "tags")):
            for name, size in named[group]:
                held[name] = array("I", rows[at : at + size].astype(np.uint32).tobytes())
                at += size
        return facets

    @property
    def type_counts(self) -> dict[str, int]:
        return {name: len(rows) for name, rows in sorted(self._types.items()) if rows}

    def rows(self, options: SearchOptions) -> Rows:
        """Return the rows that pass, in order."""
        sets = [_rows(self._tags, tag.lower()) for tag in options.tags]
        if options.chunk_types:
            chosen = [_rows(self._types, name) for name in dict.fromkeys(options.chunk_types)]
            sets.append(np.unique(np.concatenate(chosen)))
        if not sets:
            return np.arange(self.count, dtype=np.int64)
        common = reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), sets)
        return common.astype(np.int64)


def _rows(held: dict[str, array[int]], name: str) -> NDArray[np.uint32]:
    return np.frombuffer(held[name], np.uint32) if held.get(name) else np.empty(0, np.uint32)
