"""The slower model of a project: opening it, what it has read so far, and the thread that goes on reading."""

from __future__ import annotations

import contextlib
import os
import threading

from findspot.core.errors import CancelledError, FindspotError, IndexBusyError, IndexNotFoundError
from findspot.core.locks import writer_lock
from findspot.core.log import get_logger
from findspot.core.model import SecondStatus
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.settings import EmbedSettings
from findspot.embed.embedder import Embedder, model_name
from findspot.embed.provider_registry import OpenEmbedder, two_speeds
from findspot.indexing.second import READING_REVISION, read_again
from findspot.search.second import SecondReader
from findspot.store.second import SecondVectors, standing
from findspot.store.store_protocol import Store

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
        with writer_lock(self._store.folder / LOCK_NAME, make_folder=False):
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
            except IndexNotFoundError:  # deleted: there is nothing to read until somebody indexes again
                self._set_reading(self._wanted.is_set())
            except FindspotError as error:
                if not isinstance(error, IndexBusyError):
                    _log.warning("the second reading stopped: %s", error.developer_message)
                self._stopped.wait(_RETRY_S)
                self._wanted.set()

    def _set_reading(self, reading: bool) -> None:
        with self._idle:
            self._reading = reading
            self._idle.notify_all()


class SecondModel:
    """The slower model that a project's settings choose, where they choose one; it is opened once."""

    def __init__(self, open_embedder: OpenEmbedder) -> None:
        self._open = open_embedder
        self._guard = threading.Lock()
        self._opened: tuple[EmbedSettings, SecondReading] | None = None

    def reading(self, store: Store, settings: EmbedSettings) -> SecondReading | None:
        """Return what the model reads of an index; None where no slower model is chosen."""
        _, slow = two_speeds(settings)
        with self._guard:
            if self._opened and self._opened[0] == slow:
                return self._opened[1]
        self.close()
        if slow is None:
            return None
        reading = SecondReading(store, self._open(slow.provider, slow))
        with self._guard:
            self._opened = (slow, reading)
        return reading

    def reader(self, store: Store, settings: EmbedSettings) -> tuple[SecondReader | None, str | None]:
        """Return what the model has read, or why it has no say."""
        try:
            reading = self.reading(store, settings)
        except FindspotError as error:
            return None, f"Without the model that was chosen: {error.developer_message}."
        return reading.reader if reading else None, None

    def read_on(self, store: Store, settings: EmbedSettings) -> None:
        """Let the model read what is missing, in the background."""
        try:
            if reading := self.reading(store, settings):
                reading.go_on()
        except FindspotError as error:  # answers come without it, and say so
            _log.warning("no second reading: %s", error.developer_message)

    def close(self) -> None:
        """Stop reading; what was read is kept."""
        with self._guard:
            before, self._opened = self._opened, None
        if before:
            before[1].close()


def second_status(store: Store, settings: EmbedSettings) -> SecondStatus | None:
    """Return how far the slower model is, without opening it."""
    _, slow = two_speeds(settings)
    if slow is None:
        return None
    model, done, total = standing(store.folder) or (slow.provider, 0, 0)
    return SecondStatus(model, done, total)
