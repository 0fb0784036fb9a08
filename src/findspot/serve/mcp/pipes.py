"""Standard input and output as the event loop uses them.

The loop reads and writes by itself where the system lets it: waking a thread costs more than a small
message does. A thread stands in where the loop cannot wait for the input (Windows, a plain file), and
writes what a client is not taking at the moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import select
import socket
import stat
import threading
from collections import deque
from collections.abc import Callable

_MOST_WAITING = 256
"""Lines read ahead, and answers not yet taken by the client, before either side waits."""

_READ_BYTES = 1 << 16
"""What a pipe holds."""

_DRAIN_S = 3.0
"""How long the end waits for a client that does not read."""

Attempt = Callable[[bytes], int]
"""Writes as much as can be written without waiting; tells how much that was."""


class Lines:
    """Lines of standard input, in order."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []
        """The line that has not arrived whole."""
        self._room = threading.Semaphore(_MOST_WAITING)
        """What the thread waits for, if there is one."""
        self._over = self._ended = self._listening = False
        self._wake: Callable[[], None] = lambda: None
        self._arrived: asyncio.Event | None = None

    async def next(self) -> bytes | None:
        """Return the next line; None once the input is over, or was ended."""
        arrived = self._arrived or self._start()
        while not self._ended:
            if self._lines:
                self._room.release()
                return self._lines.popleft()
            if self._over:
                break
            if not self._listening:
                self._listen()
            arrived.clear()
            await arrived.wait()
        return None

    @property
    def was_ended(self) -> bool:
        """Whether `end` was called; the client closing its side does not count."""
        return self._ended

    def end(self) -> None:
        """Act as if the input had been closed; may be called from any thread."""
        self._ended = True
        self._wake()

    def _start(self) -> asyncio.Event:
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                loop.call_soon_threadsafe(arrived.set)

        self._wake, self._arrived = wake, arrived
        try:
            self._listen()
        except (NotImplementedError, OSError):  # Windows' loop reads no pipes, Linux' no plain files
            self._listening = True
            # A daemon: nothing can interrupt a read, and the process must not wait for it.
            threading.Thread(target=self._read_on, name="stdin", daemon=True).start()
        return arrived

    def _listen(self) -> None:
        asyncio.get_running_loop().add_reader(self._descriptor, self._read_now)
        self._listening = True

    def _read_now(self) -> None:
        """Take what has arrived; with enough lines waiting, no more is read until they are taken."""
        assert self._arrived is not None
        try:
            self._take(os.read(self._descriptor, _READ_BYTES))
        except OSError:  # a socket whose other end broke off
            self._take(b"")
        if self._over or len(self._lines) >= _MOST_WAITING:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._listening = False
        if self._lines or self._over:
            self._arrived.set()

    def _take(self, data: bytes) -> None:
        self._over = not data
        self._begun.append(data)
        if data and b"\n" not in data:
            return
        *whole, rest = b"".join(self._begun).split(b"\n")
        self._lines.extend(whole)
        self._begun = [rest]
        if self._over and rest:
            self._lines.append(rest)

    def _read_on(self) -> None:
        with os.fdopen(self._descriptor, "rb", closefd=False) as stream:
            for line in stream:
                self._room.acquire()
                self._lines.append(line)
                self._wake()
        self._over = True
        self._wake()


class Writer:
    """Standard output; what is written is on its way when the call returns."""

    def __init__(self, descriptor: int) -> None:
        self._stream = os.fdopen(descriptor, "wb", closefd=False)
        self._opened = contextlib.ExitStack()
        self._attempt = _without_waiting(descriptor, self._opened)
        self._queued: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        """Messages, or rests of them, that the thread has still to write."""
        self._guard = threading.Lock()
        self._room = asyncio.Event()
        self._turn = asyncio.Lock()
        self._failure: OSError | None = None
        self._thread: threading.Thread | None = None

    async def write(self, data: bytes) -> None:
        """Write a message after all those before it; waits only for a client that asks and does not read."""
        if self._waiting >= _MOST_WAITING or self._turn.locked():
            async with self._turn:
                while self._waiting >= _MOST_WAITING:
                    self._room.clear()
                    await self._room.wait()
        if self._failure is not None:
            raise self._failure
        if not self._waiting and self._attempt is not None:
            data = data[self._attempt(data) :]
        if data:
            self._leave_to_thread(data)

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody reads the other end any more, as far as the system can tell without writing."""
        return self._failure is not None or _has_no_reader(self._stream.fileno())

    def close(self) -> None:
        """Write what waits; a client that does not take it is not waited for."""
        self._queued.put(None)
        if self._thread is not None:
            self._thread.join(_DRAIN_S)
        self._opened.close()

    def _leave_to_thread(self, data: bytes) -> None:
        with self._guard:
            self._waiting += 1
        self._queued.put(data)
        if self._thread is None:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._write_on, name="stdout", daemon=True)
            self._thread.start()

    def _write_on(self) -> None:
        while (data := self._queued.get()) is not None:
            if self._failure is None:
                try:
                    self._stream.write(data)
                    self._stream.flush()
                except OSError as error:
                    self._failure = error
            with self._guard:
                self._waiting -= 1
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                self._loop.call_soon_threadsafe(self._room.set)


def _has_no_reader(descriptor: int) -> bool:
    if not hasattr(select, "poll"):
        return False
    watched = select.poll()
    watched.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in watched.poll(0))


def _without_waiting(descriptor: int, opened: contextlib.ExitStack) -> Attempt | None:
    """Return a way to write to a pipe or socket that never waits, and leaves it as it is for whoever shares
    it.
    """
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode) and hasattr(socket, "MSG_DONTWAIT"):
        sender = opened.enter_context(socket.socket(fileno=os.dup(descriptor)))
        return _giving_up(lambda data: sender.send(data, socket.MSG_DONTWAIT))
    if stat.S_ISFIFO(mode) and hasattr(os, "O_NONBLOCK"):
        with contextlib.suppress(OSError):  # only Linux opens a pipe a second time
            again = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK)
            opened.callback(os.close, again)
            return _giving_up(lambda data: os.write(again, data))
    return None


def _giving_up(write: Attempt) -> Attempt:
    def attempt(data: bytes) -> int:
        try:
            return write(data)
        except BlockingIOError:
            return 0

    return attempt
