"""The compiled part of ranking: whatever it is given, it returns what the same functions in Python return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from compiled import compiled_part
from findspot.store.vector_segments import Segment, best_in_python, scores_in_python
from findspot.store.word_counts import STORED_LENGTHS, WordCounts, score_in_python

compiled = compiled_part()

seeds = st.integers(0, 2**32)


@given(st.integers(0, 3_000), st.integers(1, 300), st.integers(1, 40), seeds)
def test_the_best_rows_are_found_alike(count: int, top: int, values: int, seed: int) -> None:
    """Few different values make many ties."""
    chance = np.random.default_rng(seed)
    rows, query = chance.integers(-values, values + 1, (count, 1), np.int8), np.array([3], np.int8)
    segment = Segment(np.arange(count), np.full(count, 0.5, np.float32), rows)
    keep = np.flatnonzero(chance.random(count) < 0.7)
    places, scores = compiled.best_rows(rows, segment.scales, query, keep, top)
    wanted = best_in_python(segment.numbers, keep, scores_in_python(segment, query, keep), top)
    assert keep[np.frombuffer(places, np.int64)].tolist() == wanted[0].tolist()
    assert np.frombuffer(scores, np.float32).tolist() == wanted[1].tolist()


ROWS, SCALES, QUERY = np.zeros((3, 4), np.int8), np.zeros(3, np.float32), np.zeros(4, np.int8)


@pytest.mark.parametrize("keep", [[3], [-1], [0, 1, 2, 0, 3]])
def test_rows_that_are_not_there_are_refused(keep: list[int]) -> None:
    with pytest.raises(IndexError):
        compiled.best_rows(ROWS, SCALES, QUERY, np.array(keep), 2)


@pytest.mark.parametrize(
    ("scales", "query", "top"), [(SCALES[:2], QUERY, 1), (SCALES, QUERY[:0], 1), (SCALES, QUERY, 0)]
)
def test_a_scan_that_cannot_be_is_refused(scales: object, query: object, top: int) -> None:
    with pytest.raises(ValueError, match=r"different lengths|no such number"):
        compiled.best_rows(ROWS, scales, query, np.array([0]), top)


letters = st.sampled_from("abcdef")


@given(
    st.dictionaries(st.integers(0, 50), st.lists(letters, max_size=40), min_size=1),
    st.lists(st.integers(0, 60), unique=True).map(sorted),
    st.lists(st.sampled_from("abcz"), min_size=1),
    seeds,
)
def test_words_are_scored_alike(
    texts: dict[int, list[str]], wanted: list[int], asked: list[str], seed: int
) -> None:
    part = WordCounts.of((number, " ".join(words)) for number, words in texts.items())
    hashes = np.concatenate([WordCounts.of([(0, word)]).words for word in asked])
    chance = np.random.default_rng(seed)
    terms = hashes, chance.random(hashes.size), STORED_LENGTHS, 0.1 + chance.random(STORED_LENGTHS.size)
    numbers = np.array(wanted, np.int64)
    found = [_scored(score, part, terms, numbers) for score in (compiled.word_scores, score_in_python)]
    assert found[0] == found[1]


def _scored(
    score: Any, part: WordCounts, terms: Any, numbers: NDArray[np.int64]
) -> tuple[list[float], list[list[bool]]]:
    scores, holds = np.full(numbers.size, 7.0), np.zeros((numbers.size, terms[0].size), np.bool_)
    score(part.columns, terms, numbers, scores, holds)
    return scores.tolist(), holds.tolist()


PART = WordCounts.of([(1, "a b"), (4, "b c c d")])
TERMS = PART.words[:2], np.ones(2), np.zeros(1), np.ones(1)
HELD = np.zeros((2, 2), np.bool_)


@pytest.mark.parametrize(
    ("field", "column"),
    [(1, PART.starts[:2]), (2, PART.lengths[:1]), (3, PART.words[:3]), (4, PART.counts[:3])],
)
def test_parts_of_other_sizes_are_refused(field: int, column: object) -> None:
    columns: list[object] = [*PART.columns]
    columns[field] = column
    with pytest.raises(ValueError, match="different lengths"):
        compiled.word_scores(tuple(columns), TERMS, PART.numbers, np.zeros(2), HELD)


@pytest.mark.parametrize("starts", [PART.starts + 3, PART.starts - 3])
def test_words_that_are_not_there_are_refused(starts: object) -> None:
    numbers, _, *others = PART.columns
    with pytest.raises(IndexError):
        compiled.word_scores((numbers, starts, *others), TERMS, numbers, np.zeros(2), HELD)


@pytest.mark.parametrize(
    "terms",
    [(TERMS[0][:1], *TERMS[1:]), (TERMS[0][:0], TERMS[1][:0], *TERMS[2:]), (*TERMS[:3], np.ones(2))],
)
def test_terms_of_other_sizes_are_refused(terms: object) -> None:
    with pytest.raises(ValueError, match="different lengths"):
        compiled.word_scores(PART.columns, terms, PART.numbers, np.zeros(2), HELD)


@pytest.mark.parametrize("held", [HELD[:1], np.zeros(5, np.bool_)])
def test_room_for_other_terms_is_refused(held: object) -> None:
    with pytest.raises(ValueError, match="different lengths"):
        compiled.word_scores(PART.columns, TERMS, PART.numbers, np.zeros(2), held)
