"""A second process that resolves references: a large project's edges take little more than half the time."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from findspot.core.platforms import answers_on_stdout, start_python

if TYPE_CHECKING:
    from findspot.store.store_protocol import Store

MANY = 1_500
"""Files from which on a second process is worth its start."""

SNAPSHOT_FILES = 2_000
"""Files that are resolved from one snapshot: SQLite keeps its log for as long as one is open."""

_YOUNG_OBJECTS = 1_000_000
"""Made between two collections while references are resolved."""

_CODE = "from findspot.graph.second_resolver import main; main()"


class ResolvedFile(NamedTuple):
    """The edges of one file, encoded: the definitions that they start at, and the edges by target."""

    file_id: int
    sources: bytes
    edges: dict[int, bytes]


class SecondResolver:
    """A process that resolves files in the order given, from an index that nobody changes meanwhile.

    It only saves time: what it does not answer is resolved by whoever started it.
    """

    def __init__(self) -> None:
        self._process = start_python(_CODE)
        self._answers: queue.SimpleQueue[ResolvedFile] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def begin(self, folder: Path, file_ids: Sequence[int]) -> None:
        """Have it resolve these files of an index."""
        self._thread = threading.Thread(target=self._talk, args=((folder, list(file_ids)),))
        self._thread.start()

    def resolved(self) -> Iterator[ResolvedFile]:
        """Yield what has been resolved since the last time."""
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._answers.get_nowait()

    def close(self) -> None:
        """End the process; what it has not answered by now is not resolved by it."""
        self._process.kill()
        self._process.wait()
        if self._thread is not None:
            self._thread.join()
            return
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _talk(self, job: tuple[Path, list[int]]) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            with self._process.stdin as sink:
                pickle.dump(job, sink, pickle.HIGHEST_PROTOCOL)
            with self._process.stdout as source:
                while True:
                    self._answers.put(ResolvedFile(*pickle.load(source)))


@contextlib.contextmanager
def few_collections() -> Iterator[None]:
    """Let the collector look for cycles less often: what is decoded is kept, so that it finds none."""
    young, *older = gc.get_threshold()
    gc.set_threshold(max(young, _YOUNG_OBJECTS), *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)


def start_second(store: Store, files: int) -> SecondResolver | None:
    """Start a second process for so many files of a store; None where that is not worth it."""
    from findspot.store.sqlite_store import SqliteStore

    if files < MANY or (os.cpu_count() or 1) < 2 or not isinstance(store, SqliteStore):
        return None
    return SecondResolver()


def main() -> None:
    """Resolve the files that standard input names; one answer per file goes to standard output."""
    from findspot.graph.stored_edges import FileResolver
    from findspot.store.sqlite_store import SqliteStore

    sink = answers_on_stdout()
    folder, file_ids = pickle.load(sys.stdin.buffer)
    store = SqliteStore(folder, "")
    for first in range(0, len(file_ids), SNAPSHOT_FILES):
        with store.snapshot() as snapshot, few_collections():
            resolver = FileResolver(snapshot)
            for file_id in file_ids[first : first + SNAPSHOT_FILES]:
                pickle.dump((file_id, *resolver.edges_of(file_id)), sink, pickle.HIGHEST_PROTOCOL)
                sink.flush()
        del resolver
        gc.collect()  # else what it decoded is still there when the next one decodes as much
