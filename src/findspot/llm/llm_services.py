"""Language models behind HTTP: OpenAI's chat completions, which many servers speak, and Anthropic's messages.

The key goes into one header of the request and nowhere else.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from findspot.core.config import secret
from findspot.core.errors import LanguageModelError, ProviderError
from findspot.core.http_client import Address, Answer, RequestFailedError, refusal
from findspot.core.settings import LlmSettings
from findspot.llm.language_model import Bounded, ClientModel, Completion, LanguageModel, Prompt, Sample

MAX_ANSWER_BYTES = 4 << 20

_HINT = "Check `llm.endpoint` and `llm.model`, or set `llm.provider` to none."


@dataclass(frozen=True, slots=True)
class Dialect:
    """The request format of one kind of service, and where its answer has the text."""

    id: str
    base: str
    path: str
    model: str
    key_variable: str
    body: Callable[[str, Prompt], dict[str, Any]]
    headers: Callable[[str | None], dict[str, str]]
    text: Callable[[Any], Any]


def _openai_body(model: str, prompt: Prompt) -> dict[str, Any]:
    messages = [{"role": "system", "content": prompt.rules}, {"role": "user", "content": prompt.text}]
    return {"model": model, "messages": messages, "max_tokens": prompt.max_tokens, "temperature": 0}


def _openai_headers(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _anthropic_body(model: str, prompt: Prompt) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt.text}]
    return {"model": model, "system": prompt.rules, "messages": messages, "max_tokens": prompt.max_tokens}


def _anthropic_headers(key: str | None) -> dict[str, str]:
    return {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})


def _anthropic_text(answer: Any) -> str:
    return "".join(part["text"] for part in answer["content"] if part["type"] == "text")


OPENAI = Dialect(
    "openai",
    "https://api.openai.com/v1",
    "/chat/completions",
    "gpt-4o-mini",
    "OPENAI_API_KEY",
    _openai_body,
    _openai_headers,
    lambda answer: answer["choices"][0]["message"]["content"],
)
ANTHROPIC = Dialect(
    "anthropic",
    "https://api.anthropic.com/v1",
    "/messages",
    "claude-3-5-haiku-latest",
    "ANTHROPIC_API_KEY",
    _anthropic_body,
    _anthropic_headers,
    _anthropic_text,
)
DIALECTS = {dialect.id: dialect for dialect in (OPENAI, ANTHROPIC)}


class ServiceModel:
    """A model at an address; safe to use from several threads."""

    def __init__(
        self,
        dialect: Dialect,
        key: str | None,
        endpoint: str | None = None,
        model: str | None = None,
    ) -> None:
        self._dialect = dialect
        self._key = key
        self._endpoint = (endpoint or dialect.base).rstrip("/").removesuffix(dialect.path)
        self._needs_key = endpoint is None  # a server of one's own may want none
        self._model = model or dialect.model

    @property
    def name(self) -> str:
        return f"{self._dialect.id}:{self._model}"

    def complete(self, prompt: Prompt) -> Completion:
        """Send one request, without a retry: an answer without a model is better than a long wait."""
        if self._needs_key and not self._key:
            raise self._failure(
                "it needs a key", f"Set the environment variable {self._dialect.key_variable}."
            )
        body = json.dumps(self._dialect.body(self._model, prompt)).encode()
        answer = self._in_time(lambda: self._ask(body, prompt.timeout_s), prompt.timeout_s)
        if answer.status != 200:
            raise self._failure(*refusal(answer.status, self._model, self._dialect.key_variable))
        try:
            text = self._dialect.text(json.loads(answer.data))
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise self._failure("its answer holds no text") from error
        if not isinstance(text, str) or not text.strip():
            raise self._failure("its answer holds no text")
        return Completion(text, self.name)

    def _in_time(self, work: Callable[[], Answer], timeout_s: float) -> Answer:
        """Limit the time of the whole request: name lookup and slow response heads have no limit of their
        own."""
        outcome: Future[Answer] = Future()

        def run() -> None:
            try:
                outcome.set_result(work())
            except Exception as error:  # noqa: BLE001 - raised again by whoever waits
                outcome.set_exception(error)

        threading.Thread(target=run, name="language model", daemon=True).start()
        try:
            return outcome.result(timeout_s)
        except TimeoutError:
            raise self._failure(f"no answer within {timeout_s:.0f} seconds") from None

    def _ask(self, body: bytes, timeout_s: float) -> Answer:
        headers = {"Content-Type": "application/json", **self._dialect.headers(self._key)}
        try:
            address = Address(self._endpoint)
            return address.ask(
                "POST",
                self._dialect.path,
                body,
                headers,
                timeout_s=timeout_s,
                max_bytes=MAX_ANSWER_BYTES,
            )
        except ProviderError as error:
            raise self._failure(error.developer_message.partition(": ")[2]) from None
        except RequestFailedError as error:
            raise self._failure(str(error)) from error

    def _failure(self, detail: str, hint: str | None = None) -> LanguageModelError:
        return LanguageModelError(f"{self.name}: {detail}", hint=hint or _HINT)


NONE = "none"


def choose_model(settings: LlmSettings, client: Sample | None = None) -> LanguageModel | None:
    """Return the client's model or the configured service, for one answer of ours; with the provider `none`,
    neither."""
    if settings.provider == NONE:
        return None
    if client is not None:
        return Bounded(ClientModel(client))
    dialect = DIALECTS.get(settings.provider)
    if dialect is None:
        return None
    service = ServiceModel(dialect, secret(dialect.key_variable), settings.endpoint, settings.model)
    return Bounded(service)
