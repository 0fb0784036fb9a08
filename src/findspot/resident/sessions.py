"""The MCP sessions of a process: one event loop, one engine that all of them ask, and the terms of each."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import socket
import threading
from concurrent.futures import Future, wait

import click

from findspot.core.caller import Caller, on_behalf_of, working_folder
from findspot.core.errors import FindspotError
from findspot.core.log import get_logger, keep_log
from findspot.core.model import Query
from findspot.core.paths import home_folder, index_folder
from findspot.core.settings import CATALOGUE_TOOLSET
from findspot.discover.checkouts import folders_around
from findspot.door.connection import RefusedError
from findspot.engine import Engine
from findspot.serve.cli.failure import USAGE, exit_code
from findspot.serve.cli.server_commands import gateway, serve
from findspot.serve.mcp.access import Terms
from findspot.serve.mcp.client_stream import MAX_LINE_BYTES, Connection
from findspot.serve.mcp.server import make_server, settings_here
from findspot.serve.mcp.tools import all_tools
from findspot.serve.mcp.tools.cortex import require_chunks

_log = get_logger("mcp")

_CLOSE_S = 10.0

_FIRST_QUESTION = "where does the program begin"
"""Asked by the server itself, so that the index and the model are in memory when somebody else asks."""

_FIRST_ANSWERS_S = 0.5
"""A client is greeted before the project that it is in is loaded."""


def prepare_soon(engine: Engine, terms: Terms) -> None:
    """Watch the indexed project that the client is in, and load what its first question needs."""
    if terms.toolsets in (("cortex",), (CATALOGUE_TOOLSET,)):
        return  # no tool is asked about a project

    def prepare() -> None:
        with contextlib.suppress(FindspotError, OSError):
            here = working_folder()
            if any(index_folder(home_folder(), root).is_dir() for root in folders_around(here)):
                engine.detect(here).search(Query(_FIRST_QUESTION, limit=1))

    timer = threading.Timer(_FIRST_ANSWERS_S, contextvars.copy_context().run, (prepare,))
    timer.daemon = True
    timer.start()


class Sessions:
    """Answers clients that speak MCP over connected sockets."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.reading_tools = [tool.name for tool in all_tools() if tool.annotations["readOnlyHint"]]
        """Tools of which a call may be repeated."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sessions", daemon=True)
        self._thread.start()
        self._connections: set[Connection] = set()

    def open(self, connection: socket.socket, terms: Terms, caller: Caller | None = None) -> Future[None]:
        """Begin to answer a client; what is returned is done when the client is gone."""
        return asyncio.run_coroutine_threadsafe(self._serve(connection, terms, caller), self._loop)

    def leave(self) -> None:
        """Have the pipes of all clients turn to another process; one that does not read is not waited for."""
        leaving = asyncio.run_coroutine_threadsafe(self._leave(), self._loop)
        with contextlib.suppress(TimeoutError):
            leaving.result(_CLOSE_S)

    async def _leave(self) -> None:
        await asyncio.gather(*(connection.leave() for connection in self._connections))

    def close(self) -> None:
        closing = asyncio.run_coroutine_threadsafe(_finish(), self._loop)
        with contextlib.suppress(TimeoutError):
            closing.result(_CLOSE_S)
        asyncio.run_coroutine_threadsafe(self._engine.end_servers(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, opened: socket.socket, terms: Terms, caller: Caller | None) -> None:
        reader, writer = await asyncio.open_connection(sock=opened, limit=MAX_LINE_BYTES)
        ending = threading.Event()
        connection = Connection(reader, writer, ending.set)
        self._connections.add(connection)
        try:
            with on_behalf_of(caller) if caller is not None else contextlib.nullcontext():
                await connection.serve(make_server(all_tools(), self._engine, terms=terms, ending=ending))
        except Exception:  # noqa: BLE001 - one client's trouble must not end the others
            _log.exception("a session failed")
        finally:
            self._connections.discard(connection)


async def _finish() -> None:
    """Cancel the tasks of this loop, and wait for them."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class InProcess:
    """One session of an assistant without a resident process, and everything that it needs."""

    def __init__(self, connection: socket.socket, arguments: list[str]) -> None:
        keep_log(home_folder() / "logs", settings_here().log.level)
        self._engine = Engine(watching=True)
        terms = terms_of(arguments, self._engine)
        self._sessions = Sessions(self._engine)
        self._session = self._sessions.open(connection, terms)
        self.reading_tools = self._sessions.reading_tools
        prepare_soon(self._engine, terms)

    def join(self) -> None:
        wait([self._session])
        self._sessions.close()
        self._engine.close()


def terms_of(arguments: list[str], engine: Engine) -> Terms:
    """Return the terms of a command line; `RefusedError` where there is nothing to serve on them."""
    name, *options = arguments
    command = gateway if name == "gateway" else serve
    try:
        with command.make_context(f"findspot {name}", options) as context:
            given = context.params
    except click.ClickException as error:
        raise RefusedError(error.format_message(), USAGE) from None
    if name == "gateway":
        return Terms(toolsets=(CATALOGUE_TOOLSET,))
    terms = Terms(given["read_only"], toolsets=given["toolsets"])
    if (terms.toolsets or settings_here().serve.toolsets) == ("cortex",):
        try:
            require_chunks(engine)
        except FindspotError as error:
            hint = f"\nhint: {error.hint}" if error.hint else ""
            raise RefusedError(f"{error.statement}{hint}", exit_code(error)) from None
    return terms
