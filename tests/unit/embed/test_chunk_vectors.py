"""Chunks to stored vectors: pooling, quantisation and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from findspot.core.model import Chunk, ChunkType, Span, Symbol
from findspot.embed.chunk_vectors import (
    NAMES_WEIGHT,
    PATH_WEIGHT,
    QuantisedVectors,
    chunk_key,
    embed_chunks,
    quantise,
    unit,
)
from findspot.embed.embedder import Embedder, EmbedMode, Vectors
from findspot.embed.provider_registry import open_embedder


def dequantise(quantised: QuantisedVectors) -> Vectors:
    return quantised.values.astype(np.float32) * quantised.scales[:, None]


CHUNK = Chunk(
    path="src/billing/invoice.py",
    span=Span(3, 9),
    text="def total(lines):\n    return sum(line.price * line.count for line in lines)\n",
    chunk_type=ChunkType.DEFINITIONS,
    kind="function",
    language="python",
    symbols=(Symbol("total", "function", 3),),
)


class Counting:
    """A real model that remembers what it was asked to embed."""

    def __init__(self, model: Embedder) -> None:
        self.model = model
        self.id, self.revision, self.dimensions = model.id, model.revision, model.dimensions
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        self.seen.extend(texts)
        return self.model.embed(texts, mode)

    def close(self) -> None:
        self.model.close()


@pytest.fixture(scope="module")
def model() -> Embedder:
    return open_embedder("local:static")


def test_a_chunk_is_its_body_its_path_and_its_names(model: Embedder) -> None:
    body, path, names = model.embed([CHUNK.text, CHUNK.path, "total"], EmbedMode.PASSAGE)
    expected = unit((body + PATH_WEIGHT * path + NAMES_WEIGHT * names)[None])[0]
    stored = dequantise(embed_chunks(model, [CHUNK]))[0]
    assert stored @ expected > 0.999


def test_each_path_is_embedded_once(model: Embedder) -> None:
    counting = Counting(model)
    embed_chunks(counting, [CHUNK] * 50)
    assert counting.seen.count(CHUNK.path) == 1


def test_vectors_do_not_depend_on_the_batch(model: Embedder) -> None:
    other = replace(CHUNK, path="docs/readme.md", text="How to pay an invoice", symbols=())
    together = embed_chunks(model, [other, CHUNK, other])
    alone = embed_chunks(model, [CHUNK])
    assert np.array_equal(together.values[1], alone.values[0])
    assert together.scales[1] == alone.scales[0]


def test_no_chunks_and_chunks_of_nothing(model: Embedder) -> None:
    assert len(embed_chunks(model, [])) == 0
    nothing = embed_chunks(model, [replace(CHUNK, path="", text="{}", symbols=())])
    assert not nothing.values.any()
    assert nothing.scales[0] == 0


floats = st.floats(-10, 10, width=32, allow_subnormal=False)


@given(arrays(np.float32, st.tuples(st.integers(0, 6), st.just(16)), elements=floats))
def test_quantising_is_off_by_half_a_step_at_most(vectors: Vectors) -> None:
    stored = quantise(vectors)
    assert stored.values.dtype == np.int8
    assert stored.scales.dtype == np.float32
    error = np.abs(dequantise(stored) - vectors)
    assert (error <= stored.scales[:, None] * 0.5001 + 1e-30).all()


@pytest.mark.parametrize(
    "changed",
    [
        replace(CHUNK, text=CHUNK.text + " "),
        replace(CHUNK, path="src/billing/other.py"),
        replace(CHUNK, context="from decimal import Decimal"),
        replace(CHUNK, symbols=()),
        replace(CHUNK, symbols=(Symbol("total", "function", 3), Symbol("x", "function", 4))),
    ],
)
def test_a_key_changes_with_everything_that_is_embedded(model: Embedder, changed: Chunk) -> None:
    assert chunk_key(model, changed) != chunk_key(model, CHUNK)


@pytest.mark.parametrize(
    "moved",
    [
        replace(CHUNK, span=Span(40, 46)),
        replace(CHUNK, symbols=(Symbol("total", "function", 40),)),
        replace(CHUNK, tags=("public",)),
    ],
)
def test_a_key_survives_edits_elsewhere_in_the_file(model: Embedder, moved: Chunk) -> None:
    assert chunk_key(model, moved) == chunk_key(model, CHUNK)
    assert np.array_equal(embed_chunks(model, [moved]).values, embed_chunks(model, [CHUNK]).values)


def test_keys_belong_to_a_model(model: Embedder) -> None:
    other = Counting(model)
    assert chunk_key(other, CHUNK) == chunk_key(model, CHUNK)
    other.revision = "v9"
    assert chunk_key(other, CHUNK) != chunk_key(model, CHUNK)
    assert len(chunk_key(model, CHUNK)) == 16
