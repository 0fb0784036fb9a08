"""Connections to remote MCP servers, by streamable HTTP or SSE, with limits on what a server can do to us.

Imports the MCP SDK: import this module only where a remote server is called.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import httpx2
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from findspot.catalogue.server_process import SESSION_ENDED
from findspot.catalogue.server_sources import ServerSpec
from findspot.core.errors import FindspotError, first_cause
from findspot.text.json_text import readable

_HTTP_TIMEOUT_S, _STREAM_TIMEOUT_S = 30.0, 300.0
"""The SDK's own limits: a server may hold a stream of answers open for long."""

MAX_ANSWER_BYTES = 64 << 20
"""Of one answer, or of one event in a stream of answers."""

_NOT_STREAMABLE = (404, 405)
"""How a server that knows only SSE answers the first message over streamable HTTP."""

_DATA = re.compile(rb"(?<![^\r\n])data: ?([^\r\n]+)")
"""A line of an event, and the message in it."""

NewClient = Callable[[Any], contextlib.AbstractAsyncContextManager[ClientSession]]
"""Makes the client of a transport."""


class RemoteServerError(FindspotError):
    """A remote server refused us, or did what no server may do."""

    code = "SERVER_FAILED"


class RemoteHttp(httpx2.AsyncClient):
    """An HTTP client for one server that limits the size of answers and records the first failure."""

    def __init__(
        self,
        headers: dict[str, str] | None = None,
        auth: httpx2.Auth | None = None,
        max_bytes: int = 0,
    ) -> None:
        # A compressed answer could be a thousand times larger than what is counted.
        own = {"Accept-Encoding": "identity", **(headers or {})}
        timeout = httpx2.Timeout(_HTTP_TIMEOUT_S, read=_STREAM_TIMEOUT_S)
        super().__init__(headers=own, auth=auth, timeout=timeout, event_hooks={"response": [self._limit]})
        self._max_bytes = max_bytes or MAX_ANSWER_BYTES
        self._failed = anyio.Event()
        self._failure: Exception | None = None
        self.first_status: int | None = None

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; a message that cannot be delivered is a failure of the connection."""
        try:
            response = await super().send(request, **options)
            if self.first_status is None:
                self.first_status = response.status_code
            if request.method == "POST" and response.is_error:
                response = await _with_ended_session(request, response)
                self._fail(refusal(response.status_code))
        except Exception as error:
            if request.method == "POST":
                self._fail(error)
            raise
        return response

    async def raise_failure(self) -> None:
        """Wait for the first failure to deliver a message, and raise it."""
        await self._failed.wait()
        if self._failure is not None:
            raise self._failure

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._failed.set()

    async def _limit(self, response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise RemoteServerError("The server compressed its answer though it was asked not to.")
        # Events are read one by one, each with a limit; whatever else calls itself a stream of them is not.
        wanted = "text/event-stream" in response.request.headers.get("accept", "")
        given = response.headers.get("content-type", "").startswith("text/event-stream")
        events = response.is_success and wanted and given
        response.stream = _ReadableStream(response.stream, self._max_bytes, by_line=events)


async def _with_ended_session(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Return a refusal; one of a session that the server no longer knows as the error `SESSION_ENDED`.

    MCP has servers answer 404, and many answer 400 with words about the session instead.
    """
    if "mcp-session-id" not in request.headers or response.status_code not in (400, 404):
        return response
    number, body = _identifier(request.content), await response.aread()
    is_own_error = number is not None and _identifier(body) == number
    if is_own_error if response.status_code == 404 else is_own_error or b"session" not in body.lower():
        return response
    error = {"code": SESSION_ENDED, "message": "The server has ended the session."}
    answer = {"jsonrpc": "2.0", "id": number, "error": error}
    return httpx2.Response(response.status_code, json=answer, request=request)


def _identifier(message: bytes) -> Any:
    """Return the identifier of a request or an answer."""
    with contextlib.suppress(ValueError, AttributeError):
        return json.loads(message).get("id")
    return None


class _ReadableStream(httpx2.AsyncByteStream):
    """The body of an answer, or each of its lines, up to a limit and as the SDK can read it."""

    def __init__(self, stream: Any, max_bytes: int, *, by_line: bool) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
        self._by_line = by_line

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = bytearray()
        async for part in self._stream:
            rest += part
            if self._by_line and (b"\n" in part or b"\r" in part):
                end = max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1
                yield _DATA.sub(lambda line: b"data:" + readable(line[1]), bytes(rest[:end]))
                del rest[:end]
            if len(rest) > self._max_bytes:
                raise RemoteServerError("The server's answer is too large.")
        if rest:
            yield readable(bytes(rest))

    async def aclose(self) -> None:
        await self._stream.aclose()


async def connect_remote(
    stack: contextlib.AsyncExitStack, spec: ServerSpec, new_client: NewClient, auth: httpx2.Auth | None
) -> ClientSession:
    """Return a connected client, closed with `stack`, of a server whose variables are expanded.

    `auth` adds what a login gave us. A server that does not know streamable HTTP is tried with SSE, as the
    MCP specification describes.
    """
    for transport in (_sse,) if spec.sse else (_streamable, _sse):
        http = RemoteHttp(dict(spec.headers), auth)
        try:
            async with contextlib.AsyncExitStack() as attempt:
                client = await attempt.enter_async_context(new_client(transport(spec.url or "", http)))
                stack.push_async_exit(attempt.pop_all())
                return client
        except Exception as error:
            if transport is _sse or http.first_status not in _NOT_STREAMABLE:
                raise _explained(error, http) from error
    raise AssertionError


@contextlib.asynccontextmanager
async def _streamable(url: str, http: RemoteHttp) -> AsyncIterator[Any]:
    async with (
        http,
        streamable_http_client(url, http_client=http, max_sse_event_size=MAX_ANSWER_BYTES) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def _sse(url: str, http: RemoteHttp) -> AsyncIterator[Any]:
    """Connect by SSE; the SDK only logs that a message was not delivered, so its answer never comes."""
    async with anyio.create_task_group() as group:
        group.start_soon(http.raise_failure)
        async with sse_client(url, httpx_client_factory=lambda *_args, **_options: http) as streams:
            yield streams
        group.cancel_scope.cancel()


def _explained(error: Exception, http: RemoteHttp) -> BaseException:
    """Return the cause in words that hold no address, which can contain a key."""
    cause = first_cause(error)
    if isinstance(cause, FindspotError) or http.first_status is None or http.first_status < 300:
        return cause
    return refusal(http.first_status)


def refusal(status: int) -> RemoteServerError:
    if status == 401:  # one that asks for a login has been explained before
        return RemoteServerError("The server refused the credentials of its entry (HTTP 401).")
    return RemoteServerError(f"The server answered with HTTP {status}.")
