"""One answer made of those of several indexes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from findspot.core.model import Hit, Query, Results

_LEAST = 1e-4


def first_page(query: Query) -> Query:
    """Return what each index is asked, so that any page of the merged answer can be made of the answers."""
    return replace(query, limit=query.offset + query.limit, offset=0)


def merge(
    query: Query,
    answers: Sequence[Results],
    warnings: Iterable[str | None] = (),
    weight: Callable[[Hit], float] = lambda hit: 1.0,
) -> Results:
    """Return the wanted page of all hits; those of an index where nothing fits come last.

    An index stands where its best hit is near the question, its other hits as far behind as their chances.
    """
    fitting = [answer for answer in answers if answer.hits and not answer.nothing_fits]
    fits = {id(hit) for answer in fitting for hit in answer.hits}
    worth = {
        id(hit): answer.nearness
        + math.log(_positive(hit.score) / _positive(answer.hits[0].score))
        + math.log(_positive(weight(hit)))
        for answer in answers
        for hit in answer.hits
    }
    hits = sorted(
        (hit for answer in answers for hit in answer.hits),
        key=lambda h: (id(h) not in fits, -worth[id(h)], h.project or "", h.path, h.span.start),
    )
    return Results(
        query.text,
        query.mode,
        tuple(hits[query.offset : query.offset + query.limit]),
        sum(answer.total for answer in answers),
        sum(answer.elapsed_ms for answer in answers),
        " ".join(dict.fromkeys(filter(None, warnings))) or None,
        offset=query.offset,
        nothing_fits=bool(hits) and not fitting,
    )


def _positive(value: float) -> float:
    return max(value, _LEAST)
