"""Searching vectors: segments are scanned exactly, those with lists in the lists near the query only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from findspot.store.segments import Mask, Numbers, Segment, is_allowed, live_rows, of_lines

_LEAST_ALLOWED = 0.5
"""Share of the rows read that must be allowed for lists to do: among few files, the best chunks
lie in lists further away."""

_FEW = 0.125
"""Share of a segment's rows up to which they are picked out for the comparison: beyond it, all are read."""

Scores = NDArray[np.float32]


def scan(
    segments: Sequence[Segment], query: NDArray[np.int8], allowed: Mask, top: int, *, exact: bool = False
) -> tuple[Numbers, Scores]:
    """Return the `top` chunks of lines nearest to the query among the allowed file revisions, best first.

    `allowed` is indexed by file number. Scores are cosines up to the query's own scale. Ties
    break by chunk number, so that the same snapshot gives the same answer.
    """
    found: list[tuple[Numbers, Scores]] = []
    for segment in segments:
        near = None if exact else _scan_lists(segment, query, allowed, top)
        if near is None:
            keep = live_rows(segment, allowed, only_lines=True)
            near = _best(segment.numbers[keep], _scores(segment, query, keep), top)
        found.append(near)
    return _merged(found, top)


def scan_among(
    segments: Sequence[Segment], query: NDArray[np.int8], wanted: Numbers, top: int
) -> tuple[Numbers, Scores]:
    """Return the `top` nearest of these chunks, outlines and all; `wanted` is sorted."""
    found: list[tuple[Numbers, Scores]] = []
    for segment in segments:
        places = np.searchsorted(wanted, segment.numbers)
        here = places < wanted.size
        here[here] = wanted[places[here]] == segment.numbers[here]
        keep = np.flatnonzero(here)
        found.append(_best(segment.numbers[keep], _scores(segment, query, keep), top))
    return _merged(found, top)


def score_of(
    segments: Sequence[Segment], query: NDArray[np.int8], numbers: Sequence[int]
) -> dict[int, float]:
    """Return the scores that `scan` would give these chunks."""
    wanted = np.array(sorted(numbers), np.int64)
    found: dict[int, float] = {}
    for segment in segments:
        rows, here = segment.places(wanted)
        scores = (segment.rows[rows].astype(np.int32) @ query.astype(np.int32)) * segment.scales[rows]
        found.update(zip(wanted[here].tolist(), scores.tolist(), strict=True))
    return found


def _scan_lists(
    segment: Segment, query: NDArray[np.int8], allowed: Mask, top: int
) -> tuple[Numbers, Scores] | None:
    """Return the best of the lists near the query; None where there are no lists, or they do not do."""
    if segment.lists is None:
        return None
    spans = list(segment.lists.near(query))
    if not spans:
        return None
    numbers = np.concatenate([segment.numbers[span] for span in spans])
    keep = np.flatnonzero(is_allowed(numbers, allowed) & of_lines(numbers))
    if keep.size < max(top, _LEAST_ALLOWED * numbers.size):
        return None
    scales = np.concatenate([segment.scales[span] for span in spans])
    dots = np.concatenate([_dots(segment.rows[span], query) for span in spans])
    return _best(numbers[keep], dots[keep] * scales[keep], top)


def _scores(segment: Segment, query: NDArray[np.int8], keep: NDArray[np.intp]) -> Scores:
    if keep.size <= _FEW * segment.numbers.size:
        dots = _dots(segment.rows[keep], query) if keep.size else np.empty(0, np.float32)
    else:
        dots = _dots(segment.rows, query)[keep]
    return dots * segment.scales[keep]


def _best(numbers: Numbers, scores: Scores, top: int) -> tuple[Numbers, Scores]:
    if scores.size > top:  # with all that tie for the last place: it is settled by number later
        best = np.flatnonzero(scores >= np.partition(scores, -top)[-top])
        numbers, scores = numbers[best], scores[best]
    return numbers, scores


def _merged(found: Sequence[tuple[Numbers, Scores]], top: int) -> tuple[Numbers, Scores]:
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    numbers = np.concatenate([n for n, _ in found])
    scores = np.concatenate([s for _, s in found])
    order = np.lexsort((numbers, -scores))[:top]
    return numbers[order], scores[order]


def _dots(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    import simsimd

    # Its answer is float64: exact for sums of products of int8.
    product = np.asarray(simsimd.cdist(query.reshape(1, -1), rows, metric="dot"))
    return product.reshape(-1).astype(np.float32)
