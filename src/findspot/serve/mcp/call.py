"""One tool call, as the tools see it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from findspot.core.config import home_folder
from findspot.core.errors import FindspotError
from findspot.core.progress import CancelToken
from findspot.serve.mcp.client import Client
from findspot.serve.mcp.tasks import Task
from findspot.serve.mcp.work import Reporter, Threads, in_long_thread, in_thread

if TYPE_CHECKING:
    from findspot.engine import Engine

T = TypeVar("T")


class Library:
    """The engine, imported and made by the first call that needs it."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._guard = threading.Lock()
        self.ending = threading.Event()
        """Set once the server is about to end: work that stops from then on is interrupted, not cancelled."""

    def open(self) -> Engine:
        with self._guard:
            if self._engine is None:
                from findspot.engine import Engine

                self._engine = Engine(watching=True)
            return self._engine

    def watch_here(self) -> None:
        """Begin to watch the indexed project that the server was started in, if there is one."""
        from findspot.core.paths import index_folder
        from findspot.discover.checkouts import folders_around

        with contextlib.suppress(FindspotError, OSError):
            here = Path.cwd()
            home = home_folder()
            if any(index_folder(home, root).is_dir() for root in folders_around(here)):
                self.open().detect(here)

    def close(self) -> None:
        with self._guard:
            if self._engine is not None:
                self._engine.close()
                self._engine = None


class Call:
    """What a tool needs to do its work: the library, the client, and threads."""

    def __init__(
        self,
        library: Library,
        threads: Threads,
        client: Client,
        keep_task: Callable[[Task], None] | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        self.client = client
        self.warnings: list[str] = []
        """What the answer has to say beside what its tool says."""
        self.read_only = read_only
        """Whether nothing may come of this call but an answer."""
        self._library = library
        self._threads = threads
        self._keep_task = keep_task

    def seen(self, folders: list[Path]) -> list[Path]:
        """Return those of a client's folders that its token is for."""
        grant = self.client.grant
        return folders if grant is None else [folder for folder in folders if grant.covers(folder)]

    def go_on_as_task(self) -> None:
        """From here on the client need not wait, if it can do without."""
        task = self.client.task
        if task is not None and not task.kept and self._keep_task is not None:
            self._keep_task(task)

    async def quick(self, work: Callable[[Engine], T]) -> T:
        """Run what is over soon."""
        return await in_thread(lambda: work(self._engine()), self._threads.quick)

    async def patient(self, work: Callable[[Engine], T]) -> T:
        """Run what may have to wait for a language model; no search waits with it."""
        return await in_thread(lambda: work(self._engine()), self._threads.patient)

    async def long(self, work: Callable[[Reporter, CancelToken], T], *, told: bool = True) -> T:
        """Run what takes long, with progress for the client; stopped when the call is cancelled."""
        self.go_on_as_task()
        return await in_long_thread(work, self._threads.long, self.client, self._library.ending, told=told)

    def _engine(self) -> Engine:
        """Return the engine, or as much of it as the client's token is for."""
        engine, grant = self._library.open(), self.client.grant
        if grant is None or grant.everything:
            return engine
        from findspot.serve.mcp.allowed import AllowedEngine

        return cast("Engine", AllowedEngine(engine, grant))
