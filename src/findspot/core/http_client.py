"""The one HTTP client of embedding services and language models.

A request has a time limit and a size limit, and uses neither proxies nor redirects: text goes where the
configuration says and nowhere else. It is the standard library's client; httpx2, which the MCP SDK brings,
was tried: it takes 85 ms more to import, and still needs the limits written by hand.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from findspot.core.errors import ProviderError

MAX_ANSWER_BYTES = 64 << 20
_READ_BYTES = 1 << 16
_MAX_SHOWN_CHARS = 200


class RequestFailedError(Exception):
    """No whole answer came; the message says why, without what was sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    data: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Address:
    """Where a service is; `ask` makes one connection per request."""

    def __init__(self, text: str) -> None:
        try:
            parts = urlsplit(text if "://" in text else f"http://{text}")
            self._port = parts.port
        except ValueError as error:
            raise ProviderError(f"'{text}' is not the address of a service") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ProviderError(f"'{text}' is not the address of a service")
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
    ) -> Answer:
        """Return the answer to one request; `RequestFailedError` when there is none in time.

        An answer of more than `max_bytes` is refused.
        """
        deadline = time.monotonic() + timeout_s
        make = HTTPSConnection if self._secure else HTTPConnection
        connection = make(self.host, self._port, timeout=timeout_s)
        # Headers that arrive byte by byte never exceed the timeout of a single read.
        end = threading.Timer(timeout_s, _cut, (connection,))
        end.daemon = True
        end.start()
        try:
            connection.request(method, self.path + path, body, dict(headers or {}))
            response = connection.getresponse()
            data = _read(response, deadline, max_bytes)
            missing = response.length or 0
        except (OSError, HTTPException) as error:
            is_late = isinstance(error, TimeoutError) or time.monotonic() > deadline
            late = f"no answer within {timeout_s:g} seconds" if is_late else ""
            raise RequestFailedError(late or _shown(error) or type(error).__name__) from error
        except ValueError:  # of a header; the error's text would show the key in it
            raise RequestFailedError("the key cannot be sent") from None
        finally:
            end.cancel()
            connection.close()
        if missing:  # the connection ended before what its head had promised
            raise RequestFailedError(f"its answer was cut short by {missing} bytes")
        return Answer(response.status, data, {k.lower(): v for k, v in response.getheaders()})


def _read(response: HTTPResponse, deadline: float, max_bytes: int) -> bytes:
    data = bytearray()
    while piece := response.read1(_READ_BYTES):
        data += piece
        if len(data) > max_bytes:
            raise RequestFailedError("its answer is too large")
    if time.monotonic() > deadline:
        raise TimeoutError
    return bytes(data)


def _shown(error: Exception) -> str:
    """Return the text of an error, which may quote what was received, as a terminal and a log can show it."""
    return "".join(c if c.isprintable() else " " for c in str(error)[:_MAX_SHOWN_CHARS]).strip()


def _cut(connection: HTTPConnection) -> None:
    """Shut down a connection that has run out of time, while another thread reads from it."""
    if (carrier := connection.sock) is not None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(carrier, socket.SHUT_RDWR)


def refusal(status: int, model: str, key_variable: str) -> tuple[str, str | None]:
    """Return why a hosted model refused a request, and what to do about it where that is known."""
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        hint = f"Check the environment variable {key_variable}."
        return f"it refused the key (HTTP status {status})", hint
    if status == HTTPStatus.NOT_FOUND:
        return f"it knows no model '{model}' (HTTP status 404)", None
    return f"it answered with HTTP status {status}", None
