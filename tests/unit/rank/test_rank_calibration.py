"""The score of a hit as a probability, its word, and the tail of an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.core.model import FITS_FROM, LIKELY_FROM, STRONG_FROM, Strength
from findspot.rank.calibration import Evidence, calibrated, tail_start


class TestCalibration:
    share = st.floats(0, 1)

    @given(share, st.floats(-1, 1), share)
    def test_the_score_is_a_probability(self, covered: float, cosine: float, definition: float) -> None:
        assert 0 < Evidence(covered, cosine, definition).sure < 1

    @given(share, share, share, st.floats(0.001, 0.5))
    def test_more_evidence_never_lowers_it(
        self, covered: float, cosine: float, definition: float, more: float
    ) -> None:
        base = Evidence(covered, cosine, definition).sure
        assert Evidence(covered + more, cosine, definition).sure > base
        assert Evidence(covered, cosine + more, definition).sure > base
        assert Evidence(covered, cosine, definition + more).sure > base

    @given(share, st.lists(share, min_size=2, max_size=5))
    def test_it_falls_with_the_ranking(self, sure: float, relative: list[float]) -> None:
        falling = [calibrated(sure, value) for value in sorted(relative, reverse=True)]
        assert falling == sorted(falling, reverse=True)
        assert all(0 <= score <= 1 for score in falling)

    def test_no_evidence_scores_low_and_all_of_it_high(self) -> None:
        assert Evidence(0.0, 0.1, 0.0).sure < 0.3
        assert Evidence(1.0, 0.7, 1.0).sure > 0.9


@pytest.mark.parametrize(
    ("score", "word"),
    [(1.0, "strong"), (STRONG_FROM, "strong"), (0.5, "likely"), (LIKELY_FROM, "likely"), (0.0, "weak")],
)
def test_a_score_has_a_word(score: float, word: str) -> None:
    assert Strength.of(score) == word


def test_what_does_not_fit_is_weak() -> None:
    assert Strength.of(FITS_FROM - 0.001) is Strength.WEAK


class TestTail:
    @pytest.mark.parametrize(
        ("scores", "shown"),
        [
            ([], 0),
            ([0.01], 1),
            ([0.9, 0.5, 0.3, 0.2], 4),
            ([0.9, 0.5, 0.02, 0.01], 2),
            ([0.05, 0.04, 0.03], 3),
        ],
    )
    def test_it_begins_where_hits_fit_far_worse(self, scores: list[float], shown: int) -> None:
        assert tail_start(scores) == shown

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
    def test_the_best_hit_is_never_part_of_it(self, scores: list[float]) -> None:
        assert 1 <= tail_start(sorted(scores, reverse=True)) <= len(scores)
