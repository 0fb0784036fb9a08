"""`api:openai` and `api:voyage`: services paid by the text, reached with a key.

Any server that speaks OpenAI's `POST /embeddings` will do; Voyage's differs by one field. The key
goes into one header of the request and nowhere else.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from findspot.core.errors import ProviderError
from findspot.core.http_client import Address, Answer, RequestFailedError, refusal
from findspot.core.log import get_logger
from findspot.embed.chunk_vectors import unit
from findspot.embed.embedder import EmbedMode, Vectors, read_vectors

_log = get_logger("api")

TIMEOUT_S = 60.0
BATCH_TEXTS = 64
BATCH_CHARS = 100_000
"""A request may hold some 100k tokens; a batch stays well below, whatever the language."""

MAX_CHARS = 20_000
"""Characters sent per text: these models read about 8,000 tokens, and refuse more."""

MAX_TRIES = 6
_FIRST_WAIT_S = 1.0
_MAX_WAIT_S = 60.0
_HINT = "Check `embedding.endpoint` and `embedding.model`, or choose a `local:…` provider."
_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True)
class Dialect:
    """The address, the model and the request format of one service."""

    id: str
    base: str
    model: str
    key_variable: str
    modes: Mapping[EmbedMode, str] = field(default_factory=dict)
    """The service's names for the two modes, if it distinguishes them."""


OPENAI = Dialect("api:openai", "https://api.openai.com/v1", "text-embedding-3-small", "OPENAI_API_KEY")
VOYAGE = Dialect(
    "api:voyage",
    "https://api.voyageai.com/v1",
    "voyage-3-lite",
    "VOYAGE_API_KEY",
    {EmbedMode.QUERY: "query", EmbedMode.PASSAGE: "document"},
)
DIALECTS = {dialect.id: dialect for dialect in (OPENAI, VOYAGE)}


class ApiEmbedder:
    """Texts to vectors through a service; safe to use from several threads."""

    def __init__(
        self,
        dialect: Dialect,
        key: str | None,
        endpoint: str | None = None,
        model: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        if not key and not endpoint:  # a server of one's own may want none
            raise ProviderError(
                f"{dialect.id} needs a key", hint=f"Set the environment variable {dialect.key_variable}."
            )
        self.id = dialect.id
        self._dialect = dialect
        self._address = Address((endpoint or dialect.base).rstrip("/").removesuffix("/embeddings"))
        self._model = model or dialect.model
        self._key = key
        self._timeout_s = timeout_s
        self._wait = wait
        self._dimensions: int | None = None
        self.revision = self._model if endpoint is None else f"{self._model}@{self._address.text}"

    @property
    def dimensions(self) -> int:
        """The length of its vectors, requested once."""
        if self._dimensions is None:
            self._batch(["dimensions"], EmbedMode.QUERY)
        assert self._dimensions is not None
        return self._dimensions

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        """Return one unit row per text; blank texts, which these services refuse, are rows of zeros."""
        positions = [position for position, text in enumerate(texts) if text.strip()]
        parts = [
            self._batch(part, mode)
            for part in _batches([texts[position][:MAX_CHARS] for position in positions])
        ]
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        if parts:
            rows[positions] = np.concatenate(parts)
        return unit(rows)

    def close(self) -> None:
        """Do nothing: no resource is held between requests."""

    def _batch(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        request: dict[str, object] = {"model": self._model, "input": list(texts)}
        if self._dialect.modes:
            request["input_type"] = self._dialect.modes[mode]
        else:
            request["encoding_format"] = "float"
        answer = self._ask(json.dumps(request).encode())
        try:
            rows = sorted(json.loads(answer.data)["data"], key=lambda row: row["index"])
            found = [row["embedding"] for row in rows]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._failure("its answer holds no embeddings") from error
        vectors = read_vectors(found, len(texts), self._dimensions, self._failure)
        self._dimensions = vectors.shape[1]
        return vectors

    def _ask(self, body: bytes) -> Answer:
        """Send a request; send it again later if the service asks for that."""
        for tried in range(1, MAX_TRIES + 1):
            answer = self._ask_once(body)
            if answer.status == 200:
                return answer
            if answer.status not in _AGAIN or tried == MAX_TRIES:
                raise self._refused(answer.status)
            wait_s = _pause_s(tried, answer.headers.get("retry-after", ""))
            _log.info("%s: HTTP status %d, asked again in %.1f s", self.id, answer.status, wait_s)
            self._wait(wait_s)
        raise AssertionError("the last try raises")

    def _ask_once(self, body: bytes) -> Answer:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            return self._address.ask("POST", "/embeddings", body, headers, timeout_s=self._timeout_s)
        except RequestFailedError as error:
            raise self._failure(str(error)) from error

    def _refused(self, status: int) -> ProviderError:
        detail, hint = refusal(status, self._model, self._dialect.key_variable)
        return self._failure(detail, "Try again later." if status in _AGAIN else hint)

    def _failure(self, detail: str, hint: str | None = None) -> ProviderError:
        return ProviderError(f"{self._address.text}/embeddings: {detail}", hint=hint or _HINT)


def _batches(texts: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = []
    size = 0
    for text in texts:
        size += len(text)
        if not batches or len(batches[-1]) >= BATCH_TEXTS or size > BATCH_CHARS:
            batches.append([])
            size = len(text)
        batches[-1].append(text)
    return batches


def _pause_s(tried: int, retry_after: str) -> float:
    """Return the wait that the service asks for; otherwise it doubles each time, with jitter."""
    try:
        return min(_MAX_WAIT_S, max(0.0, float(retry_after)))
    except ValueError:
        return min(_MAX_WAIT_S, _FIRST_WAIT_S * float(2 ** (tried - 1)) * (1 + random.random() / 4))
