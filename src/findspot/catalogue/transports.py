"""How messages of MCP servers travel, by pipes or HTTP, with limits on what a server can do to us.

A server on pipes leads its own process group, so that everything it starts can be ended with it, and its exit
status is known. Its messages have a limited size. The SDK's `stdio_client` does neither.

Imports the MCP SDK: import this module only where a server is called.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from findspot.catalogue.server_sources import NESTED_VARIABLE, ServerSpec
from findspot.core.errors import FindspotError, first_cause
from findspot.core.paths import expanded
from findspot.core.platforms import resolved
from findspot.discover.secrets import redacted
from findspot.text.json_text import readable

Incoming = MemoryObjectSendStream[SessionMessage | Exception]

MAX_MESSAGE_BYTES = 16 * 1024 * 1024

SESSION_ENDED = -31_404
"""The error of a request that was not run, since its server does not know the session any more."""

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATES = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
_NETWORK_VARIABLES = (*_PROXIES, *map(str.lower, _PROXIES), *_CERTIFICATES)
"""Variables without which a server cannot reach the network on some machines: proxies and certificates."""

_CHUNK_BYTES = 1 << 16

_TAIL_BYTES = 4_000
_SHOWN_CHARS = 300

_EXIT_PATIENCE_S = 2.0
"""For a server to end after its input was closed, and again after SIGTERM."""
_POLL_S = 0.01


class ProcessNotes:
    """What is left of a server to explain its end: what it did, its standard error and its exit status."""

    def __init__(self) -> None:
        self._tail = b""
        self.status: int | None = None
        self.fault = ""
        self.stray = ""
        """What is wrong with the last line of its standard output, if that is no message."""

    def add(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-_TAIL_BYTES:]

    def about(self, message: str) -> str:
        """Return a message with the exit status and the last line that the server wrote, without secrets."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        ended = f"exit status {self.status}" if self.status else ""
        wrote = last and f"it wrote: {redacted(last)}"
        parts = "; ".join(filter(None, (self.fault, ended, wrote, redacted(self.stray))))
        return (f"{message} ({parts})" if parts else message)[:_SHOWN_CHARS]


@contextlib.asynccontextmanager
async def pipe_transport(
    spec: ServerSpec, environ: Mapping[str, str], notes: ProcessNotes
) -> AsyncIterator[tuple[Any, Any]]:
    """Start a server by an absolute path, in its own folder; end it with all that it started.

    It gets the SDK's short list of variables (home, PATH, user), the network's and those of its entry: keys
    and tokens of this process are not for every server.
    """
    inherited = (*DEFAULT_INHERITED_ENV_VARS, *_NETWORK_VARIABLES)
    own = {name: environ[name] for name in inherited if name in environ}
    own |= {**spec.env, NESTED_VARIABLE: "1"}
    command = spec.command or ""
    if Path(command).name != command:
        command = str(spec.working_folder / expanded(command))
    words = resolved([command, *spec.args], own.get("PATH", ""))
    if sys.platform == "win32":  # the SDK's job object ends the server with this process
        start = StdioServerParameters(command=words[0], args=words[1:], env=own, cwd=spec.working_folder)
        with Path(os.devnull).open("w", encoding="utf-8") as devnull:
            async with stdio_client(start, errlog=devnull) as streams:
                yield streams
        return
    loop = asyncio.get_running_loop()
    process, pipes = await loop.subprocess_exec(
        lambda: SubprocessStreamProtocol(MAX_MESSAGE_BYTES, loop),
        *words,
        env=own,
        cwd=spec.working_folder,
        start_new_session=True,
    )
    stdin, stdout, stderr = pipes.stdin, pipes.stdout, pipes.stderr
    assert stdin and stdout and stderr  # noqa: PT018 - all are pipes
    incoming, read_stream = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    write_stream, outgoing = anyio.create_memory_object_stream["SessionMessage"](0)
    async with incoming, read_stream, write_stream, outgoing, anyio.create_task_group() as group:
        group.start_soon(_read_messages, stdout, incoming, notes)
        group.start_soon(_read_all, stderr, notes.add)
        group.start_soon(_write_messages, outgoing, stdin, incoming)
        try:
            yield read_stream, write_stream
        finally:
            read_stream.close()  # from here on its output is only drained
            stdin.close()
            with anyio.CancelScope(shield=True):
                await _end(process, notes)
            group.cancel_scope.cancel()


async def _read_messages(output: asyncio.StreamReader, incoming: Incoming, notes: ProcessNotes) -> None:
    """Pass messages on, until one is too large or unreadable; a greeting or a log line is none."""
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        try:
            while not notes.fault and (line := await output.readline()):
                message = _message(line)
                if isinstance(message, str):
                    notes.fault = message
                elif message is not None:
                    notes.stray = ""
                    await incoming.send(SessionMessage(message))
                elif text := line[:_SHOWN_CHARS].decode("utf-8", "replace").strip():
                    notes.stray = f"its standard output is no message of MCP: {text}"
        except ValueError:
            notes.fault = f"it sent a message of more than {MAX_MESSAGE_BYTES >> 20} MB"
    incoming.close()
    await _read_all(output, lambda _: None)  # so that it is not stuck writing when it should end


async def _read_all(output: asyncio.StreamReader, use: Callable[[bytes], None]) -> None:
    with contextlib.suppress(OSError):
        while data := await output.read(_CHUNK_BYTES):
            use(data)


def _message(line: bytes) -> JSONRPCMessage | str | None:
    """Return the message of a line, or what is wrong with it; None if the line is none."""
    if not line.lstrip().startswith(b"{"):
        return None
    for mended in (bytes, readable):
        with contextlib.suppress(ValueError):
            return jsonrpc_message_adapter.validate_json(mended(line), by_name=False)
    return "it sent a message that cannot be read" if b'"jsonrpc"' in line[:_SHOWN_CHARS] else None


async def _write_messages(
    outgoing: MemoryObjectReceiveStream[SessionMessage], sink: asyncio.StreamWriter, incoming: Incoming
) -> None:
    try:
        async for item in outgoing:
            sink.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await sink.drain()
    except OSError:
        incoming.close()  # the session sees the end instead of waiting for answers


async def _end(process: asyncio.SubprocessTransport, notes: ProcessNotes) -> None:
    """Wait until everything in the process group of a server has ended, which it must sooner or later."""
    pid = process.get_pid()
    for number in (0, signal.SIGTERM, signal.SIGKILL):
        _kill_group(pid, number)
        with anyio.move_on_after(_EXIT_PATIENCE_S):
            while process.get_returncode() is None or (number and _kill_group(pid, 0)):
                await anyio.sleep(_POLL_S)
            if number:
                break
            notes.status = process.get_returncode()
    process.close()


def _kill_group(pid: int, number: int) -> bool:
    """Send a signal to a process group; return whether the group still exists."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):  # the latter on macOS, for a group of zombies
        return False
    return True


_HTTP_TIMEOUT_S, _STREAM_TIMEOUT_S = 30.0, 300.0
"""The SDK's own limits: a server may hold a stream of answers open for long."""

MAX_ANSWER_BYTES = 64 << 20
"""Of one answer, or of one event in a stream of answers."""

_NOT_STREAMABLE = (404, 405)
"""How a server that knows only SSE answers the first message over streamable HTTP."""

_DATA = re.compile(rb"(?<![^\r\n])data: ?([^\r\n]+)")
"""A line of an event, and the message in it."""

NewClient = Callable[[Any], contextlib.AbstractAsyncContextManager[ClientSession]]


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
    if response.status_code == 400 and b"session" not in (await response.aread()).lower():
        return response
    error = {"code": SESSION_ENDED, "message": "The server has ended the session."}
    answer = {"jsonrpc": "2.0", "id": json.loads(request.content).get("id"), "error": error}
    return httpx2.Response(response.status_code, json=answer, request=request)


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


@contextlib.asynccontextmanager
async def connect_remote(
    spec: ServerSpec, new_client: NewClient, auth: httpx2.Auth | None
) -> AsyncIterator[ClientSession]:
    """Yield a connected client of a server whose variables are expanded.

    `auth` adds what a login gave us. A server that does not know streamable HTTP is tried with SSE, as the
    MCP specification describes.
    """
    for transport in (_sse,) if spec.sse else (_streamable, _sse):
        http = RemoteHttp(dict(spec.headers), auth)
        async with contextlib.AsyncExitStack() as attempt:
            try:
                client = await attempt.enter_async_context(new_client(transport(spec.url or "", http)))
            except Exception as error:
                if transport is _sse or http.first_status not in _NOT_STREAMABLE:
                    raise _explained(error, http) from error
                continue
            yield client
            return


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
