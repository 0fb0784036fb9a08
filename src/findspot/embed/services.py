"""Services that embed: `http` (S2's `POST /embed`), and `api:openai` and `api:voyage`, which want a key.

Any server that speaks OpenAI's `POST /embeddings` will do; Voyage's differs by one field. The key goes into
one header of the request and nowhere else. If the configuration names the program of the `http` service, it
is started when nobody answers, and ended with its user.
"""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from findspot.core.errors import ProviderError
from findspot.core.http_client import Address, Answer, RequestFailedError, refusal
from findspot.core.log import get_logger
from findspot.core.platforms import NO_WINDOW, resolved
from findspot.embed.chunk_vectors import unit
from findspot.embed.embedder import EmbedMode, Vectors

_log = get_logger("service")

QUESTION_TIMEOUT_S = 5.0
"""Of a whole request: a question waits no longer, whatever the service does."""
TIMEOUT_S = 60.0
"""While indexing: a slow machine may need this for a batch of passages."""
START_TIMEOUT_S = 60.0
"""A service may have to load a model before it answers."""
_POLL_S = 0.1
_END_S = 5.0

HTTP_BATCH_TEXTS = 32
API_BATCH_TEXTS = 64
BATCH_CHARS = 100_000
"""A request may hold some 100k tokens; a batch stays well below, whatever the language."""
MAX_CHARS = 20_000
"""Characters sent per text: hosted models read about 8,000 tokens, and refuse more."""

MAX_TRIES = 6
_FIRST_WAIT_S = 1.0
_MAX_WAIT_S = 60.0
_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})

_START_HINT = "Start the embedding service, or set CORTEX_EMBEDDING_ENDPOINT to where it runs."
_THERE_HINT = "The service runs, but not as expected: look at its log and at the model that it serves."
_PROGRAM_HINT = "Check `embedding.command`, or start the service yourself."
_API_HINT = "Check `embedding.endpoint` and `embedding.model`, or choose a `local:…` provider."


class _ServiceEmbedder:
    """Texts to vectors through a service; safe to use from several threads."""

    def __init__(self, endpoint: str, path: str, batch_texts: int, timeout_s: float, hint: str) -> None:
        try:
            self._address = Address(Address(endpoint).text.removesuffix(path))
        except ProviderError as error:
            error.hint = hint
            raise
        self._path = path
        self._batch_texts = batch_texts
        self._timeout_s = timeout_s
        self._hint = hint
        self._headers = {"Content-Type": "application/json"}
        self._dimensions: int | None = None
        self.address = f"{self._address.text}{path}"

    @property
    def dimensions(self) -> int:
        """The length of its vectors, requested once if it is not configured."""
        if self._dimensions is None:
            self._batch(["dimensions"], EmbedMode.QUERY)
        assert self._dimensions is not None
        return self._dimensions

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        """Return one unit row per text; blank texts, which some services refuse, are rows of zeros."""
        places = [place for place, text in enumerate(texts) if text.strip()]
        sent = [texts[place][:MAX_CHARS] for place in places]
        found = [self._batch(batch, mode) for batch in _batches(sent, self._batch_texts)]
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        if found:
            rows[places] = np.concatenate(found)
        return unit(rows)

    def close(self) -> None:
        """Do nothing: no resource is held between requests."""

    def _batch(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        data = self._post(json.dumps(self._request(texts, mode)).encode())
        try:
            vectors = np.array(self._found(json.loads(data)), np.float32)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._failure("its answer holds no embeddings") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.size:
            raise self._failure(f"it gave no vector for each of {len(texts)} texts")
        if not np.isfinite(vectors).all():
            raise self._failure("its vectors hold values that are no numbers")
        if self._dimensions not in (None, vectors.shape[1]):
            raise self._failure(f"its vectors have {vectors.shape[1]} dimensions, not {self._dimensions}")
        self._dimensions = vectors.shape[1]
        return vectors

    def _request(self, texts: Sequence[str], mode: EmbedMode) -> dict[str, object]:
        raise NotImplementedError

    def _found(self, answer: Any) -> list[Any]:
        raise NotImplementedError

    def _post(self, body: bytes) -> bytes:
        raise NotImplementedError

    def _ask(self, method: str, path: str, body: bytes | None) -> Answer:
        try:
            return self._address.ask(method, path, body, self._headers, timeout_s=self._timeout_s)
        except RequestFailedError as error:
            raise self._failure(str(error), self._hint) from error

    def _failure(self, detail: str, hint: str = _THERE_HINT) -> ProviderError:
        return ProviderError(f"{self.address}: {detail}", hint=hint)


class HttpEmbedder(_ServiceEmbedder):
    """A service that takes texts and a mode."""

    id = "http"

    def __init__(
        self,
        endpoint: str,
        dimensions: int | None = None,
        timeout_s: float = QUESTION_TIMEOUT_S,
        hint: str = _START_HINT,
        program: ServiceProgram | None = None,
    ) -> None:
        super().__init__(endpoint, "/embed", HTTP_BATCH_TEXTS, timeout_s, hint)
        self._dimensions = dimensions
        self._program = program
        self.revision = self.address

    def check(self) -> None:
        self._data("GET", "/", None)

    def close(self) -> None:
        """End the service if it was started here."""
        if self._program is not None:
            self._program.close()

    def _request(self, texts: Sequence[str], mode: EmbedMode) -> dict[str, object]:
        return {"texts": list(texts), "mode": str(mode)}

    def _found(self, answer: Any) -> list[Any]:
        vectors: list[Any] = answer["embeddings"]
        return vectors

    def _post(self, body: bytes) -> bytes:
        if self._program is not None:
            self._program.ensure(self.check)
        return self._data("POST", self._path, body)

    def _data(self, method: str, path: str, body: bytes | None) -> bytes:
        answer = self._ask(method, path, body)
        if answer.status != 200:
            raise self._failure(f"it answered with HTTP status {answer.status}")
        return answer.data


class ServiceProgram:
    """At most one running process of a command; safe to use from several threads."""

    def __init__(self, command: str, start_timeout_s: float = START_TIMEOUT_S) -> None:
        self._command = shlex.split(command)
        self._start_timeout_s = start_timeout_s
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False

    def ensure(self, check: Callable[[], None]) -> None:
        """Return once `check` passes; start the program if the service does not run."""
        with self._guard:
            if self._ready and (self._process is None or self._process.poll() is None):
                return
            self._ready = False
            started: subprocess.Popen[bytes] | None = None
            deadline = time.monotonic() + self._start_timeout_s
            while not self._ready:
                try:
                    check()
                    self._ready = True
                except ProviderError:
                    if started is None:
                        started = self._process = self._start()
                    elif time.monotonic() > deadline:
                        raise
                    self._pause(started)

    def close(self) -> None:
        """End the program if it was started here."""
        with self._guard:
            process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        nothing = subprocess.DEVNULL  # our output belongs to a protocol, or to a user's answer
        try:
            started = subprocess.Popen(
                resolved(self._command),
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                creationflags=NO_WINDOW,
            )
        except (OSError, ValueError, IndexError) as error:
            said = f"'{shlex.join(self._command)}' cannot be started: {error}"
            raise ProviderError(said, hint=_PROGRAM_HINT) from error
        _log.info("started %s", self._command[0])
        return started

    def _pause(self, process: subprocess.Popen[bytes]) -> None:
        try:
            status = process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            return
        raise ProviderError(f"'{self._command[0]}' ended with status {status}", hint=_PROGRAM_HINT)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The address, the model and the request format of a hosted service."""

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


class ApiEmbedder(_ServiceEmbedder):
    """A hosted service, or a server of one's own that speaks like it."""

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
        super().__init__(endpoint or dialect.base, "/embeddings", API_BATCH_TEXTS, timeout_s, _API_HINT)
        self.id = dialect.id
        self._dialect = dialect
        self._model = model or dialect.model
        self._headers["Accept"] = "application/json"
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._wait = wait
        self.revision = self._model if endpoint is None else f"{self._model}@{self._address.text}"

    def _request(self, texts: Sequence[str], mode: EmbedMode) -> dict[str, object]:
        request: dict[str, object] = {"model": self._model, "input": list(texts)}
        modes = self._dialect.modes
        return request | ({"input_type": modes[mode]} if modes else {"encoding_format": "float"})

    def _found(self, answer: Any) -> list[Any]:
        return [row["embedding"] for row in sorted(answer["data"], key=lambda row: row["index"])]

    def _post(self, body: bytes) -> bytes:
        """Send a request; send it again later if the service asks for that."""
        for tried in range(1, MAX_TRIES + 1):
            answer = self._ask("POST", self._path, body)
            if answer.status == 200:
                return answer.data
            if answer.status not in _AGAIN or tried == MAX_TRIES:
                break
            wait_s = _pause_s(tried, answer.headers.get("retry-after", ""))
            _log.info("%s: HTTP status %d, asked again in %.1f s", self.id, answer.status, wait_s)
            self._wait(wait_s)
        detail, hint = refusal(answer.status, self._model, self._dialect.key_variable)
        raise self._failure(detail, "Try again later." if answer.status in _AGAIN else hint or _API_HINT)

    def _failure(self, detail: str, hint: str = _API_HINT) -> ProviderError:
        return super()._failure(detail, hint)


def _batches(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) == most or sum(map(len, batch)) + len(text) > BATCH_CHARS):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _pause_s(tried: int, retry_after: str) -> float:
    """Return the wait that the service asks for; otherwise it doubles each time, with jitter."""
    try:
        return min(_MAX_WAIT_S, max(0.0, float(retry_after)))
    except ValueError:
        return min(_MAX_WAIT_S, _FIRST_WAIT_S * float(2 ** (tried - 1)) * (1 + random.random() / 4))
