"""Segments: what is written is read, and the nearest rows are found."""

from __future__ import annotations

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
def merged(plain: Segment, tmp_path: Path) -> Segment:
    """The same, written as two halves in the wrong order and put together."""
    halves = [Segment(plain.numbers[part], plain.scales[part], plain.rows[part]) for part in _halves()]
    return open_segment(tmp_path / _written(tmp_path, halves))


def _halves() -> tuple[slice, slice]:
    return slice(ROWS // 2, None), slice(0, ROWS // 2)


def _written(folder: Path, segments: list[Segment], live: int = FILES) -> str:
    name = write_segment(folder, segments, np.arange(FILES) < live)
    assert name is not None
    return name


def test_each_chunk_has_its_score_once_segments_are_merged(plain: Segment, merged: Segment) -> None:
    query, some = plain.rows[7], plain.numbers[5::17]
    asked = [*some.tolist(), 1 << 40]
    assert VectorReader([merged]).scores(query, asked) == VectorReader([plain]).scores(query, asked)
    for one, other in zip(
        VectorReader([merged]).nearest_among(query, some, 9),
        VectorReader([plain]).nearest_among(query, some, 9),
        strict=True,
    ):
        assert np.array_equal(one, other)


def test_rows_of_files_that_are_gone_are_left_out(plain: Segment, merged: Segment, tmp_path: Path) -> None:
    fewer = open_segment(tmp_path / _written(tmp_path, [merged], live=300))
    assert fewer.numbers.size == 3_000
    assert VectorReader([fewer]).scores(plain.rows[7], [2]) == VectorReader([plain]).scores(
        plain.rows[7], [2]
    )
    assert write_segment(tmp_path, [merged], np.zeros(FILES, np.bool_)) is None


def test_a_damaged_one_is_noticed(merged: Segment, plain: Segment, tmp_path: Path) -> None:
    path = tmp_path / _written(tmp_path, [plain])
    whole = path.read_bytes()
    for data in (whole[:-1], whole[:40], whole[:5_000] + b"\x55" + whole[5_001:]):
        path.write_bytes(data)
        with pytest.raises(DerivedDamagedError):
            open_segment(path)


@pytest.mark.parametrize("compiled", [vector_segments._native, None])
@pytest.mark.parametrize("top", [1, TOP, 60, 61, ROWS])
def test_the_nearest_are_those_of_the_plain_products(
    plain: Segment, monkeypatch: pytest.MonkeyPatch, top: int, compiled: object
) -> None:
    """With and without the compiled part."""
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
