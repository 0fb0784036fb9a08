"""Language models against a real server on loopback that speaks the two protocols."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from findspot.core.errors import LanguageModelError
from findspot.core.settings import LlmSettings
from findspot.llm import (
    ANTHROPIC,
    OPENAI,
    PATIENCE_S,
    Completion,
    LanguageModel,
    Prompt,
    choose_model,
    service_model,
)
from loopback import Loopback, Reply, Request

KEY = "sk-a-secret-that-must-not-be-seen"
PROMPT = Prompt("Be brief.", "What is it?", 50)


def speak(request: Request) -> Reply:
    """What either service answers."""
    if request.path.endswith("/messages"):
        parts = [{"type": "text", "text": "A "}, {"type": "tool_use"}, {"type": "text", "text": "spade."}]
        return Reply(body={"content": parts})
    return Reply(body={"choices": [{"message": {"role": "assistant", "content": "A spade."}}]})


@pytest.fixture
def service() -> Iterator[Loopback]:
    server = Loopback(speak)
    yield server
    server.close()


@pytest.mark.parametrize("end", ["/v1", "/v1/", "/v1/chat/completions"])
def test_openai_is_asked_as_it_expects(service: Loopback, end: str) -> None:
    model = service_model(OPENAI, KEY, service.url + end, "small")
    assert model.complete(PROMPT).text == "A spade."
    (asked,) = service.requests
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "small",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is it?"}],
        "max_tokens": 50,
        "temperature": 0,
    }
    assert model.name == "openai:small"


def test_anthropic_is_asked_as_it_expects(service: Loopback) -> None:
    model = service_model(ANTHROPIC, KEY, f"{service.url}/v1", "small")
    assert model.complete(PROMPT).text == "A spade."
    (asked,) = service.requests
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert asked.body == {
        "model": "small",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "What is it?"}],
        "max_tokens": 50,
    }


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(401, "no"), "it refused the key (HTTP status 401)"),
        (Reply(404, "no"), "it knows no model 'small' (HTTP status 404)"),
        (Reply(500, "no"), "it answered with HTTP status 500"),
        (Reply(200, b"not json"), "its answer holds no text"),
        (Reply(200, {"choices": []}), "its answer holds no text"),
        (Reply(200, {"choices": [{"message": {"content": None}}]}), "its answer holds no text"),
        (Reply(200, {"choices": [{"message": {"content": " \n"}}]}), "its answer holds no text"),
        (
            Reply(200, {}, promised=100),
            "peer closed connection without sending complete message body (received 2 bytes, expected 100)",
        ),
    ],
)
def test_a_failure_is_told_without_the_key(
    service: Loopback, reply: Reply, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="findspot")
    service.answer = lambda _: reply
    with pytest.raises(LanguageModelError) as caught:
        service_model(OPENAI, KEY, service.url, "small").complete(PROMPT)
    assert caught.value.user_message == f"The language model failed: openai:small: {said}"
    assert caught.value.code == "PROVIDER_ERROR"
    told = "".join(traceback.format_exception(caught.value)) + caplog.text + caught.value.hint
    assert KEY not in told


def test_a_service_that_does_not_answer_is_not_waited_for(service: Loopback) -> None:
    ended = threading.Event()

    def never(_: Request) -> Reply:
        ended.wait(10)
        return Reply(200, {})

    service.answer = never
    with pytest.raises(LanguageModelError, match=r"no answer within"):
        service_model(OPENAI, KEY, service.url).complete(replace(PROMPT, timeout_s=0.2))
    ended.set()


@pytest.mark.parametrize("endpoint", ["ftp://somewhere", "http:///v1", "http://host:port"])
def test_an_address_that_is_none_is_named(endpoint: str) -> None:
    with pytest.raises(LanguageModelError, match="is not the address of a service"):
        service_model(OPENAI, KEY, endpoint).complete(PROMPT)


def test_a_key_that_cannot_be_sent_is_not_shown() -> None:
    with pytest.raises(LanguageModelError, match="the key cannot be sent") as caught:
        service_model(OPENAI, f"{KEY}\n", "http://127.0.0.1:9").complete(PROMPT)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_the_prompts_of_one_answer_share_one_patience() -> None:
    """protocol B9: two prompts do not wait twice."""
    now = [0.0]
    given: list[float] = []

    def slow(prompt: Prompt) -> Completion:
        given.append(prompt.timeout_s)
        now[0] += 6
        return Completion("late", "slow")

    model = LanguageModel("slow", slow, clock=lambda: now[0])
    model.complete(PROMPT)
    model.complete(PROMPT)
    assert given == [PATIENCE_S, PATIENCE_S - 6]
    with pytest.raises(LanguageModelError, match="took all the time"):
        model.complete(PROMPT)


class TestChoice:
    def settings(self, provider: str, **more: Any) -> LlmSettings:
        return LlmSettings(provider, more.get("endpoint"), more.get("model"))

    @pytest.mark.parametrize("provider", ["openai", "anthropic"])
    def test_without_a_key_nothing_is_sent(self, provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(f"{provider.upper()}_API_KEY", raising=False)
        model = choose_model(self.settings(provider))
        assert model is not None
        with pytest.raises(LanguageModelError, match="it needs a key") as caught:
            model.complete(PROMPT)
        assert f"{provider.upper()}_API_KEY" in caught.value.hint
