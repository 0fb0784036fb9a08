"""Ranking: the sum of tf · (ln(N / (df + 1)) + 1) over the query's tokens, raw."""

from __future__ import annotations

import heapq
import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from findspot.documents.postings import Mask, Postings
from findspot.documents.query import ParsedQuery

_SCORE_DECIMALS = 9
"""Sums of floats in another order differ in their last bits, which must not decide a tie."""


def rank(postings: Postings, query: ParsedQuery, k: int) -> tuple[list[tuple[str, float]], int]:
    """Return the best `k` documents with their scores, ties by id, and how many match in all.

    Where words or phrases are required, holding them is enough: short words score nothing.
    """
    scores = np.zeros(len(postings.ids), np.float64)
    if not len(postings) or not (query.scored or query.required):
        return [], 0
    for token, times in sorted(Counter(query.scored).items()):
        counts = postings.counts(token)
        holding = int(np.count_nonzero(counts))
        scores += counts * (times * (math.log(len(postings) / (holding + 1)) + 1))
    scores = scores.round(_SCORE_DECIMALS)
    matching = _admitted(postings, query)
    if not query.required:
        matching &= scores > 0
    return _best(postings.ids, scores, matching, k), int(np.count_nonzero(matching))


def _admitted(postings: Postings, query: ParsedQuery) -> Mask:
    """Return the documents that the operators let through."""
    admitted = postings.alive.copy()
    for mask in postings.holding(query.required):
        admitted &= mask
    for mask in postings.holding(query.must_not):
        admitted &= ~mask
    return admitted


def _best(ids: list[str], scores: NDArray[np.float64], matching: Mask, k: int) -> list[tuple[str, float]]:
    places = np.flatnonzero(matching)
    if places.size > k:  # only those that tie for the last places need their ids compared
        last = np.partition(scores[places], -k)[-k]
        above, tied = places[scores[places] > last], places[scores[places] == last]
        chosen = heapq.nsmallest(k - above.size, tied.tolist(), key=ids.__getitem__)
        places = np.concatenate([above, np.array(chosen, np.intp)])
    ranked = sorted(places.tolist(), key=lambda place: (-scores[place], ids[place]))
    return [(ids[place], float(scores[place])) for place in ranked]
