"""The process of one MCP server on pipes: how it is started, what it may send, and how it is ended.

The server leads its own process group, so that everything it starts can be ended with it, and its exit status
is known. Its output is read at a limited pace and up to a limited size: a server that floods its pipes slows
down only itself. The SDK's `stdio_client` does none of that.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from findspot.core.platforms import resolved
from findspot.text.json_text import readable

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""The largest message that a server may send."""

SESSION_ENDED = -31_404
"""The error of a request that was not run, since its server does not know the session any more."""

_CHUNK_BYTES = 1 << 16
_UNITS_PER_SECOND = 5_000
_BYTES_PER_UNIT = 10_000
"""What is read of a server per second: so many lines, or so many times this many bytes."""

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

    def add(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-_TAIL_BYTES:]

    def about(self, message: str) -> str:
        """Return a message with the exit status and the last line that the server wrote, without secrets."""
        from findspot.discover.secrets import redacted

        lines = self._tail.decode("utf-8", "replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        ended = f"exit status {self.status}" if self.status else ""
        parts = "; ".join(filter(None, (self.fault, ended, last and f"it wrote: {redacted(last)}")))
        return (f"{message} ({parts})" if parts else message)[:_SHOWN_CHARS]


@contextlib.asynccontextmanager
async def pipe_transport(
    command: Sequence[str],
    environ: Mapping[str, str],
    folder: Path,
    notes: ProcessNotes,
) -> AsyncIterator[Streams]:
    """Start a server; yield the streams of its messages, and end it with all that it started."""
    # The system sends the signal of preexec_fn when the thread that started a server ends: that of the loop.
    process = subprocess.Popen(
        resolved(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environ),
        cwd=folder,
        bufsize=0,
        start_new_session=True,
        preexec_fn=_end_with_parent(),  # noqa: PLW1509
    )
    try:
        async with _pumped(process, notes) as streams:
            yield streams
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


@contextlib.asynccontextmanager
async def _pumped(process: subprocess.Popen[bytes], notes: ProcessNotes) -> AsyncIterator[Streams]:
    incoming, read_stream = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    write_stream, outgoing = anyio.create_memory_object_stream["SessionMessage"](0)
    with contextlib.ExitStack() as pipes:
        output = await _reader(process.stdout, pipes)
        error_output = await _reader(process.stderr, pipes)
        sink = await _writer(process.stdin)
        async with incoming, read_stream, write_stream, outgoing, anyio.create_task_group() as group:
            group.start_soon(_read_messages, output, incoming, notes)
            group.start_soon(_read_errors, error_output, notes)
            group.start_soon(_write_messages, outgoing, sink, incoming)
            group.start_soon(_watch, process, incoming)
            try:
                yield read_stream, write_stream
            finally:
                read_stream.close()  # from here on its output is only drained
                sink.close()
                with anyio.CancelScope(shield=True):
                    notes.status = await _exit_status(process)
                group.cancel_scope.cancel()


async def _reader(pipe: Any, pipes: contextlib.ExitStack) -> asyncio.StreamReader:
    reader, loop = asyncio.StreamReader(limit=_CHUNK_BYTES), asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    pipes.callback(transport.close)
    return reader


async def _writer(pipe: Any) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _read_messages(output: asyncio.StreamReader, incoming: Incoming, notes: ProcessNotes) -> None:
    """Pass messages on, until one is too large or unreadable; a greeting or a log line is none."""
    line = bytearray()
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for chunk in _paced(output):
            *ended, rest = chunk.split(b"\n")
            for end in ended:
                message = _message(bytes(line + end))
                line.clear()
                if isinstance(message, str):
                    notes.fault = message
                elif message is not None:
                    await incoming.send(SessionMessage(message))
            line += rest
            if len(line) > MAX_MESSAGE_BYTES:
                notes.fault = f"it sent a message of more than {MAX_MESSAGE_BYTES >> 20} MB"
            if notes.fault:
                break
    incoming.close()
    async for _ in _paced(output):  # so that it is not stuck writing when it should end
        pass


def _message(line: bytes) -> JSONRPCMessage | str | None:
    """Return the message of a line, or what is wrong with it; None if the line is none."""
    if not line.lstrip().startswith(b"{"):
        return None
    for mended in (bytes, readable):
        with contextlib.suppress(ValueError):
            return jsonrpc_message_adapter.validate_json(mended(line), by_name=False)
    return "it sent a message that cannot be read" if b'"jsonrpc"' in line[:_SHOWN_CHARS] else None


async def _read_errors(error_output: asyncio.StreamReader, notes: ProcessNotes) -> None:
    async for chunk in _paced(error_output):
        notes.add(chunk)


async def _paced(output: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield what comes, only so much per second."""
    left, until = float(_UNITS_PER_SECOND), 0.0
    with contextlib.suppress(OSError):
        while chunk := await output.read(_CHUNK_BYTES):
            now = anyio.current_time()
            if now >= until:
                left, until = float(_UNITS_PER_SECOND), now + 1
            left -= chunk.count(b"\n") + len(chunk) / _BYTES_PER_UNIT
            if left <= 0:
                await anyio.sleep(until - now)
            yield chunk


async def _write_messages(
    outgoing: MemoryObjectReceiveStream[SessionMessage], sink: asyncio.StreamWriter, incoming: Incoming
) -> None:
    try:
        async for item in outgoing:
            sink.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await sink.drain()
    except OSError:
        incoming.close()  # the session sees the end instead of waiting for answers


async def _watch(process: subprocess.Popen[bytes], incoming: Incoming) -> None:
    """Notice the end of a server whose output a program that it started still holds open."""
    while _status(process) is None:
        await anyio.sleep(1)
    await anyio.sleep(1)  # what it wrote last is read first
    incoming.close()


async def _exit_status(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit status of a server whose input is closed, or None while it runs on."""
    with anyio.move_on_after(_EXIT_PATIENCE_S):
        while _status(process) is None:
            await anyio.sleep(_POLL_S)
    return _status(process)


def _status(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit status of a server that has ended, and keep its number taken.

    The number is that of its process group too. Once it is free, it may be somebody else's.
    """
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.poll()
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


async def _end(process: subprocess.Popen[bytes]) -> None:
    """End everything in the process group of a server.

    The number is still its own when it is signalled first, and the second time too, because the group
    was there all the time.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        _kill_group(process.pid, number)
        with anyio.move_on_after(_EXIT_PATIENCE_S):
            while process.poll() is None or _kill_group(process.pid, 0):
                await anyio.sleep(_POLL_S)
            return


def _kill_group(pid: int, number: int) -> bool:
    """Send a signal to a process group; return whether the group still exists."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):  # the latter on macOS, for a group of zombies
        return False
    return True


def _end_with_parent() -> Callable[[], None] | None:
    """On Linux, return what makes the system end a server when this process is killed."""
    if sys.platform != "linux":
        return None
    control, set_death_signal = ctypes.CDLL(None).prctl, 1

    def run() -> None:
        control(set_death_signal, int(signal.SIGKILL))  # a server may ignore any other signal

    return run
