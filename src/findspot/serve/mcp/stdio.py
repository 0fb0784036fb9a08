"""Serving on standard input and output, and how that ends.

SIGTERM and SIGINT end the server: running work is asked to stop and awaited, and the process ends with
code 0. Closed input ends it the same way, once the running calls are answered.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

import anyio

from findspot.core.config import home_folder
from findspot.core.log import keep_log
from findspot.serve.mcp.access import Terms
from findspot.serve.mcp.call import Library
from findspot.serve.mcp.pipes import Lines, Writer
from findspot.serve.mcp.server import make_server, settings_here
from findspot.serve.mcp.streams import Incoming, Outgoing
from findspot.serve.mcp.tools import all_tools
from findspot.serve.mcp.tools.cortex import require_chunks

_FIRST_ANSWERS_S = 0.5
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run(*, read_only: bool = False) -> None:
    """Serve until the input ends or a signal comes; `read_only` offers no tools that change anything."""
    keep_log(home_folder() / "logs", settings_here().log.level)
    lines, writer = Lines(_take_stdin()), Writer(_take_stdout())
    _end_on_signal(lines)
    library = Library()
    try:
        if settings_here().serve.toolsets == ("cortex",):
            require_chunks(library)
        else:
            _watch_soon(library)
        anyio.run(_serve, lines, writer, library, Terms(read_only))
    finally:
        writer.close()
        library.close()


def _watch_soon(library: Library) -> None:
    """Watch the project we are in once the client has been answered: loading the engine takes a moment."""
    timer = threading.Timer(_FIRST_ANSWERS_S, library.watch_here)
    timer.daemon = True
    timer.start()


async def _serve(lines: Lines, writer: Writer, library: Library, terms: Terms) -> None:
    server = make_server(all_tools(), library, terms=terms)
    options = server.create_initialization_options()
    outgoing = Outgoing(writer, lines)
    await server.run(Incoming(lines, outgoing, library.ending.set), outgoing, options)


def _take_stdin() -> int:
    """Keep the input to ourselves: what we start in turn finds an empty one."""
    private = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return private


def _take_stdout() -> int:
    """Keep the output to ourselves: what others print goes to standard error."""
    private = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    return private


def _end_on_signal(lines: Lines) -> None:
    def end(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one does not wait
        lines.end()

    for number in _STOP_SIGNALS:
        signal.signal(number, end)
