"""`api:openai` and `api:voyage` against a real server that speaks their protocol."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

import numpy as np
import pytest

from findspot.core.errors import ProviderError
from findspot.core.settings import EmbedSettings
from findspot.embed.embedder import EmbedMode
from findspot.embed.provider_registry import open_embedder
from findspot.embed.services import API_BATCH_TEXTS as BATCH_TEXTS
from findspot.embed.services import BATCH_CHARS, MAX_TRIES, OPENAI, VOYAGE, ApiEmbedder
from loopback import DIMENSIONS, Loopback, Reply, embeddings_api, vector

KEY = "sk-a-secret-that-must-not-be-seen"


@pytest.fixture
def api() -> Iterator[Loopback]:
    server = Loopback(embeddings_api)
    yield server
    server.close()


def openai(api: Loopback, **more: object) -> ApiEmbedder:
    return ApiEmbedder(OPENAI, KEY, f"{api.url}/v1", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", ["/v1", "/v1/", "/v1/embeddings"])
def test_the_request_is_what_the_service_expects(api: Loopback, end: str) -> None:
    rows = ApiEmbedder(OPENAI, KEY, api.url + end, "some-model").embed(["one", "three"], EmbedMode.PASSAGE)
    (asked,) = api.requests
    assert (asked.method, asked.path) == ("POST", "/v1/embeddings")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {"model": "some-model", "input": ["one", "three"], "encoding_format": "float"}
    wanted = np.array([vector("one"), vector("three")])
    np.testing.assert_allclose(rows, wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-6)


def test_voyage_is_told_questions_from_passages(api: Loopback) -> None:
    embedder = ApiEmbedder(VOYAGE, KEY, api.url)
    embedder.embed(["a"], EmbedMode.QUERY)
    embedder.embed(["b"], EmbedMode.PASSAGE)
    assert [asked.body["input_type"] for asked in api.requests] == ["query", "document"]
    assert {asked.body["model"] for asked in api.requests} == {"voyage-3-lite"}


def test_texts_go_in_batches_by_number_and_by_size(api: Loopback) -> None:
    openai(api).embed(["x"] * (BATCH_TEXTS + 1), EmbedMode.PASSAGE)
    assert [len(asked.body["input"]) for asked in api.requests] == [BATCH_TEXTS, 1]
    api.requests.clear()
    openai(api).embed(["x" * (BATCH_CHARS // 5 - 10)] * 6, EmbedMode.PASSAGE)
    assert [len(asked.body["input"]) for asked in api.requests] == [5, 1]


def test_blank_texts_are_not_sent(api: Loopback) -> None:
    rows = openai(api).embed(["", "word", " \n"], EmbedMode.PASSAGE)
    assert [asked.body["input"] for asked in api.requests] == [["word"]]
    assert [bool(row.any()) for row in rows] == [False, True, False]
    assert openai(api).embed([], EmbedMode.QUERY).shape == (0, DIMENSIONS)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_service_is_asked_again_after_the_time_it_names(api: Loopback, status: int) -> None:
    replies = iter([Reply(status, "busy", {"Retry-After": "7"}), Reply(status, "busy")])
    api.answer = lambda request: next(replies, None) or embeddings_api(request)
    waits: list[float] = []
    rows = openai(api, wait=waits.append).embed(["a"], EmbedMode.QUERY)
    assert rows.shape == (1, DIMENSIONS)
    assert waits[0] == 7
    assert 2 <= waits[1] <= 2.5
    assert len(api.requests) == 3


def test_a_service_that_stays_busy_is_given_up(api: Loopback) -> None:
    api.answer = lambda _: Reply(429, "busy")
    waits: list[float] = []
    with pytest.raises(ProviderError, match="HTTP status 429"):
        openai(api, wait=waits.append).embed(["a"], EmbedMode.QUERY)
    assert len(api.requests) == MAX_TRIES
    assert waits == sorted(waits)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_told_and_not_tried_again(api: Loopback, status: int) -> None:
    api.answer = lambda _: Reply(status, {"error": f"bad key {KEY}"})
    with pytest.raises(ProviderError, match="refused the key") as caught:
        openai(api).embed(["a"], EmbedMode.QUERY)
    assert "OPENAI_API_KEY" in caught.value.hint
    assert len(api.requests) == 1


GOOD = [0.5] * DIMENSIONS


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(404, "?"), "knows no model"),
        (Reply(400, "?"), "HTTP status 400"),
        (Reply(302, "", {"Location": "http://127.0.0.1:1/"}), "HTTP status 302"),
        (Reply(200, b"not json"), "no embeddings"),
        (Reply(200, {"rows": []}), "no embeddings"),
        (Reply(200, {"data": [{"index": 0, "embedding": "AAAA"}]}), "no embeddings"),
        (Reply(200, {"data": []}), "no vector for each"),
        (Reply(200, {"data": [{"index": 0, "embedding": [float("nan")] * DIMENSIONS}]}), "no numbers"),
        (Reply(200, {"data": [{"index": 0, "embedding": [1.0]}]}), f"1 dimensions, not {DIMENSIONS}"),
        (Reply(200, {"data": [{"index": 0, "embedding": GOOD}]}, promised=5_000), "peer closed connection"),
    ],
)
def test_wrong_answers_are_told(api: Loopback, reply: Reply, reason: str) -> None:
    embedder = openai(api)
    assert embedder.dimensions == DIMENSIONS
    api.answer = lambda _: reply
    with pytest.raises(ProviderError, match=reason):
        embedder.embed(["a"], EmbedMode.QUERY)


def test_the_key_is_never_shown(api: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="findspot")
    api.answer = lambda _: Reply(500, f"echo {KEY}")
    with pytest.raises(ProviderError) as caught:
        openai(api, wait=lambda _: None).embed(["a"], EmbedMode.QUERY)
    unsendable = ApiEmbedder(OPENAI, f"{KEY}\nHost: elsewhere", api.url)
    with pytest.raises(ProviderError, match="the key cannot be sent") as refused:
        unsendable.embed(["a"], EmbedMode.QUERY)
    traces = [*traceback.format_exception(caught.value), *traceback.format_exception(refused.value)]
    assert "asked again" in caplog.text
    assert KEY not in caplog.text + "".join(traces)
    assert KEY not in str(vars(caught.value)) + str(vars(refused.value))


def test_the_key_comes_from_the_environment(api: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    open_embedder("api:voyage", EmbedSettings("api:voyage", endpoint=api.url)).embed(["a"], EmbedMode.QUERY)
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"
    with pytest.raises(ProviderError, match="needs a key") as caught:
        open_embedder("api:openai")
    assert "OPENAI_API_KEY" in caught.value.hint


def test_another_model_or_another_server_is_another_revision(api: Loopback) -> None:
    assert ApiEmbedder(OPENAI, KEY).revision == "text-embedding-3-small"
    revisions = {
        ApiEmbedder(OPENAI, KEY, *more).revision for more in ((api.url,), (api.url, "b"), (None, "b"))
    }
    assert len(revisions) == 3
    hidden = ApiEmbedder(OPENAI, KEY, "http://user:password@127.0.0.1:9/v1")
    assert "password" not in hidden.revision
