"""Segments whose rows stand in lists of like vectors: what they find, and when they are not enough."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from findspot.store import vector_segments
from findspot.store.records import ORDINAL_BITS, DerivedDamagedError
from findspot.store.vector_segments import Segment, VectorReader, open_segment, write_segment

ROWS, FILES, TOPICS, TOP = 4_000, 400, 40, 20


@pytest.fixture
def plain() -> Segment:
    """Vectors around some directions, in files of ten chunks each."""
    chance = np.random.default_rng(1)
    topics = chance.normal(size=(TOPICS, 64))
    vectors = topics[chance.integers(0, TOPICS, ROWS)] + chance.normal(scale=0.3, size=(ROWS, 64))
    rows = np.rint(vectors / np.abs(vectors).max(axis=1, keepdims=True) * 127).astype(np.int8)
    numbers = (np.arange(ROWS) // 10 << ORDINAL_BITS) + np.arange(ROWS) % 10
    return Segment(numbers, 1 / np.linalg.norm(rows, axis=1).astype(np.float32), rows)


@pytest.fixture
def listed(plain: Segment, tmp_path: Path) -> Segment:
    """The same, written as two halves in the wrong order and put together."""
    halves = [Segment(plain.numbers[part], plain.scales[part], plain.rows[part]) for part in _halves()]
    return open_segment(tmp_path / _written(tmp_path, halves), set())


def _halves() -> tuple[slice, slice]:
    return slice(ROWS // 2, None), slice(0, ROWS // 2)


def _written(folder: Path, segments: list[Segment], live: int = FILES) -> str:
    name = write_segment(folder, segments, np.arange(FILES) < live, listed_rows=1_000)
    assert name is not None
    return name


def test_lists_find_nearly_all_that_a_scan_finds(plain: Segment, listed: Segment) -> None:
    assert listed.lists is not None
    everything = np.ones(FILES, np.bool_)
    found = []
    for query in plain.rows[::40]:
        exact = VectorReader([plain]).nearest(query, everything, TOP)
        again = VectorReader([listed]).nearest(query, everything, TOP, exact=True)
        assert np.array_equal(exact[0], again[0])
        assert np.array_equal(exact[1], again[1])
        near = VectorReader([listed]).nearest(query, everything, TOP)[0]
        assert near[0] == exact[0][0]
        found.append(np.isin(exact[0], near).mean())
    assert np.mean(found) > 0.95


def test_each_chunk_has_the_score_it_has_without_lists(plain: Segment, listed: Segment) -> None:
    query, some = plain.rows[7], plain.numbers[5::17]
    asked = [*some.tolist(), 1 << 40]
    assert VectorReader([listed]).scores(query, asked) == VectorReader([plain]).scores(query, asked)
    for one, other in zip(
        VectorReader([listed]).nearest_among(query, some, 9),
        VectorReader([plain]).nearest_among(query, some, 9),
        strict=True,
    ):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("every", [3, 100], ids=["some files", "few files"])
def test_among_few_files_the_answer_is_exact(plain: Segment, listed: Segment, every: int) -> None:
    allowed = np.arange(FILES) % every == 0
    for query in plain.rows[::200]:
        assert np.array_equal(
            VectorReader([listed]).nearest(query, allowed, TOP)[0],
            VectorReader([plain]).nearest(query, allowed, TOP)[0],
        )


def test_what_is_new_is_found_beside_the_lists(plain: Segment, listed: Segment) -> None:
    new = Segment(np.array([FILES << ORDINAL_BITS], np.int64), plain.scales[:1], plain.rows[:1])
    found, _ = VectorReader([listed, new]).nearest(plain.rows[0], np.ones(FILES + 1, np.bool_), TOP)
    assert found[:2].tolist() == [0, FILES << ORDINAL_BITS]


def test_rows_of_files_that_are_gone_are_left_out(plain: Segment, listed: Segment, tmp_path: Path) -> None:
    fewer = open_segment(tmp_path / _written(tmp_path, [listed], live=300), set())
    assert fewer.numbers.size == 3_000
    assert VectorReader([fewer]).scores(plain.rows[7], [2]) == VectorReader([plain]).scores(
        plain.rows[7], [2]
    )
    assert write_segment(tmp_path, [listed], np.zeros(FILES, np.bool_)) is None


def test_a_damaged_one_is_noticed(listed: Segment, plain: Segment, tmp_path: Path) -> None:
    path = tmp_path / _written(tmp_path, [plain])
    whole = path.read_bytes()
    for data in (whole[:-1], whole[:40], whole[:5_000] + b"\x55" + whole[5_001:]):
        path.write_bytes(data)
        with pytest.raises(DerivedDamagedError):
            open_segment(path, set())


def test_without_simsimd_a_scan_finds_the_same(plain: Segment, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python for which there is no wheel gets the same numbers from numpy."""
    everything = np.ones(FILES, np.bool_)
    monkeypatch.setattr(vector_segments, "_native", None)
    with_simsimd = [VectorReader([plain]).nearest(query, everything, TOP) for query in plain.rows[::400]]
    vector_segments._simsimd.cache_clear()
    monkeypatch.setitem(sys.modules, "simsimd", None)
    try:
        assert vector_segments._simsimd() is None
        for query, expected in zip(plain.rows[::400], with_simsimd, strict=True):
            for values, wanted in zip(
                VectorReader([plain]).nearest(query, everything, TOP), expected, strict=True
            ):
                assert np.array_equal(values, wanted)
    finally:
        vector_segments._simsimd.cache_clear()


@pytest.mark.parametrize("compiled", [vector_segments._native, None])
@pytest.mark.parametrize("top", [1, TOP, 60, 61, ROWS])
def test_the_nearest_are_those_of_the_plain_products(
    plain: Segment, monkeypatch: pytest.MonkeyPatch, top: int, compiled: object
) -> None:
    """With and without the compiled part; no row is lost to the blocks of a scan."""
    monkeypatch.setattr(vector_segments, "_native", compiled)
    allowed = np.arange(FILES) % 7 > 0
    keep = np.flatnonzero(allowed[plain.numbers >> ORDINAL_BITS])
    reader = VectorReader([plain])
    for query in plain.rows[::400]:
        dots = plain.rows[keep].astype(np.int64) @ query.astype(np.int64)
        scores = dots.astype(np.float32) * plain.scales[keep]
        order = np.lexsort((plain.numbers[keep], -scores))[:top]
        numbers, found = reader.nearest(query, allowed, top)
        assert numbers.tolist() == plain.numbers[keep][order].tolist()
        assert found.tolist() == scores[order].tolist()
