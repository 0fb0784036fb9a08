"""From a ranking to passages: neighbours merged, copies left out, nothing that depends on the limit."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from findspot.search.definitions import joined
from findspot.search.hits import (
    BRIDGE_WITHIN,
    MAX_BRIDGED_CHUNKS,
    MAX_MERGED_CHUNKS,
    MERGE_WITHIN,
    Passage,
    spans_of,
)
from findspot.store.records import OUTLINE_ORDINAL, StoredChunk, chunk_number


def passages(ranked: list[int], copies: dict[int, str], never: Collection[int] = ()) -> list[Passage]:
    return [Passage(*span) for span in spans_of(ranked, copies, never).tolist()]


def ranking(*places: tuple[int, int]) -> list[int]:
    """Return chunks by file and place in it, best first."""
    return [chunk_number(file, place) for file, place in places]


def found(*places: tuple[int, int], same: tuple[int, ...] = ()) -> list[list[tuple[int, int]]]:
    shown = passages(ranking(*places), dict.fromkeys(same, "copy"))
    return [[(number >> 12, number & 0xFFF) for number in passage.numbers] for passage in shown]


def test_neighbours_join_the_better_one() -> None:
    assert found((1, 4), (2, 0), (1, 5)) == [[(1, 4), (1, 5)], [(2, 0)]]
    assert found((1, 4), (1, 3)) == [[(1, 3), (1, 4)]]


def test_a_chunk_between_two_passages_makes_them_one() -> None:
    assert found((1, 3), (2, 0), (1, 5), (1, 4)) == [[(1, 3), (1, 4), (1, 5)], [(2, 0)]]


def test_the_leader_is_the_one_that_ranked_best() -> None:
    (passage,) = passages(ranking((1, 3), (1, 5), (1, 4)), {})
    assert passage.rank == 0


def test_passages_have_a_size() -> None:
    chunks = [(1, place) for place in range(7)]
    assert [len(passage) for passage in found(*chunks)] == [3, 3, 1]
    # Between two that are full together, the better one grows.
    assert found((1, 0), (1, 1), (1, 4), (1, 3), (1, 2)) == [
        [(1, 0), (1, 1), (1, 2)],
        [(1, 3), (1, 4)],
    ]


def test_neighbours_of_other_files_are_none() -> None:
    assert found((1, OUTLINE_ORDINAL), (2, 0)) == [[(1, OUTLINE_ORDINAL)], [(2, 0)]]


def test_a_neighbour_far_down_the_ranking_stands_alone() -> None:
    others = [(file, 0) for file in range(2, 2 + MERGE_WITHIN)]
    assert [(1, 5)] in found((1, 4), *others, (1, 5))
    assert [(1, 4), (1, 5)] in found((1, 4), *others[:-1], (1, 5))


def test_copies_of_a_file_are_left_out() -> None:
    assert found((1, 0), (2, 0), (2, 1), (1, 1), same=(1, 2)) == [[(1, 0), (1, 1)]]
    assert found((2, 7), (1, 0), (1, 7), same=(1, 2)) == [[(2, 7)]]


def test_a_chunk_between_two_of_the_first_answers_with_them() -> None:
    assert found((1, 3), (1, 5)) == [[(1, 3), (1, 4), (1, 5)]]
    assert found((1, 5), (2, 0), (1, 3)) == [[(1, 3), (1, 4), (1, 5)], [(2, 0)]]
    assert found((1, 3), (2, 5)) == [[(1, 3)], [(2, 5)]]
    assert found((1, 2), (1, 3), (1, 5), (1, 6)) == [[(1, 2), (1, 3)], [(1, 5), (1, 6)]]
    others = [(file, 0) for file in range(2, 2 + BRIDGE_WITHIN)]
    assert found((1, 3), *others, (1, 5))[0] == [(1, 3)]


def test_one_bridge_leaves_another_in_place() -> None:
    assert found((1, 3), (2, 3), (1, 5), (2, 5)) == [[(1, 3), (1, 4), (1, 5)], [(2, 3), (2, 4), (2, 5)]]


def test_the_chunk_that_is_asked_with_joins_nothing() -> None:
    shown = passages(ranking((1, 3), (1, 5)), {}, {chunk_number(1, 4)})
    assert [list(passage.numbers) for passage in shown] == [[chunk_number(1, 3)], [chunk_number(1, 5)]]


def test_a_chunk_that_joins_two_passages_is_in_no_third() -> None:
    others = [(2, 2 * n) for n in range(MERGE_WITHIN)]
    left_out = dict.fromkeys((2, 3), "copy")
    shown = passages(ranking((3, 0), (1, 7), (1, 5), *others, (1, 8), (1, 6)), left_out)
    assert [list(passage.numbers) for passage in shown] == [
        ranking((3, 0)),
        ranking((1, 5), (1, 6), (1, 7)),
        ranking((1, 8)),
    ]


def test_copies_that_are_left_out_keep_their_ranks() -> None:
    left_out = [(2, 2 * n) for n in range(MERGE_WITHIN)]
    shown = passages(ranking((1, 1), (3, 1), *left_out, (3, 2)), dict.fromkeys((1, 2), "copy"))
    assert [list(passage.numbers) for passage in shown] == [[n] for n in ranking((1, 1), (3, 1), (3, 2))]


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
        assert len(passage.numbers) <= MAX_BRIDGED_CHUNKS
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
    lines = text.count("\n")
    return StoredChunk(
        start,
        "a.py",
        "python",
        start,
        start + lines,
        "definitions",
        "function",
        text,
        (),
        None,
        None,
        None,
        (),
    )


def test_blank_lines_between_chunks_are_given_back() -> None:
    assert joined([chunk(1, "a\nb"), chunk(5, "c")]) == "a\nb\n\n\nc"


def test_overlapping_lines_are_not_repeated() -> None:
    assert joined([chunk(1, "a\nb\nc"), chunk(2, "b\nc\nd")]) == "a\nb\nc\nd"
    assert joined([chunk(1, "a\nb\nc"), chunk(2, "b")]) == "a\nb\nc"
    assert joined([chunk(4, "alone")]) == "alone"
