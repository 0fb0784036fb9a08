"""A worker kept warm between runs, so that a saved file is indexed at once.

Starting a worker takes longer than indexing a file. One is kept for a minute after a run, then
ended, so that an idle process holds no memory for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from findspot.indexing.messages import Setup
from findspot.indexing.pool import WorkerPool

KEEP_S = 60.0


class SparePool:
    """Lends the pool of the last run to the next one that needs the same."""

    def __init__(self, keep_s: float = KEEP_S) -> None:
        self._keep_s = keep_s
        self._guard = threading.Lock()
        self._pool: WorkerPool | None = None
        self._timer: threading.Timer | None = None

    @contextmanager
    def lend(self, setup: Setup, size: int) -> Iterator[WorkerPool]:
        """Provide a pool for one run; it is kept only if the run went through."""
        pool = self._take(setup, size)
        try:
            yield pool
        except BaseException:
            pool.close()
            raise
        self._keep(pool)

    def close(self) -> None:
        """End the spare worker, if there is one."""
        with self._guard:
            pool, self._pool = self._pool, None
            if self._timer:
                self._timer.cancel()
        if pool:
            pool.close()

    def _take(self, setup: Setup, size: int) -> WorkerPool:
        with self._guard:
            pool, self._pool = self._pool, None
            if self._timer:
                self._timer.cancel()
        if pool and pool.setup != setup:
            pool.close()
            pool = None
        if pool:
            pool.resize(size)
        return pool or WorkerPool(setup, size)

    def _keep(self, pool: WorkerPool) -> None:
        pool.keep_one()
        with self._guard:
            replaced, self._pool = self._pool, pool
            self._timer = threading.Timer(self._keep_s, self.close)
            self._timer.daemon = True
            self._timer.start()
        if replaced:  # two runs on one project can only follow each other, but closing is cheap
            replaced.close()
