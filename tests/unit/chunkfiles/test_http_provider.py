"""The `http` provider against a real service on a loopback port."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
import pytest

from e2e.cortex_files import DIMENSIONS, EmbeddingService, embedding
from findspot.core.errors import ProviderError
from findspot.embed.embedder import EmbedMode
from findspot.embed.services import HTTP_BATCH_TEXTS as BATCH_TEXTS
from findspot.embed.services import HttpEmbedder


@pytest.mark.parametrize("end", ["", "/", "/embed", "/embed/"])
def test_an_address_with_or_without_the_path(service: EmbeddingService, end: str) -> None:
    embedder = HttpEmbedder(service.url + end)
    vectors = embedder.embed(["a b"], EmbedMode.QUERY)
    assert service.asked == [{"path": "/embed", "texts": ["a b"], "mode": "query"}]
    assert embedder.address == service.url + "/embed"
    expected = np.array(embedding("a b"))
    np.testing.assert_allclose(vectors[0], expected / np.linalg.norm(expected), atol=1e-6)


def test_texts_go_in_batches_in_the_mode_asked_for(service: EmbeddingService) -> None:
    texts = [f"word{number}" for number in range(BATCH_TEXTS + 1)]
    vectors = HttpEmbedder(service.url).embed(texts, EmbedMode.PASSAGE)
    assert vectors.shape == (BATCH_TEXTS + 1, DIMENSIONS)
    assert [len(asked["texts"]) for asked in service.asked] == [BATCH_TEXTS, 1]
    assert {asked["mode"] for asked in service.asked} == {"passage"}


def test_dimensions_are_asked_for_once(service: EmbeddingService) -> None:
    embedder = HttpEmbedder(service.url)
    assert (embedder.dimensions, embedder.dimensions) == (DIMENSIONS, DIMENSIONS)
    assert len(service.asked) == 1
    assert embedder.embed([], EmbedMode.QUERY).shape == (0, DIMENSIONS)


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ProviderError, match="refused") as caught:
        HttpEmbedder(f"127.0.0.1:{port}").check()
    assert "CORTEX_EMBEDDING_ENDPOINT" in caught.value.hint


def test_a_service_that_never_answers(service: EmbeddingService) -> None:
    service.blocked.clear()
    with pytest.raises(ProviderError, match=r"no answer within 0\.2 seconds"):
        HttpEmbedder(service.url, timeout_s=0.2).embed(["a"], EmbedMode.QUERY)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (500, "HTTP status 500"),
        (302, "HTTP status 302"),
        ({"vectors": []}, "no embeddings"),
        ({"embeddings": []}, "no vector for each"),
        ({"embeddings": [["x"]]}, "no embeddings"),
        ({"embeddings": [[1.0], [2.0]]}, "no vector for each"),
        ({"embeddings": [[1.0], [2.0, 3.0]]}, "no embeddings"),
        ({"embeddings": [[float("nan")] * DIMENSIONS]}, "no numbers"),
        ({"embeddings": [[1.0, 2.0]]}, f"2 dimensions, not {DIMENSIONS}"),
    ],
)
def test_wrong_answers_are_told(service: EmbeddingService, answer: Any, reason: str) -> None:
    """documents A12: a service that answers need not be started."""
    service.answer = answer
    with pytest.raises(ProviderError, match=reason) as caught:
        HttpEmbedder(service.url, DIMENSIONS).embed(["a"], EmbedMode.QUERY)
    assert "Start the embedding service" not in caught.value.hint
    assert f"{caught.value.user_message}. The service runs" in caught.value.with_hint()


@pytest.mark.parametrize("endpoint", ["ftp://x", "http://", "file:///etc/passwd"])
def test_addresses_that_are_none(endpoint: str) -> None:
    with pytest.raises(ProviderError, match="is not the address"):
        HttpEmbedder(endpoint)
