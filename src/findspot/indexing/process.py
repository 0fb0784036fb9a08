"""One worker process as the indexing process sees it: jobs go in, outcomes come back, or its death."""

from __future__ import annotations

import contextlib
import pickle
import queue
import subprocess
import threading
import time
from collections import deque
from typing import IO

from findspot.core.platforms import NO_WINDOW
from findspot.core.programs import python_command, python_environment
from findspot.indexing.messages import READY, TIME_IS_UP, Job, Outcome, Setup

Answers = queue.SimpleQueue[tuple["WorkerProcess", Outcome | None]]
"""Each outcome with the worker it came from; None when the worker will say no more."""

_CODE = "from findspot.indexing.worker import main; main()"

_SIGKILL = 9
_DYING_S = 5.0
"""Its pipes are closed before the process is gone, not long before."""


class WorkerProcess:
    """A process, the jobs it has been given, and the two threads that talk to it.

    Both directions have a thread: a worker that hangs with its pipe full must not hold up the
    indexing process, which is the one to notice.
    """

    def __init__(self, setup: Setup, answers: Answers) -> None:
        self._process = subprocess.Popen(
            python_command("-c", _CODE),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=NO_WINDOW,
            env=python_environment(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._killed = False
        self.jobs: deque[Job] = deque()
        self.ready = False
        self.since = time.monotonic()
        """When it last gave a sign of life, or began to have something to do."""
        self._outbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._outbox.put(setup)
        self._threads = (
            threading.Thread(target=self._write, args=(self._process.stdin,), daemon=True),
            threading.Thread(target=self._read, args=(self._process.stdout, answers), daemon=True),
        )
        for thread in self._threads:
            thread.start()

    def give(self, jobs: list[Job]) -> None:
        if not self.jobs:
            self.since = time.monotonic()
        self.jobs.extend(jobs)
        self._outbox.put(jobs)

    def kill(self) -> None:
        self._killed = True
        self._process.kill()

    def was_killed_by_the_system(self) -> bool:
        """Of a worker that is dying: whether it was killed as systems do that are short of memory."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_DYING_S)
        return not self._killed and self._process.returncode == -_SIGKILL

    def ran_out_of_time(self) -> bool:
        """Of a worker that is dead: whether it ended because one file took too much processor time."""
        return self._process.returncode == -TIME_IS_UP

    def close(self) -> None:
        """End the process; it holds nothing that would have to be put in order first."""
        self._process.kill()
        self._process.wait()
        self._outbox.put(None)
        for thread in self._threads:
            thread.join()

    def _write(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError), pipe:  # a dead worker is noticed by its reader
            while (value := self._outbox.get()) is not None:
                pickle.dump(value, pipe, pickle.HIGHEST_PROTOCOL)
                pipe.flush()

    def _read(self, pipe: IO[bytes], answers: Answers) -> None:
        with contextlib.suppress(Exception), pipe:  # whatever cannot be read is the end of it
            while not self.ready:  # what others print while Python starts comes before
                line = pipe.readline()
                if not line:
                    break
                self.ready = line == READY
                self.since = time.monotonic()
            while self.ready:
                outcome = pickle.load(pipe)
                self.since = time.monotonic()
                answers.put((self, outcome))
        answers.put((self, None))
