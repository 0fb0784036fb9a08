"""One answer made of those of several indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from findspot.core.model import Hit, Query, Results


def first_page(query: Query) -> Query:
    """Return what each index is asked, so that any page of the merged answer can be made of the answers."""
    return replace(query, limit=query.offset + query.limit, offset=0)


def merge(
    query: Query,
    answers: Sequence[Results],
    warnings: Iterable[str | None] = (),
    weight: Callable[[Hit], float] = lambda hit: 1.0,
) -> Results:
    """Return the wanted page of all hits, by their scores; those of an index where nothing fits come last."""
    fitting = [answer for answer in answers if answer.hits and not answer.nothing_fits]
    fits = {id(hit) for answer in fitting for hit in answer.hits}
    hits = sorted(
        (hit for answer in answers for hit in answer.hits),
        key=lambda h: (id(h) not in fits, -h.score * weight(h), h.project or "", h.path, h.span.start),
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
