"""Worker processes: work handed out in small batches, results as they come, the dead replaced."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator

from findspot.core.log import get_logger
from findspot.core.model import Skip, SkipReason
from findspot.core.progress import CancelToken
from findspot.indexing.messages import Job, Outcome, Rejected, Setup

_log = get_logger("pool")

FILE_TIMEOUT_S = 60.0
"""Parsing a megabyte takes well under a second; what takes a minute will not end."""

_BATCH_FILES = 16
_BATCH_BYTES = 256 * 1024
_AHEAD = 2
"""Batches a worker has at hand, so that it never waits for the next one."""

_TICK_S = 0.1

# -P: a project's own modules must not be importable by a worker started inside it.
_COMMAND = (sys.executable, "-P", "-c", "from findspot.indexing.worker import main; main()")


class _Worker:
    """One process, the jobs it has been given, and the thread that reads its answers."""

    def __init__(self, setup: Setup, answers: queue.SimpleQueue[tuple[_Worker, Outcome | None]]) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self.jobs: deque[Job] = deque()
        self.since = time.monotonic()
        self._answers = answers
        self._send(setup)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def give(self, jobs: list[Job]) -> None:
        if not self.jobs:
            self.since = time.monotonic()
        self.jobs.extend(jobs)
        self._send(jobs)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stdout:
            self._process.stdout.close()

    def _send(self, value: object) -> None:
        with contextlib.suppress(OSError):  # a dead worker is noticed by its reader
            assert self._process.stdin is not None
            pickle.dump(value, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while True:
            try:
                self._answers.put((self, pickle.load(self._process.stdout)))
            except (EOFError, OSError, pickle.UnpicklingError):
                self._answers.put((self, None))
                return


class WorkerPool:
    """As many workers as there is work for, ended with the pool."""

    def __init__(self, setup: Setup, size: int, file_timeout_s: float = FILE_TIMEOUT_S) -> None:
        self._setup = setup
        self._size = max(1, size)
        self._file_timeout_s = file_timeout_s
        self._answers: queue.SimpleQueue[tuple[_Worker, Outcome | None]] = queue.SimpleQueue()
        self._workers: list[_Worker] = []

    def run(self, jobs: Iterable[Job], cancel: CancelToken) -> Iterator[Outcome]:
        """The outcome of every job, in the order they finish."""
        batches = _batches(jobs)
        retry: deque[Job] = deque()
        waiting = True
        while True:
            cancel.check()
            if waiting:
                waiting = self._fill(batches, retry)
            if not any(worker.jobs for worker in self._workers) and not retry and not waiting:
                return
            try:
                worker, outcome = self._answers.get(timeout=_TICK_S)
            except queue.Empty:
                self._end_hanging()
                continue
            if outcome is not None:
                worker.jobs.popleft()
                worker.since = time.monotonic()
                waiting = True
                yield outcome
            elif worker in self._workers:
                self._workers.remove(worker)
                hung = time.monotonic() - worker.since >= self._file_timeout_s
                worker.close()
                if worker.jobs:
                    yield _lost(worker.jobs.popleft(), hung)
                    retry.extend(worker.jobs)
                waiting = True

    def close(self) -> None:
        for worker in self._workers:
            if worker.jobs:
                worker.kill()
        for worker in self._workers:
            worker.close()
        self._workers.clear()

    def _fill(self, batches: Iterator[list[Job]], retry: deque[Job]) -> bool:
        """Give work to workers that have little; False when there is no more to give."""
        while True:
            busy = [w for w in self._workers if len(w.jobs) > (_AHEAD - 1) * _BATCH_FILES // 2]
            if len(busy) >= self._size:
                return True
            if retry:
                batch = [retry.popleft()]
            elif (more := next(batches, None)) is not None:
                batch = more
            else:
                return False
            self._idlest().give(batch)

    def _idlest(self) -> _Worker:
        if len(self._workers) < self._size and all(w.jobs for w in self._workers):
            self._workers.append(_Worker(self._setup, self._answers))
        return min(self._workers, key=lambda worker: len(worker.jobs))

    def _end_hanging(self) -> None:
        for worker in self._workers:
            if worker.jobs and time.monotonic() - worker.since >= self._file_timeout_s:
                _log.warning("a worker made no progress for %.0f s and is ended", self._file_timeout_s)
                worker.kill()


def _lost(job: Job, hung: bool) -> Rejected:
    reason, detail = (
        (SkipReason.WORKER_TIMEOUT, "parsing this file did not end in time")
        if hung
        else (SkipReason.WORKER_CRASHED, "the parser crashed on this file")
    )
    return Rejected(Skip(job.file.path, reason, detail), job.file)


def _batches(jobs: Iterable[Job]) -> Iterator[list[Job]]:
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
    """How many workers are worth starting: one for a few files, else one a core."""
    if jobs <= _BATCH_FILES and total_bytes <= _BATCH_BYTES:
        return 1
    return min(os.cpu_count() or 1, 1 + jobs // _BATCH_FILES)
