"""One HTTP request within its time, with the plain client of the standard library.

Neither proxies nor redirects: text goes where the configuration says and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from findspot.core.errors import ProviderError

MAX_ANSWER_BYTES = 64 << 20
_READ_BYTES = 1 << 16


class WireError(Exception):
    """No whole answer came; the message says why, without what was sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whatever its status."""

    status: int
    data: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Address:
    """Where a service is; `ask` makes one connection a request."""

    def __init__(self, text: str) -> None:
        try:
            parts = urlsplit(text if "://" in text else f"http://{text}")
            self._port = parts.port
        except ValueError as error:
            raise ProviderError(f"'{text}' is no address of a service") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ProviderError(f"'{text}' is no address of a service")
        self._secure = parts.scheme == "https"
        self.host = parts.hostname
        self.path = parts.path.rstrip("/")
        port = f":{self._port}" if self._port else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        self.text = f"{parts.scheme}://{host}{port}{self.path}"
        """As it may be shown: a name and password in the address are left out."""

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout_s: float,
        max_bytes: int = MAX_ANSWER_BYTES,
        sink: Callable[[bytes], object] | None = None,
    ) -> Answer:
        """Return the answer to one request; `WireError` when there is none in time, or it is too large.

        With a `sink`, the body of an answer with status 200 goes there piece by piece.
        """
        deadline = time.monotonic() + timeout_s
        make = HTTPSConnection if self._secure else HTTPConnection
        connection = make(self.host, self._port, timeout=timeout_s)
        try:
            connection.request(method, self.path + path, body, dict(headers or {}))
            response = connection.getresponse()
            data = bytearray()
            take = sink if sink is not None and response.status == HTTPStatus.OK else data.extend
            taken = 0
            while piece := response.read1(_READ_BYTES):
                taken += len(piece)
                if time.monotonic() > deadline:
                    raise TimeoutError
                if taken > max_bytes:
                    raise WireError("its answer is too large")
                take(piece)
            missing = response.length or 0
        except TimeoutError as error:
            raise WireError(f"no answer within {timeout_s:g} seconds") from error
        except (OSError, HTTPException) as error:
            raise WireError(str(error) or type(error).__name__) from error
        finally:
            connection.close()
        if missing:  # the connection ended before what its head had promised
            raise WireError(f"its answer was cut short by {missing} bytes")
        return Answer(response.status, bytes(data), {k.lower(): v for k, v in response.getheaders()})
