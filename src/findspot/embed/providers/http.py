"""`http`: a service that embeds, by `POST /embed` with texts and a mode.

The plain client of the standard library, and neither proxies nor redirects: text goes where the
configuration says and nowhere else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from findspot.core.errors import ProviderError
from findspot.embed.batch import unit
from findspot.embed.protocol import EmbedMode, Vectors

TIMEOUT_S = 5.0
"""For a request in all: a question waits no longer, whatever the service does."""

BATCH_TEXTS = 32
MAX_ANSWER_BYTES = 64 << 20
_READ_BYTES = 1 << 16
_PATH = "/embed"

_HINT = "Start the embedding service, or set CORTEX_EMBEDDING_ENDPOINT to where it runs."


class HttpEmbedder:
    """Texts to vectors through a service; safe to use from several threads."""

    id = "http"

    def __init__(self, endpoint: str, dimensions: int | None = None, timeout_s: float = TIMEOUT_S) -> None:
        parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ProviderError(f"'{endpoint}' is no address of an embedding service", hint=_HINT)
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/").removesuffix(_PATH)
        self._dimensions = dimensions
        self._timeout_s = timeout_s
        self.address = f"{parts.scheme}://{parts.netloc}{self._base}{_PATH}"
        self.revision = self.address

    @property
    def dimensions(self) -> int:
        """Asked of the service, where it was not said before."""
        if self._dimensions is None:
            self._dimensions = self._request_vectors([""], EmbedMode.QUERY).shape[1]
        return self._dimensions

    def check(self) -> None:
        """Raise `ProviderError` unless the service says that it is there."""
        self._ask("GET", f"{self._base}/", None)

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        """One unit row a text."""
        batches = [texts[first : first + BATCH_TEXTS] for first in range(0, len(texts), BATCH_TEXTS)]
        if not batches:
            return np.zeros((0, self.dimensions), np.float32)
        return unit(np.concatenate([self._batch(batch, mode) for batch in batches]))

    def close(self) -> None:
        """Nothing is held between requests."""

    def _batch(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        vectors = self._request_vectors(texts, mode)
        if self._dimensions is not None and vectors.shape[1] != self._dimensions:
            raise self._failure(f"its vectors have {vectors.shape[1]} dimensions, not {self._dimensions}")
        self._dimensions = vectors.shape[1]
        return vectors

    def _request_vectors(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        body = json.dumps({"texts": list(texts), "mode": str(mode)}).encode()
        data = self._ask("POST", f"{self._base}{_PATH}", body)
        try:
            answer: Any = json.loads(data)["embeddings"]
            vectors = np.array(answer, np.float32)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._failure("its answer holds no embeddings") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.size:
            raise self._failure(f"it gave no vector for each of {len(texts)} texts")
        if not np.isfinite(vectors).all():
            raise self._failure("its vectors hold values that are no numbers")
        return vectors

    def _ask(self, method: str, path: str, body: bytes | None) -> bytes:
        """One request within its time; the service's errors become ours here."""
        deadline = time.monotonic() + self._timeout_s
        make = HTTPSConnection if self._secure else HTTPConnection
        connection = make(self._host, self._port, timeout=self._timeout_s)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            data = bytearray()
            while piece := response.read1(_READ_BYTES):
                data += piece
                if time.monotonic() > deadline:
                    raise TimeoutError
                if len(data) > MAX_ANSWER_BYTES:
                    raise self._failure("its answer is too large")
        except TimeoutError as error:
            raise self._failure(f"no answer within {self._timeout_s:g} seconds") from error
        except (OSError, HTTPException) as error:
            raise self._failure(str(error) or type(error).__name__) from error
        finally:
            connection.close()
        if response.status != 200:
            raise self._failure(f"it answered with HTTP status {response.status}")
        return bytes(data)

    def _failure(self, detail: str) -> ProviderError:
        return ProviderError(f"{self.address}: {detail}", hint=_HINT)
