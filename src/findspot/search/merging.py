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
    """Return the wanted page of all hits, the best first: scores are probabilities, and can be compared."""
    hits = sorted(
        (hit for answer in answers for hit in answer.hits),
        key=lambda hit: (-hit.score * weight(hit), hit.project or "", hit.path, hit.span.start),
    )
    return Results(
        query.text,
        query.mode,
        tuple(hits[query.offset : query.offset + query.limit]),
        sum(answer.total for answer in answers),
        sum(answer.elapsed_ms for answer in answers),
        " ".join(dict.fromkeys(filter(None, warnings))) or None,
        offset=query.offset,
        nothing_fits=all(answer.nothing_fits for answer in answers),
    )
