"""The slower model of an index: what it has read so far, and the thread that goes on reading."""

from __future__ import annotations

import contextlib
import os
import threading

from findspot.core.errors import CancelledError, FindspotError, IndexBusyError
from findspot.core.locks import writer_lock
from findspot.core.log import get_logger
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.embed.protocol import Embedder, model_name
from findspot.indexing.second import READING_REVISION, read_again
from findspot.search.second import SecondReader
from findspot.store.protocol import Store
from findspot.store.second import SecondVectors

_log = get_logger("second")

LOCK_NAME = "second.lock"
_RETRY_S = 5.0
"""How soon to look again when another process reads, or something went wrong."""

_NICE = 10
"""Searches and the user's own work go first."""


class SecondReading:
    """One slower model beside one index."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        self._vectors = SecondVectors(store.folder, f"{model_name(embedder)}-{READING_REVISION}")
        self.reader = SecondReader(embedder, self._vectors)
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._idle = threading.Condition()
        self._reading = False
        self._cancel = CancelToken()
        self._thread: threading.Thread | None = None

    def read(self, progress: ProgressSink = ignore_progress, cancel: CancelToken | None = None) -> int:
        """Read what is missing now; returns how many chunks that were. One process at a time reads."""
        with writer_lock(self._store.folder / LOCK_NAME):
            return read_again(
                self._store, self._vectors, self.reader.embedder, progress, cancel or CancelToken()
            )

    def go_on(self) -> None:
        """Read what is missing, in the background."""
        self._set_reading(True)
        self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="findspot-second", daemon=True)
            self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Wait until nothing is left to read; False when the time is over before."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._reading, timeout_s)

    def close(self) -> None:
        """Stop reading; what was read is kept."""
        self._stopped.set()
        self._cancel.cancel()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()
        self._vectors.close()

    def _run(self) -> None:
        with contextlib.suppress(AttributeError, OSError):  # a thread's own priority is Linux's alone
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        while self._wanted.wait() and not self._stopped.is_set():
            self._wanted.clear()
            try:
                self.read(cancel=self._cancel)
                self._set_reading(self._wanted.is_set())
            except CancelledError:
                return
            except FindspotError as error:
                if not isinstance(error, IndexBusyError):
                    _log.warning("the second reading stopped: %s", error.developer_message)
                self._stopped.wait(_RETRY_S)
                self._wanted.set()

    def _set_reading(self, reading: bool) -> None:
        with self._idle:
            self._reading = reading
            self._idle.notify_all()
