"""One answer made of those of several indexes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from findspot.core.model import Query, Results

_LEAST = 1e-4

_AT_HOME, _NEAR, _DEFINES, _LARGE = 12.68, 4.54, 1.32, -0.49
"""What a first look is worth: where words are at home, the nearest chunk, a name, and the size."""
_NEAREST, _SCORE, _BEHIND = 0.64, 2.44, 2.9
"""What an answer is worth: its best hit's nearness, and the score and the place of each hit.

Both were fitted by `training/rank_members.py`; on an evaluation set, nothing was."""
_LEAST_NEAR = 0.05
_FAR_BEHIND = 3.0
"""Of a first look: with these, code_semble is answered by 2.3 of 20 members as by all."""
MOST_ASKED = 5


class Fit(NamedTuple):
    """What a first look says of how well an index may answer a question."""

    word_shares: Mapping[str, float]
    """The share of all chunks that hold each word of the question."""
    cosine: float = 0.0
    """The likeness of the nearest chunk."""
    defines: bool = False
    """Whether it defines what the question names."""
    chunks: int = 0


def may_answer(fits: Mapping[str, Fit]) -> list[str]:
    """Return the few indexes that the best hits can come from, the likeliest first."""
    worth = dict(zip(fits, _worth(list(fits.values())), strict=True))
    likeliest = sorted(worth, key=lambda name: -worth[name])[:MOST_ASKED]
    return [name for name in likeliest if worth[name] >= worth[likeliest[0]] - _FAR_BEHIND]


def _worth(fits: Sequence[Fit]) -> list[float]:
    return [
        _AT_HOME * at_home
        + _NEAR * math.log(max(fit.cosine, _LEAST_NEAR))
        + _DEFINES * fit.defines
        + _LARGE * math.log(max(fit.chunks, 1))
        for fit, at_home in zip(fits, at_home([fit.word_shares for fit in fits]), strict=True)
    ]


def first_page(query: Query) -> Query:
    """Return what each index is asked, so that any page of the merged answer can be made of the answers."""
    return replace(query, limit=query.offset + query.limit, offset=0)


def merge(
    query: Query, answers: Sequence[Results], warnings: Iterable[str | None] = (), fits: Sequence[Fit] = ()
) -> Results:
    """Return the wanted page of all hits; those of an index where nothing fits come last.

    `fits` are what a first look said of those that answer, in their order, and then of others.
    """
    looks = fits or [Fit(answer.word_shares) for answer in answers]
    fitting = [answer for answer in answers if answer.hits and not answer.nothing_fits]
    fitting_hits = {id(hit) for answer in fitting for hit in answer.hits}
    worth = {
        id(hit): place
        + _NEAREST * answer.nearness
        + _SCORE * hit.score
        + _BEHIND * math.log(max(hit.relative, _LEAST))
        for answer, place in zip(answers, _worth(looks), strict=False)
        for hit in answer.hits
    }
    hits = sorted(
        (hit for answer in answers for hit in answer.hits),
        key=lambda h: (id(h) not in fitting_hits, -worth[id(h)], h.project or "", h.path, h.span.start),
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


def at_home(shares: Sequence[Mapping[str, float]]) -> Iterator[float]:
    """Yield how much of the use of the question's words each index has: the mean of its shares of each."""
    total = Counter[str]()
    for each in shares:
        total.update(each)
    used = [word for word, share in total.items() if share]
    for each in shares:
        yield sum(each.get(word, 0.0) / total[word] for word in used) / max(1, len(used))
