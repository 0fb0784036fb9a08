"""Worker processes: work handed out in small batches, results as they come, the dead replaced."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Protocol

from findspot.core.errors import FindspotError
from findspot.core.log import get_logger
from findspot.core.model import Skip, SkipReason, SourceFile
from findspot.core.platforms import start_python
from findspot.core.progress import CancelToken
from findspot.store.records import FileRecord

_log = get_logger("pool")

READY = b"findspot worker ready\n"
"""The line after which a worker's output is nothing but pickled outcomes."""

TIME_IS_UP = 27
"""The number of SIGPROF, by which a worker ends that spent too much processor time on one file."""


def file_limit_s(size: int) -> float:
    """Return the processor time that a file of so many bytes may take: several times what it needs.

    Unlike time on a clock, it does not depend on other programs.
    """
    return 4.0 * (1.0 + size / 1e6)


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker needs to know before its jobs."""

    root: Path
    provider: str
    strategy: str
    max_file_bytes: int
    revision: str | None = None
    """Of a model that embeds in the indexing process; None where each worker opens its own."""
    secret_scan: str = "mask"


@dataclass(frozen=True, slots=True)
class Job:
    """A file to index; `known_sha256` and `known_keys` are what the index has of it."""

    file: SourceFile
    known_sha256: str | None = None
    known_keys: frozenset[bytes] = frozenset()
    again: bool = False
    """A worker died at it: this is its last try."""
    unparsed: bool = False
    """Parsing it did not end in time, or ended the worker: it is cut without a parser."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The file's content is what the index already has."""

    file: SourceFile


@dataclass(frozen=True, slots=True)
class Indexed:
    """A file's new record, and a Skip when some of the file was left out."""

    record: FileRecord
    skip: Skip | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    skip: Skip
    file: SourceFile


Outcome = Indexed | Unchanged | Rejected


def nothing() -> None:
    """Do nothing."""


class Pool(Protocol):
    """Whoever reads, cuts and embeds: processes of this machine, or those of a cluster."""

    def run(
        self, jobs: Iterable[Job], cancel: CancelToken, idle: Callable[[], None] = nothing
    ) -> Iterator[Outcome]:
        """Yield the outcome of every job, in the order they finish; call `idle` while none comes."""


class Workers(Protocol):
    def lend(self, setup: Setup, size: int) -> AbstractContextManager[Pool]:
        """Return a pool of about that many workers."""


Batches = queue.SimpleQueue[tuple[Setup, list[Job]] | None]
"""What workers take their work from; None ends the one that takes it."""

Answers = queue.SimpleQueue[tuple["WorkerProcess", Outcome | None]]
"""Each outcome with the worker it came from; None when the worker will say no more."""

_CODE = "from findspot.indexing.worker import main; main()"

_KILLED = (-9, -15)
"""How a worker ends where memory is short: by the system, or by a guard such as earlyoom."""

_LAST_WORDS_BYTES = 300
_DYING_S = 5.0
"""Its pipes are closed before the process is gone, not long before."""


class Death(Enum):
    """Why a worker ended."""

    MEMORY = auto()
    TIME = auto()
    CRASH = auto()


class WorkerProcess:
    """A process, the jobs it has been given, and the thread that talks to it.

    The indexing process waits for no pipe: it is the one to notice a worker that hangs.
    """

    def __init__(self, setup: Setup, batches: Batches, answers: Answers) -> None:
        with TemporaryFile() as errors:
            self._process = start_python(_CODE, errors)
            self._errors = os.dup(errors.fileno())
        self._is_stuck = False
        self.jobs: deque[Job] = deque()
        self.ready = False
        self._heard = time.monotonic()
        self._thread = threading.Thread(target=self._talk, args=(setup, batches, answers), daemon=True)
        self._thread.start()

    def end_if_stuck(self, blocked_s: float) -> None:
        """Kill a process that has something to do and has not answered for so long.

        One that spends too much processor time ends by itself (`worker.limit_time`), where there are timers.
        """
        if self.jobs and time.monotonic() - self._heard > blocked_s:
            _log.warning("a worker made no progress and is ended")
            self._is_stuck = True
            self._process.kill()

    def kill(self) -> None:
        self._process.kill()

    def death(self) -> Death:
        """Return why a worker ended that says no more."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_DYING_S)
        if self._is_stuck or self._process.returncode == -TIME_IS_UP:
            return Death.TIME
        return Death.MEMORY if self._process.returncode in _KILLED else Death.CRASH

    def last_words(self) -> str:
        """Return the last line that a process that ended wrote to standard error."""
        size = os.lseek(self._errors, 0, os.SEEK_END)
        os.lseek(self._errors, max(0, size - _LAST_WORDS_BYTES), os.SEEK_SET)
        lines = os.read(self._errors, _LAST_WORDS_BYTES).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join()
        os.close(self._errors)

    def _talk(self, setup: Setup, batches: Batches, answers: Answers) -> None:
        """Start with a setup, then take batches and pass on their outcomes until the process ends."""
        to_process, from_process = self._process.stdin, self._process.stdout
        assert to_process is not None
        assert from_process is not None
        with contextlib.suppress(Exception), to_process, from_process:  # what cannot be read is the end of it
            _send(setup, to_process)
            # What others print while Python starts comes before.
            self.ready = any(line == READY for line in iter(from_process.readline, b""))
            while self.ready and (batch := batches.get()) is not None:
                self._heard = time.monotonic()
                self.jobs.extend(batch[1])
                _send(batch, to_process)
                for _ in batch[1]:
                    outcome = pickle.load(from_process)
                    self._heard = time.monotonic()
                    answers.put((self, outcome))
        answers.put((self, None))


def _send(value: object, pipe: IO[bytes]) -> None:
    pickle.dump(value, pipe, pickle.HIGHEST_PROTOCOL)
    pipe.flush()


BLOCKED_S = 1_800.0
"""A worker that does not answer for so long waits for something that will not come: a file takes seconds of a
processor, and even a busy machine gives them in that time."""

_MAX_FAILED_STARTS = 3
_MAX_KILLED_STARTS = 20
"""In a row, where memory is short. A worker that dies before it is ready has not seen a file: no file may be
blamed for it."""

_BATCH_FILES = 16
_BATCH_BYTES = 256 * 1024
_AHEAD = 16
"""Batches that wait for each worker: enough for the time that a commit takes, during which none are made."""

_TICK_S = 0.1


class WorkerPool:
    """As many workers as there is work for, which take it in batches, ended with the pool."""

    def __init__(self, setup: Setup, size: int, blocked_s: float = BLOCKED_S) -> None:
        self.prepare(setup, size)
        self._blocked_s = blocked_s
        self._batches: Batches = queue.SimpleQueue()
        self._answers: Answers = queue.SimpleQueue()
        self.workers: list[WorkerProcess] = []
        self._failed_starts = 0
        self._given = self._pending = 0
        self._last: list[Job] = []
        """What workers died at: it is tried once more when all else is done."""

    def prepare(self, setup: Setup, size: int) -> None:
        """Take up the setup of the next run, and how many workers it may have."""
        self._setup, self._size = setup, max(1, size)

    def run(
        self, jobs: Iterable[Job], cancel: CancelToken, idle: Callable[[], None] = nothing
    ) -> Iterator[Outcome]:
        """Yield the outcome of every job, in the order they finish; call `idle` while none comes."""
        coming = batches_of(jobs)
        while True:
            cancel.check()
            while self._batches.qsize() < _AHEAD * self._size and (batch := next(coming, None)):
                self._give(batch)
            if not self._pending:
                if not self._last:
                    return
                for job in self._last:
                    self._give([job])
                self._last = []
            self._start_workers()
            if self._answers.empty():  # else it is this process that is behind, embedding perhaps
                for worker in self.workers:
                    worker.end_if_stuck(self._blocked_s)
            try:
                worker, outcome = self._answers.get(timeout=_TICK_S)
            except queue.Empty:
                idle()
                continue
            if outcome is not None:
                worker.jobs.popleft()
                self._pending -= 1
                self._failed_starts = 0
                yield outcome
            elif worker in self.workers:
                yield from self._bury(worker)

    def keep_one(self) -> None:
        """End all workers but one, or that one too where they have read so much that it has grown large."""
        if self._given > KEPT_FILES:
            self.close()
        for _ in self.workers[1:]:
            self._batches.put(None)

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            self._batches.put(None)
        for worker in self.workers:
            worker.close()
        self.workers.clear()

    def _give(self, jobs: list[Job]) -> None:
        self._batches.put((self._setup, jobs))
        self._given += len(jobs)
        self._pending += len(jobs)

    def _start_workers(self) -> None:
        idle = sum(not worker.jobs for worker in self.workers)
        for _ in range(min(self._size - len(self.workers), self._batches.qsize() - idle)):
            self.workers.append(WorkerProcess(self._setup, self._batches, self._answers))

    def _bury(self, worker: WorkerProcess) -> Iterator[Outcome]:
        """Close a worker that died: the file it was at is to blame, the others are for the next one.

        That file is tried once more, last, and without a parser where the parser may be why. Where memory was
        short there are fewer workers from now on.
        """
        self.workers.remove(worker)
        death, last_words = worker.death(), worker.last_words()
        worker.close()
        if death is Death.MEMORY:
            _log.warning("a worker was killed; going on with fewer")
            self._size = max(1, self._size // 2)
        if not worker.ready:
            self._count_failed_start(death, last_words)
        self._pending -= len(worker.jobs)
        if worker.jobs:
            job = worker.jobs.popleft()
            if job.again:
                yield _lost(job, death)
            else:
                self._last.append(replace(job, again=True, unparsed=death is not Death.MEMORY))
        for job in worker.jobs:
            self._give([job])

    def _count_failed_start(self, death: Death, why: str) -> None:
        self._failed_starts += 1
        if self._failed_starts < (_MAX_KILLED_STARTS if death is Death.MEMORY else _MAX_FAILED_STARTS):
            return
        if death is Death.MEMORY and not why:
            why = "the system killed them, as a rule because memory is short"
        raise FindspotError(
            f"The processes that read files could not be started{': ' + why if why else ''}."
            " Nothing was changed.",
            f"{self._failed_starts} workers in a row ended before they were ready",
            hint="If Findspot was just upgraded, start it again; else reinstall it.",
        )


def _lost(job: Job, death: Death) -> Rejected:
    if death is Death.TIME:
        skip = Skip(job.file.path, SkipReason.WORKER_TIMEOUT, "reading this file did not end in time")
    else:
        how = "the system killed" if death is Death.MEMORY else "reading this file crashed"
        skip = Skip(job.file.path, SkipReason.WORKER_CRASHED, f"{how} two worker processes")
    return Rejected(skip, job.file)


def batches_of(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """Yield what a worker is given at a time."""
    batch: list[Job] = []
    size = 0
    for job in jobs:
        batch.append(job)
        size += job.file.size
        if len(batch) >= _BATCH_FILES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def worker_count(jobs: int, total_bytes: int) -> int:
    """Return how many workers are worth starting: one for a few files, else one per core.

    The cores that this process may use are fewer than the machine's in a container.
    """
    if jobs <= _BATCH_FILES and total_bytes <= _BATCH_BYTES:
        return 1
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return min(cores, 1 + jobs // _BATCH_FILES)


KEEP_S = 300.0
"""How long a worker waits for the next run: a start takes longer than all else about a saved file."""

KEPT_FILES = 500
"""A worker that has read more files holds over 100 MB, and is not kept."""


class SparePool:
    """Lends the pool of the last run to the next one."""

    def __init__(self, keep_s: float = KEEP_S) -> None:
        self._keep_s = keep_s
        self._guard = threading.Lock()
        self._pool: WorkerPool | None = None
        self._timer: threading.Timer | None = None

    @contextmanager
    def lend(self, setup: Setup, size: int) -> Iterator[WorkerPool]:
        """Provide a pool for one run; it is kept only if the run went through, and not for long."""
        pool = self._replace(None) or WorkerPool(setup, size)
        pool.prepare(setup, size)
        try:
            yield pool
        except BaseException:
            pool.close()
            raise
        pool.keep_one()
        if replaced := self._replace(pool):  # two runs on one project can only follow each other
            replaced.close()

    def close(self) -> None:
        if pool := self._replace(None):
            pool.close()

    def _replace(self, pool: WorkerPool | None) -> WorkerPool | None:
        """Keep a pool, or none; return the one that was kept."""
        with self._guard:
            before, self._pool = self._pool, pool
            if self._timer:
                self._timer.cancel()
            if pool:
                self._timer = threading.Timer(self._keep_s, self.close)
                self._timer.daemon = True
                self._timer.start()
        return before
