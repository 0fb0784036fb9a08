"""Projects that share a worker process from test to test: starting one costs more than most tests do."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from findspot import Engine, Project
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


WORKERS = KeptWorkers()


def open_project(root: Path, flags: dict[str, object] | None = None) -> Project:
    """Open a project whose files are read by the kept worker."""
    project = Project(root, flags)
    project.index.workers = WORKERS
    return project


class KeptEngine(Engine):
    """An engine whose projects are read by the kept worker."""

    def _open(self, root: Path) -> Project:
        project = super()._open(root)
        project.index.workers = WORKERS
        return project
