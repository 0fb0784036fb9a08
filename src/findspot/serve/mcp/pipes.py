"""Standard input and output as the event loop uses them: each has a thread of its own.

A thread of its own wakes the loop, or is woken by it, once a message; asking a pool of threads for
each read, write and flush costs several times that, and reading could not be ended from outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable

import anyio
from anyio import to_thread

_MOST_WAITING = 256
"""Lines read ahead, and answers not yet taken by the client, before either side waits."""

_DRAIN_S = 3.0
"""How long the end waits for a client that does not read."""


class Lines:
    """Lines of standard input; iterating ends with the input or when told to."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: deque[str] = deque()
        self._room = threading.Semaphore(_MOST_WAITING)
        self._ended = False
        self._wake: Callable[[], None] = lambda: None

    async def __aiter__(self) -> AsyncIterator[str]:
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                loop.call_soon_threadsafe(arrived.set)

        self._wake = wake
        # A daemon: nothing can interrupt a read, and the process must not wait for it.
        threading.Thread(target=self._read, name="stdin", daemon=True).start()
        while not self._ended:
            while self._lines and not self._ended:
                line = self._lines.popleft()
                self._room.release()
                if not line:
                    return
                yield line
            arrived.clear()
            if not self._lines and not self._ended:
                await arrived.wait()

    def end(self) -> None:
        """As if the input had been closed."""
        self._ended = True
        self._wake()

    def _read(self) -> None:
        with os.fdopen(self._descriptor, "rb", closefd=False) as stream:
            for line in stream:
                self._put(line.decode("utf-8", "replace"))
        self._put("")

    def _put(self, line: str) -> None:
        self._room.acquire()
        self._lines.append(line)
        self._wake()


class Writer:
    """Standard output; what is written is on its way when the call returns."""

    def __init__(self, descriptor: int) -> None:
        self._stream = os.fdopen(descriptor, "wb", closefd=False)
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._taken = threading.Semaphore(_MOST_WAITING)
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._write, name="stdout", daemon=True)
        self._thread.start()

    async def write(self, text: str) -> None:
        if self._failure is not None:
            raise self._failure
        if not self._taken.acquire(blocking=False):  # a client that asks and does not read
            await to_thread.run_sync(self._taken.acquire, abandon_on_cancel=True)
        self._waiting.put(text)

    async def flush(self) -> None:
        """Writing flushes."""
        await anyio.lowlevel.checkpoint_if_cancelled()

    def close(self) -> None:
        """Write what waits; a client that does not take it is not waited for."""
        self._waiting.put(None)
        self._thread.join(_DRAIN_S)

    def _write(self) -> None:
        while (text := self._waiting.get()) is not None:
            self._taken.release()
            if self._failure is None:
                try:
                    self._stream.write(text.encode("utf-8"))
                    self._stream.flush()
                except OSError as error:
                    self._failure = error
