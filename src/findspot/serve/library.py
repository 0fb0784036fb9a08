"""The engine of a process that serves, and what its clients share."""

from __future__ import annotations

import contextlib
import contextvars
import threading

from findspot.core.caller import working_folder
from findspot.core.errors import FindspotError
from findspot.core.model import Query
from findspot.core.paths import home_folder, index_folder
from findspot.discover.checkouts import folders_around
from findspot.engine import Engine
from findspot.project import Project

_FIRST_QUESTION = "where does the program begin"
"""Asked by the server itself, so that the index and the model are in memory when somebody else asks."""

_FIRST_ANSWERS_S = 0.5
"""A client is greeted before the project that it is in is loaded."""


class Library:
    """The engine, made by the first call that needs it."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._guard = threading.Lock()
        self.ending = threading.Event()
        """Set once the server is about to end: work that stops from then on is interrupted, not cancelled."""

    def open(self) -> Engine:
        with self._guard:
            if self._engine is None:
                self._engine = Engine(watching=True)
            return self._engine

    def leave(self, connection: str) -> None:
        """End the MCP servers that were started for a connection."""
        if self._engine is not None:
            self._engine.end_servers_of(connection)

    async def disconnect(self) -> None:
        if self._engine is not None:
            await self._engine.end_servers()

    def prepare_soon(self) -> None:
        """Watch the indexed project that the client is in, and load what its first question needs."""
        context = contextvars.copy_context()
        timer = threading.Timer(_FIRST_ANSWERS_S, context.run, (self._prepare,))
        timer.daemon = True
        timer.start()

    def _prepare(self) -> None:
        with contextlib.suppress(FindspotError, OSError):
            here = working_folder()
            home = home_folder()
            if any(index_folder(home, root).is_dir() for root in folders_around(here)):
                self.open().detect(here).search(Query(_FIRST_QUESTION, limit=1))

    def opened(self) -> list[Project]:
        with self._guard:
            return self._engine.opened() if self._engine is not None else []

    def close(self) -> None:
        with self._guard:
            if self._engine is not None:
                self._engine.close()
                self._engine = None
