"""The `http` provider against a real service on a loopback port."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from e2e.cortex_files import DIMENSIONS, embedding
from findspot.core.errors import ProviderError
from findspot.embed.embedder import EmbedMode
from findspot.embed.services import HTTP_BATCH_TEXTS as BATCH_TEXTS
from findspot.embed.services import HttpEmbedder
from loopback import Loopback, Reply


@pytest.mark.parametrize("end", ["", "/", "/embed", "/embed/"])
def test_an_address_with_or_without_the_path(service: Loopback, end: str) -> None:
    embedder = HttpEmbedder(service.url + end)
    vectors = embedder.embed(["a b"], EmbedMode.QUERY)
    (asked,) = service.requests
    assert (asked.path, asked.body) == ("/embed", {"texts": ["a b"], "mode": "query"})
    assert embedder.address == service.url + "/embed"
    expected = np.array(embedding("a b"))
    np.testing.assert_allclose(vectors[0], expected / np.linalg.norm(expected), atol=1e-6)


def test_texts_go_in_batches_in_the_mode_asked_for(service: Loopback) -> None:
    texts = [f"word{number}" for number in range(BATCH_TEXTS + 1)]
    vectors = HttpEmbedder(service.url).embed(texts, EmbedMode.PASSAGE)
    assert vectors.shape == (BATCH_TEXTS + 1, DIMENSIONS)
    assert [len(asked.body["texts"]) for asked in service.requests] == [BATCH_TEXTS, 1]
    assert {asked.body["mode"] for asked in service.requests} == {"passage"}


def test_dimensions_are_asked_for_once(service: Loopback) -> None:
    embedder = HttpEmbedder(service.url)
    assert (embedder.dimensions, embedder.dimensions) == (DIMENSIONS, DIMENSIONS)
    assert len(service.requests) == 1
    assert embedder.embed([], EmbedMode.QUERY).shape == (0, DIMENSIONS)


def test_a_service_that_never_answers(service: Loopback) -> None:
    over = threading.Event()
    service.answer = lambda _: Reply(500 + over.wait(60))
    with pytest.raises(ProviderError, match=r"no answer within 0\.2 seconds"):
        HttpEmbedder(service.url, timeout_s=0.2).embed(["a"], EmbedMode.QUERY)
    over.set()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(500), "HTTP status 500"),
        (Reply(302), "HTTP status 302"),
        (Reply(body={"vectors": []}), "no embeddings"),
        (Reply(body={"embeddings": []}), "no vector for each"),
        (Reply(body={"embeddings": [["x"]]}), "no embeddings"),
        (Reply(body={"embeddings": [[1.0], [2.0]]}), "no vector for each"),
        (Reply(body={"embeddings": [[1.0], [2.0, 3.0]]}), "no embeddings"),
        (Reply(body={"embeddings": [[float("nan")] * DIMENSIONS]}), "no numbers"),
        (Reply(body={"embeddings": [[1.0, 2.0]]}), f"2 dimensions, not {DIMENSIONS}"),
    ],
)
def test_wrong_answers_are_told(service: Loopback, reply: Reply, reason: str) -> None:
    """documents A12: a service that answers need not be started."""
    service.answer = lambda _: reply
    with pytest.raises(ProviderError, match=reason) as caught:
        HttpEmbedder(service.url, DIMENSIONS).embed(["a"], EmbedMode.QUERY)
    assert "Start the embedding service" not in caught.value.hint
    assert f"{caught.value.user_message}. The service runs" in caught.value.with_hint()


@pytest.mark.parametrize("endpoint", ["ftp://x", "http://", "file:///etc/passwd"])
def test_addresses_that_are_none(endpoint: str) -> None:
    with pytest.raises(ProviderError, match="is not the address"):
        HttpEmbedder(endpoint)
