"""Ranked answers over the fixture project, reviewed as text; `UPDATE_GOLDEN=1` rewrites the files.

They hold what should survive a better model: places and the names of the strongest signals. Whether
answers are *good* is for the figures below, which a real drop makes fail.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from ranking_queries import GOLDEN, MORE, Case

from findspot import Query
from findspot.core.model import Hit
from shop_project import FILES, hits, shop
from goldens import compare

HERE = Path(__file__).parent
SHOWN = 3

MIN_MEAN_RECIPROCAL_RANK = 0.88
WITHIN = 3
MOST_SURE_OF_NOTHING = 0.3

UNNAMED = ("fused", "words", "cosine", "terms", "lead")
STRONG = {"keyword": 0.5, "semantic": 0.5} | dict.fromkeys(UNNAMED, math.inf)
"""From where a signal is worth naming; what is made of others is not named. 0.2 for the rest."""


def reasons(hit: Hit) -> str:
    assert hit.why
    pushed = [name for name, value in hit.why.items() if name.endswith("Factor") and value < 1]
    lifted = [
        name
        for name, value in hit.why.items()
        if not name.endswith("Factor") and value >= STRONG.get(name, 0.2)
    ]
    return ", ".join(sorted(lifted) + [f"less by {name}" for name in pushed]) or "nothing strong"


def shown(case: Case) -> str:
    options = "".join(f"{name}: {value}\n" for name, value in case.options.items())
    rows = [
        f"{place}. {hit.path}:{hit.span.start}-{hit.span.end}  {hit.breadcrumb or hit.kind}\n   {reasons(hit)}"
        for place, hit in enumerate(hits(case.text, limit=SHOWN, explain=True, **case.options), 1)
    ]
    return f"{case.text.strip()}\n{options}\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize("case", [c for c in GOLDEN if c.right], ids=lambda case: case.name)
def test_ranking(case: Case) -> None:
    compare(HERE / f"{case.name}.txt", shown(case))


def test_every_golden_file_belongs_to_a_query() -> None:
    assert {path.stem for path in HERE.glob("*.txt")} == {case.name for case in GOLDEN if case.right}


def test_what_nothing_fits_scores_low() -> None:
    for case in GOLDEN:
        if not case.right:
            assert all(hit.score < MOST_SURE_OF_NOTHING for hit in hits(case.text, **case.options))


def place_of_right(case: Case) -> int:
    found = [hit.path for hit in hits(case.text, limit=10, **case.options)]
    return next((place for place, path in enumerate(found, 1) if path in case.right), 0)


ANSWERED = [case for case in (*GOLDEN, *MORE) if case.right]


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_the_right_file_is_among_the_first(case: Case) -> None:
    assert all((FILES / path).is_file() for path in case.right)
    assert 1 <= place_of_right(case) <= WITHIN


def test_the_mean_reciprocal_rank_does_not_drop() -> None:
    places = [place_of_right(case) for case in ANSWERED]
    assert sum(1 / place for place in places if place) / len(places) >= MIN_MEAN_RECIPROCAL_RANK


def test_right_answers_score_higher_than_no_answers() -> None:
    sure = [hits(case.text, limit=1, **case.options)[0].score for case in ANSWERED]
    assert sum(score >= MOST_SURE_OF_NOTHING for score in sure) >= 0.9 * len(sure)


def test_the_whole_fixture_is_indexed() -> None:
    indexed = set(shop().files()[0])
    assert indexed == {path.relative_to(FILES).as_posix() for path in FILES.rglob("*") if path.is_file()}
    assert shop().search(Query("orders")).warning is None
