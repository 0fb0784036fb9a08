"""Reading chunk files, filtering and searching them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from e2e.cortex_files import DIMENSIONS, chunk, embedding, file_value, write_file, write_samples
from findspot.chunkfiles.chunk_reader import ChunkFilesError, Collection, SearchOptions, load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "chunks"


def loaded(folder: Path, dimensions: int | None = None, *, skip: bool = True) -> Collection:
    return load(folder, dimensions, skip_malformed=skip)


def found(collection: Collection, query: str, **options: Any) -> list[str]:
    vector = np.array(embedding(query), np.float32)
    vector /= np.linalg.norm(vector)
    return [result.chunk.id for result in collection.search(vector, SearchOptions(**options))]


def test_cosines_are_exact_and_ordered(folder: Path) -> None:
    chance = np.random.default_rng(5)
    vectors = chance.normal(size=(300, DIMENSIONS)) * chance.uniform(0.1, 50, (300, 1))
    chunks = [chunk(f"c{n:03}", "x", embedding=[float(v) for v in row]) for n, row in enumerate(vectors)]
    write_file(folder, "code-definitions.json", file_value("definitions", chunks))
    query = chance.normal(size=DIMENSIONS)
    exact = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    results = loaded(folder).search((query / np.linalg.norm(query)).astype(np.float32), SearchOptions(20))
    expected = np.argsort(-exact)[:20]
    assert [result.chunk.id for result in results] == [f"c{n:03}" for n in expected]
    assert [result.combined_score for result in results] == pytest.approx(exact[expected], abs=2e-6)


def test_filters_act_inside_the_scan(folder: Path) -> None:
    far = [chunk(f"near{n}", "password", tags=["go"]) for n in range(300)]
    write_file(
        folder,
        "a.json",
        file_value("definitions", [*far, chunk("far", "password other", tags=["go", "Rare"])]),
    )
    collection = loaded(folder)
    assert found(collection, "password", limit=1, tags=("rare",)) == ["far"]
    assert found(collection, "password", limit=1, tags=("rare", "go")) == ["far"]
    assert found(collection, "password", limit=1, tags=("rare", "absent")) == []


def test_ties_go_by_id(folder: Path) -> None:
    write_file(folder, "a.json", file_value("data", [chunk(name, "tea", "data") for name in "cab"]))
    assert found(loaded(folder), "tea") == ["a", "b", "c"]


BAD = {
    "cut.json": json.dumps(file_value("data", [chunk("x", "y")]))[:-40],
    "text.json": "hello",
    "list.json": [],
    "no-chunks.json": {"_metadata": {}},
    "no-head.json": {"chunks": [chunk("x", "y")]},
    "no-id.json": file_value("data", [chunk("", "y")]),
    "no-text.json": file_value("data", [chunk("x", "y") | {"text": None}]),
    "no-vector.json": file_value("data", [chunk("x", "y", embedding=None)]),
    "nan.json": file_value("data", [chunk("x", "y", embedding=[float("nan")] * DIMENSIONS)]),
    "ragged.json": file_value("data", [chunk("x", "y"), chunk("z", "y", embedding=[1.0])]),
    "other-length.json": file_value("data", [chunk("x", "y")], dimensions=7),
    "tags.json": file_value("data", [chunk("x", "y") | {"tags": [1]}]),
    "metadata.json": file_value("data", [chunk("x", "y", metadata=[1])]),
    "number.json": file_value("data", [5]),  # type: ignore[list-item]
    "digits.json": '{"_metadata": {"dimensions": ' + "9" * 5_000 + '}, "chunks": []}',
    "digits-in-chunk.json": '{"chunks": [{"id": ' + "9" * 5_000 + "}]}",
}


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_file_is_left_out_or_refused(
    folder: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_samples(folder)
    write_file(folder, name, BAD[name])
    collection = loaded(folder)
    assert len(collection.skipped) == 1
    assert name in collection.skipped[0]
    assert name in caplog.text
    assert len(found(collection, "password session invoice the of a user", min_score=-1.0)) == 6
    with pytest.raises(ChunkFilesError, match=name):
        loaded(folder, skip=False)


@pytest.mark.skipif(os.name == "nt", reason="Windows lets few accounts make links")
def test_links_are_refused(folder: Path, tmp_path: Path) -> None:
    """security 7: a committed link to another project's chunk file was read."""
    write_samples(folder)
    write_file(tmp_path / "other", "secret.json", file_value("data", [chunk("secret", "password", "data")]))
    (folder / "link.json").symlink_to(tmp_path / "other" / "secret.json")
    collection = loaded(folder)
    assert "secret" not in found(collection, "password", min_score=-1.0)
    assert collection.skipped[0].startswith("link.json: ")


def test_nothing_usable_is_an_error_that_names_the_files(folder: Path) -> None:
    write_file(folder, "text.json", "hello")
    with pytest.raises(ChunkFilesError, match=r"no usable chunk files .* text\.json: it is not valid JSON"):
        loaded(folder)


def test_wrong_dimensions_fail(folder: Path) -> None:
    write_samples(folder)
    with pytest.raises(
        ChunkFilesError, match=f"Wrong embedding dimensions: .* {DIMENSIONS}, 384 are configured"
    ):
        loaded(folder, 384)
    other = file_value("data", [chunk("x", "y", embedding=[1.0, 2.0])], dimensions=2)
    write_file(folder, "other.json", other)
    with pytest.raises(ChunkFilesError, match=r"Wrong embedding dimensions: other\.json has 2"):
        loaded(folder)


def test_models_never_meet(folder: Path) -> None:
    write_samples(folder)
    write_file(folder, "z.json", file_value("data", [chunk("x", "y")], model="other"))
    with pytest.raises(ChunkFilesError, match=r"z\.json was made with the model 'other'"):
        loaded(folder)
