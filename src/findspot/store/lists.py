"""Lists of like vectors in a large segment, so that a search need not read all of it.

The rows of such a segment stand list by list, each list around its centre. A search reads the lists
whose centres are nearest to the query. What is found is scored exactly; what is in other lists is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

LISTED_ROWS = 200_000
"""Smaller segments are scanned whole, which takes them less than ten milliseconds."""

PROBED_SHARE = 0.2
"""Lists that a search reads, as a share of all."""

_TRAINING_ROWS_A_LIST = 40
"""What k-means wants to see of a list to place its centre."""

_ROUNDS = 6
"""Of k-means: later ones move hardly a row."""

_BLOCK_ROWS = 8_192
"""Rows compared with all centres at a time: their likenesses take some thirty megabytes."""

Floats = NDArray[np.float32]
RowsAt = Callable[[NDArray[np.intp]], NDArray[np.int8]]


@dataclass(frozen=True, slots=True)
class Lists:
    """Where each list of a segment starts, and around what it lies."""

    centres: Floats
    """One unit row a list."""
    starts: NDArray[np.int64]
    """The first row of each list, and the end of the last."""
    by_number: NDArray[np.int32]
    """The rows in the order of their chunks' numbers."""

    def near(self, query: NDArray[np.int8]) -> Iterator[slice]:
        """Yield the rows of the lists nearest to a query; lists that stand together come as one."""
        likeness = self.centres @ query.astype(np.float32)
        probed = max(1, int(self.centres.shape[0] * PROBED_SHARE))
        chosen = np.sort(np.argpartition(-likeness, probed - 1)[:probed])
        apart = np.flatnonzero(np.diff(chosen) > 1) + 1
        for run in np.split(chosen, apart):
            span = slice(int(self.starts[run[0]]), int(self.starts[run[-1] + 1]))
            if span.start < span.stop:
                yield span


def centres_of(rows_at: RowsAt, count: int) -> Floats:
    """Return where the vectors of some rows gather: k-means by direction over a sample, the same every
    time.
    """
    lists = isqrt(count)
    chance = np.random.default_rng(count)
    sample = _units(
        rows_at(np.sort(chance.choice(count, min(count, lists * _TRAINING_ROWS_A_LIST), replace=False)))
    )
    centres = sample[chance.choice(sample.shape[0], lists, replace=False)]
    for _ in range(_ROUNDS):
        places = _places(sample, centres)
        order = np.argsort(places, kind="stable")
        taken, firsts = np.unique(places[order], return_index=True)
        centres = centres.copy()
        centres[taken] = _units(np.add.reduceat(sample[order], firsts, axis=0))
    return centres


def lists_of(rows_at: RowsAt, count: int, centres: Floats) -> NDArray[np.int32]:
    """Return the list of each row: that of the nearest centre."""
    found = np.empty(count, np.int32)
    for first in range(0, count, _BLOCK_ROWS):
        block = np.arange(first, min(first + _BLOCK_ROWS, count))
        found[block] = _places(_units(rows_at(block)), centres)
    return found


def _places(rows: Floats, centres: Floats) -> NDArray[np.int32]:
    parts = (rows[first : first + _BLOCK_ROWS] for first in range(0, rows.shape[0], _BLOCK_ROWS))
    return np.concatenate([np.argmax(part @ centres.T, axis=1) for part in parts]).astype(np.int32)


def _units(rows: NDArray[np.int8] | Floats) -> Floats:
    wide = rows.astype(np.float32)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    units: Floats = wide / np.maximum(lengths, np.float32(1e-9))
    return units
