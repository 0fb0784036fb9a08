"""Serving on standard input and output, and how that ends.

Closed input, SIGTERM and SIGINT end the server the same way: its input is over, running work is
asked to stop and awaited, and the process ends with code 0.
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import signal
import threading
from types import FrameType
from typing import TextIO, cast

import anyio
from mcp.server.stdio import stdio_server

from findspot.core.config import home_folder
from findspot.core.log import configure, log_to
from findspot.serve.mcp.call import Library
from findspot.serve.mcp.server import make_server, settings_here
from findspot.serve.mcp.tools import all_tools
from findspot.serve.mcp.tools.cortex import require_chunks

_WAITING_LINES = 256
_FIRST_ANSWERS_S = 0.5
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Lines(io.TextIOBase):
    """Lines of standard input, read by a thread of their own so that waiting for one can be ended."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: queue.Queue[str] = queue.Queue(_WAITING_LINES)
        self._ended = False
        # A daemon: nothing can interrupt a read, and the process must not wait for it.
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        """The next line; empty once the input is over."""
        line = "" if self._ended else self._lines.get()
        return "" if self._ended else line

    def end(self) -> None:
        """As if the input had been closed."""
        self._ended = True
        with contextlib.suppress(queue.Full):  # whoever reads next sees the end
            self._lines.put_nowait("")

    def _read(self) -> None:
        with os.fdopen(self._descriptor, "rb", closefd=False) as stream:
            for line in stream:
                self._lines.put(line.decode("utf-8", "replace"))
        self._lines.put("")


def run() -> None:
    """Serve until the input ends or a signal comes."""
    configure()
    with contextlib.suppress(OSError):  # standard error has to do where no file can be written
        log_to(home_folder() / "logs")
    lines = Lines(_take_stdin())
    _end_on_signal(lines)
    library = Library()
    try:
        if settings_here().serve.toolsets == ("cortex",):
            require_chunks(library)
        else:
            _watch_soon(library)
        anyio.run(_serve, lines, library)
    except* (BrokenPipeError, ConnectionResetError):
        pass  # the client is gone, and nobody waits for the rest
    finally:
        library.close()


def _watch_soon(library: Library) -> None:
    """Watch the project we are in once the client has been answered: loading the engine takes a moment."""
    timer = threading.Timer(_FIRST_ANSWERS_S, library.watch_here)
    timer.daemon = True
    timer.start()


async def _serve(lines: Lines, library: Library) -> None:
    server = make_server(all_tools(), library)
    async with stdio_server(stdin=anyio.wrap_file(cast(TextIO, lines))) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _take_stdin() -> int:
    """Keep the input to ourselves: what we start in turn finds an empty one."""
    private = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return private


def _end_on_signal(lines: Lines) -> None:
    def end(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one does not wait
        lines.end()

    for number in _STOP_SIGNALS:
        signal.signal(number, end)
