"""The score of a hit as a probability, its word, and the tail of an answer."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.core.model import LIKELY_FROM, STRONG_FROM, Corpus, Hit, Mode, Span, Strength
from findspot.rank.calibration import (
    RECIPES,
    TAIL_SHARE,
    Evidence,
    Recipe,
    calibrated,
    nothing_fits,
    recipe_for,
    tail_start,
)

SHARE = st.floats(0, 1)
EVIDENCE = st.builds(
    Evidence, st.floats(-1, 1), st.floats(0, 3), SHARE, SHARE, st.integers(0, 48), st.floats(-1, 1)
)
NOTHING = Evidence(cosine=0.1, words=0.0, definition=0.0, path=0.0, terms=6, lead=0.05)
EVERYTHING = Evidence(cosine=0.8, words=1.2, definition=1.0, path=0.5, terms=6, lead=0.6)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=map(" ".join, RECIPES))
class TestCalibration:
    @given(found=st.lists(EVIDENCE, min_size=1, max_size=5))
    def test_scores_are_probabilities_that_fall(self, recipe: Recipe, found: list[Evidence]) -> None:
        scores = list(calibrated(recipe, found))
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)

    def test_no_evidence_scores_low_and_all_of_it_high(self, recipe: Recipe) -> None:
        assert Strength.of(next(calibrated(recipe, [NOTHING]))) is Strength.WEAK
        assert Strength.of(next(calibrated(recipe, [EVERYTHING]))) is Strength.STRONG
        assert nothing_fits(recipe, [NOTHING, EVERYTHING])
        assert not nothing_fits(recipe, [EVERYTHING, NOTHING])
        assert not nothing_fits(recipe, [])

    def test_a_name_that_is_defined_always_fits(self, recipe: Recipe) -> None:
        assert not nothing_fits(recipe, [NOTHING._replace(definition=1.0)])

    @given(found=st.lists(EVIDENCE, min_size=1, max_size=3))
    def test_where_nothing_fits_every_hit_is_weak(self, recipe: Recipe, found: list[Evidence]) -> None:
        if nothing_fits(recipe, found):
            assert {Strength.of(score) for score in calibrated(recipe, found)} == {Strength.WEAK}

    def test_being_further_ahead_never_lowers_the_first(self, recipe: Recipe) -> None:
        close, clear = (next(calibrated(recipe, [EVERYTHING._replace(lead=lead)])) for lead in (0.0, 0.5))
        assert close < clear


def test_each_kind_of_search_has_a_recipe() -> None:
    assert set(RECIPES) == set(product(Corpus, set(Mode) - {Mode.REGEX}))
    assert recipe_for(Corpus.DOCS, words=True, meaning=False) is RECIPES[Corpus.DOCS, Mode.KEYWORD]
    assert recipe_for(Corpus.CODE, words=False, meaning=True) is RECIPES[Corpus.CODE, Mode.SEMANTIC]


@pytest.mark.parametrize(
    ("score", "word"),
    [(1.0, "strong"), (STRONG_FROM, "strong"), (0.5, "likely"), (LIKELY_FROM, "likely"), (0.0, "weak")],
)
def test_a_score_has_a_word(score: float, word: str) -> None:
    assert Strength.of(score) == word


def hit(score: float, relative: float) -> Hit:
    return Hit("a.py", Span(1, 2), "", score, "function", "python", relative=relative)


class TestTail:
    WEAK, FAR, NEAR = LIKELY_FROM / 2, TAIL_SHARE[Mode.HYBRID] / 2, TAIL_SHARE[Mode.HYBRID]

    def test_it_begins_where_a_weak_hit_ranks_far_behind(self) -> None:
        assert tail_start([hit(0.9, 1.0), hit(self.WEAK, self.NEAR), hit(self.WEAK, self.FAR)]) == 2

    def test_a_hit_that_is_likely_or_near_is_not_part_of_it(self) -> None:
        assert tail_start([hit(0.9, 1.0), hit(LIKELY_FROM, self.FAR), hit(self.WEAK, self.NEAR)]) == 3

    def test_the_best_hit_is_never_part_of_it(self) -> None:
        assert tail_start([]) == 0
        assert tail_start([hit(0.0, 1.0)]) == 1

    def test_a_later_page_is_shown_whole(self) -> None:
        assert tail_start([hit(self.WEAK, self.FAR), hit(self.WEAK, self.FAR)]) == 2

    def test_words_alone_are_trusted_less_to_leave_something_out(self) -> None:
        hits = [hit(0.9, 1.0), hit(self.WEAK, 0.3)]
        assert (tail_start(hits), tail_start(hits, Mode.KEYWORD), tail_start(hits, Mode.REGEX)) == (1, 2, 2)
