"""`http`: a service that embeds, with `POST /embed` of texts and a mode.

If the configuration names its program, the program is started when nobody answers, and ended with its user.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from findspot.core.errors import ProviderError
from findspot.core.http_client import Address, RequestFailedError
from findspot.core.log import get_logger
from findspot.core.platforms import NO_WINDOW, resolved
from findspot.embed.chunk_vectors import unit
from findspot.embed.embedder import EmbedMode, Vectors, read_vectors

_log = get_logger("service")

START_TIMEOUT_S = 60.0
"""A service may have to load a model before it answers."""

_POLL_S = 0.1
_END_S = 5.0
_PROGRAM_HINT = "Check `embedding.command`, or start the service yourself."


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
            with contextlib.suppress(ProviderError):
                check()
                self._ready = True
                return
            self._start()
            self._wait(check)
            self._ready = True

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

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                resolved(self._command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # ours belongs to a protocol, or to a user's answer
                stderr=subprocess.DEVNULL,
                creationflags=NO_WINDOW,
            )
        except (OSError, ValueError, IndexError) as error:
            raise ProviderError(
                f"'{shlex.join(self._command)}' cannot be started: {error}", hint=_PROGRAM_HINT
            ) from error
        _log.info("started %s", self._command[0])

    def _wait(self, check: Callable[[], None]) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._start_timeout_s
        while True:
            try:
                check()
                return
            except ProviderError as error:
                failure = error
            try:
                status = self._process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    raise failure from None
                continue
            raise ProviderError(f"'{self._command[0]}' ended with status {status}", hint=_PROGRAM_HINT)


TIMEOUT_S = 5.0
"""Time limit of a whole request: a question waits no longer, whatever the service does."""

INDEXING_TIMEOUT_S = 60.0
"""Time limit while indexing: a slow machine may need this for a batch of passages."""

BATCH_TEXTS = 32
_PATH = "/embed"

_HINT = "Start the embedding service, or set CORTEX_EMBEDDING_ENDPOINT to where it runs."
_THERE_HINT = "The service runs, but not as expected: look at its log and at the model that it serves."


class HttpEmbedder:
    """Texts to vectors through a service; safe to use from several threads."""

    id = "http"

    def __init__(
        self,
        endpoint: str,
        dimensions: int | None = None,
        timeout_s: float = TIMEOUT_S,
        hint: str = _HINT,
        program: ServiceProgram | None = None,
    ) -> None:
        self._hint = hint
        try:
            parsed = Address(endpoint)
        except ProviderError as error:
            error.hint = hint
            raise
        self._address = Address(parsed.text.removesuffix(_PATH))
        self._dimensions = dimensions
        self._timeout_s = timeout_s
        self._program = program
        self.address = f"{self._address.text}{_PATH}"
        self.revision = self.address

    @property
    def dimensions(self) -> int:
        """The length of its vectors, requested from the service if it is not configured."""
        if self._dimensions is None:
            self._dimensions = self._request_vectors(["dimensions"], EmbedMode.QUERY).shape[1]
        return self._dimensions

    def check(self) -> None:
        """Raise `ProviderError` unless the service answers."""
        self._ask("GET", "/", None)

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        """Return one unit row per text."""
        batches = [texts[first : first + BATCH_TEXTS] for first in range(0, len(texts), BATCH_TEXTS)]
        if not batches:
            return np.zeros((0, self.dimensions), np.float32)
        return unit(np.concatenate([self._batch(batch, mode) for batch in batches]))

    def close(self) -> None:
        """End the service if it was started here."""
        if self._program is not None:
            self._program.close()

    def _batch(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        vectors = self._request_vectors(texts, mode)
        self._dimensions = vectors.shape[1]
        return vectors

    def _request_vectors(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        if self._program is not None:
            self._program.ensure(self.check)
        body = json.dumps({"texts": list(texts), "mode": str(mode)}).encode()
        data = self._ask("POST", _PATH, body)
        try:
            found = json.loads(data)["embeddings"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._failure("its answer holds no embeddings") from error
        return read_vectors(found, len(texts), self._dimensions, self._failure)

    def _ask(self, method: str, path: str, body: bytes | None) -> bytes:
        headers = {"Content-Type": "application/json"}
        try:
            answer = self._address.ask(method, path, body, headers, timeout_s=self._timeout_s)
        except RequestFailedError as error:
            raise self._failure(str(error), self._hint) from error
        if answer.status != 200:
            raise self._failure(f"it answered with HTTP status {answer.status}")
        return answer.data

    def _failure(self, detail: str, hint: str = _THERE_HINT) -> ProviderError:
        return ProviderError(f"{self.address}: {detail}", hint=hint)
