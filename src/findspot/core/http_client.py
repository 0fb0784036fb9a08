"""The one HTTP client of embedding services and language models.

A request has a time limit and a size limit, and uses neither proxies nor redirects: text goes where the
configuration says and nowhere else.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

import anyio
import httpx2
from anyio.from_thread import start_blocking_portal

from findspot.core.errors import ProviderError

MAX_ANSWER_BYTES = 64 << 20
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
            url = httpx2.URL(text if "://" in text else f"http://{text}")
        except (httpx2.InvalidURL, ValueError) as error:
            raise ProviderError(f"'{text}' is not the address of a service") from error
        if url.scheme not in ("http", "https") or not url.host:
            raise ProviderError(f"'{text}' is not the address of a service")
        self.text = str(url.copy_with(userinfo=b"", query=None, fragment=None)).rstrip("/")
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
        given = {"Accept-Encoding": "identity", **(headers or {})}
        if not all(value.isascii() and value.isprintable() for value in given.values()):
            raise RequestFailedError("the key cannot be sent")
        try:
            request = httpx2.Request(method, self.text + path, content=body, headers=given)
            with start_blocking_portal() as portal:  # the caller's thread may run a loop of its own
                return portal.call(partial(_answer, request, timeout_s, max_bytes))
        except TimeoutError as error:
            raise RequestFailedError(f"no answer within {timeout_s:g} seconds") from error
        except (httpx2.HTTPError, OSError) as error:
            raise RequestFailedError(_shown(error) or type(error).__name__) from error


async def _answer(request: httpx2.Request, timeout_s: float, max_bytes: int) -> Answer:
    verified, data = ssl.create_default_context(), bytearray()
    with anyio.fail_after(timeout_s):
        async with httpx2.AsyncClient(trust_env=False, verify=verified, timeout=None) as client:
            response = await client.send(request, stream=True)
            async for piece in response.aiter_raw():
                data += piece
                if len(data) > max_bytes:
                    raise RequestFailedError("its answer is too large")
    return Answer(response.status_code, bytes(data), dict(response.headers))


def _shown(error: BaseException) -> str:
    """Return the text of an error, which may quote what was received, as a terminal and a log can show it."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    number = error.errno if isinstance(error, OSError) else None
    said = os.strerror(number) if number and number > 0 else str(error)
    return "".join(c if c.isprintable() else " " for c in said[:_MAX_SHOWN_CHARS]).strip()


def refusal(status: int, model: str, key_variable: str) -> tuple[str, str | None]:
    """Return why a hosted model refused a request, and what to do about it where that is known."""
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        hint = f"Check the environment variable {key_variable}."
        return f"it refused the key (HTTP status {status})", hint
    if status == HTTPStatus.NOT_FOUND:
        return f"it knows no model '{model}' (HTTP status 404)", None
    return f"it answered with HTTP status {status}", None
