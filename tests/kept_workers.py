"""One worker process for all that a test process indexes: starting one costs more than most tests do."""

from __future__ import annotations

from contextlib import AbstractContextManager

from findspot import indexer
from findspot.core.platforms import python_environment
from findspot.indexing.workers import Setup, SparePool, WorkerPool


class KeptWorkers(SparePool):
    """The spare worker of this test run; a changed environment gets another one."""

    def __init__(self) -> None:
        super().__init__()
        self._environment: dict[str, str] = {}

    def lend(self, setup: Setup, size: int) -> AbstractContextManager[WorkerPool]:
        environment = {
            name: value
            for name, value in python_environment().items()
            if not name.startswith(("FINDSPOT_", "PYTEST_"))
        }
        if environment != self._environment:
            super().close()
            self._environment = environment
        return super().lend(setup, size)

    def close(self) -> None:
        """Outlive the project; the worker ends with its input, when the tests do."""


_WORKERS = KeptWorkers()


def keep_workers() -> None:
    """Have every project that this process opens from now on use them."""
    indexer.SparePool = lambda: _WORKERS  # type: ignore[assignment,misc]
