"""From a ranking to passages: neighbours merged, copies left out, nothing that depends on the limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.search.definitions import joined
from findspot.search.hits import MAX_MERGED_CHUNKS, MERGE_WITHIN, Passage, spans_of
from findspot.store.records import OUTLINE_ORDINAL, StoredChunk, chunk_number


def passages(ranked: list[int], copies: dict[int, str]) -> list[Passage]:
    return [Passage(*span) for span in spans_of(ranked, copies).tolist()]


def ranking(*places: tuple[int, int]) -> list[int]:
    """Return chunks by file and place in it, best first."""
    return [chunk_number(file, place) for file, place in places]


def found(*places: tuple[int, int], same: tuple[int, ...] = ()) -> list[list[tuple[int, int]]]:
    shown = passages(ranking(*places), dict.fromkeys(same, "copy"))
    return [[(number >> 12, number & 0xFFF) for number in passage.numbers] for passage in shown]


A, B = 1, 2
OTHERS = [(file, 0) for file in range(3, 3 + MERGE_WITHIN)]
"""Chunks of other files."""


@pytest.mark.parametrize(
    ("ranked", "shown"),
    [
        # Neighbours join the better one, and one that is found between two makes them one passage.
        ([(A, 4), (B, 0), (A, 5)], [[(A, 4), (A, 5)], [(B, 0)]]),
        ([(A, 4), (A, 3)], [[(A, 3), (A, 4)]]),
        ([(A, 3), (B, 0), (A, 5), (A, 4)], [[(A, 3), (A, 4), (A, 5)], [(B, 0)]]),
        # A passage has a size: between two that are full together, the better one grows.
        ([(A, n) for n in range(7)], [[(A, 0), (A, 1), (A, 2)], [(A, 3), (A, 4), (A, 5)], [(A, 6)]]),
        ([(A, 0), (A, 1), (A, 4), (A, 3), (A, 2)], [[(A, 0), (A, 1), (A, 2)], [(A, 3), (A, 4)]]),
        # Chunks of two files are no neighbours.
        ([(A, OUTLINE_ORDINAL), (B, 0)], [[(A, OUTLINE_ORDINAL)], [(B, 0)]]),
        # What was not found joins nothing.
        ([(A, 3), (A, 5)], [[(A, 3)], [(A, 5)]]),
        ([(A, 3), (B, 4)], [[(A, 3)], [(B, 4)]]),
    ],
)
def test_passages(ranked: list[tuple[int, int]], shown: list[list[tuple[int, int]]]) -> None:
    assert found(*ranked) == shown


def test_the_leader_is_the_one_that_ranked_best() -> None:
    (passage,) = passages(ranking((1, 3), (1, 5), (1, 4)), {})
    assert passage.rank == 0


def test_a_neighbour_far_down_the_ranking_stands_alone() -> None:
    others = OTHERS[:MERGE_WITHIN]
    assert [(A, 5)] in found((A, 4), *others, (A, 5))
    assert [(A, 4), (A, 5)] in found((A, 4), *others[:-1], (A, 5))


def test_copies_of_a_file_are_left_out() -> None:
    assert found((1, 0), (2, 0), (2, 1), (1, 1), same=(1, 2)) == [[(1, 0), (1, 1)]]
    assert found((2, 7), (1, 0), (1, 7), same=(1, 2)) == [[(2, 7)]]


def test_copies_that_are_left_out_keep_their_ranks() -> None:
    left_out = [(2, 2 * n) for n in range(MERGE_WITHIN)]
    apart = [[(3, 0)], [(1, 7)], [(1, 5)], [(1, 8)], [(1, 6)]]
    assert found((3, 0), (1, 7), (1, 5), *left_out, (1, 8), (1, 6), same=(2, 3)) == apart
    assert found((1, 1), (3, 1), *left_out, (3, 2), same=(1, 2)) == [[(1, 1)], [(3, 1)], [(3, 2)]]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8)), unique=True, max_size=50),
    st.sets(st.integers(0, 5)),
)
def test_every_chunk_is_in_one_passage_and_passages_keep_the_order(
    places: list[tuple[int, int]], same: set[int]
) -> None:
    ranked = ranking(*places)
    shown = passages(ranked, dict.fromkeys(same, "copy"))
    numbers = [number for passage in shown for number in passage.numbers]
    assert len(numbers) == len(set(numbers))
    kept = {passage.file_id for passage in shown}
    assert set(numbers) >= {number for number in ranked if number >> 12 in kept}
    assert len(kept & same) <= 1
    assert [passage.rank for passage in shown] == sorted(passage.rank for passage in shown)
    for passage in shown:
        assert len(passage.numbers) <= MAX_MERGED_CHUNKS
        assert ranked[passage.rank] in passage.numbers
        assert all(n >> 12 == passage.file_id for n in passage.numbers)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8)), unique=True, max_size=MERGE_WITHIN))
def test_neighbours_that_rank_alike_are_apart_only_when_too_large_together(
    places: list[tuple[int, int]],
) -> None:
    shown = passages(ranking(*places), {})
    for one in shown:
        for other in shown:
            if one.last + 1 == other.first and one.file_id == other.file_id:
                assert len(one.numbers) + len(other.numbers) > MAX_MERGED_CHUNKS


def chunk(start: int, text: str) -> StoredChunk:
    lines = (start, start + text.count("\n"))
    return StoredChunk(
        start, "a.py", "python", *lines, "definitions", "function", text, (), None, None, None, ()
    )


def test_blank_lines_between_chunks_are_given_back() -> None:
    assert joined([chunk(1, "a\nb"), chunk(5, "c")]) == "a\nb\n\n\nc"


def test_overlapping_lines_are_not_repeated() -> None:
    assert joined([chunk(1, "a\nb\nc"), chunk(2, "b\nc\nd")]) == "a\nb\nc\nd"
    assert joined([chunk(1, "a\nb\nc"), chunk(2, "b")]) == "a\nb\nc"
    assert joined([chunk(4, "alone")]) == "alone"
