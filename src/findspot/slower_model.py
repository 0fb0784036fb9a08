"""The slower model: its vectors, and the thread that reads the index with it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from findspot.core import sqlite
from findspot.core.errors import (
    CancelledError,
    FindspotError,
    IndexBusyError,
    IndexCorruptError,
    IndexNotFoundError,
    ProviderError,
)
from findspot.core.locks import writer_lock
from findspot.core.log import get_logger
from findspot.core.model import SLOWER_READING, Progress, SlowerModelStatus
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.settings import EmbedSettings
from findspot.core.sqlite import Connection, remove_database, transaction, translated
from findspot.embed.chunk_vectors import embed_chunks
from findspot.embed.embedder import Embedder, EmbedMode, model_name
from findspot.embed.provider_registry import OpenEmbedder, two_speeds
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Store

FILE_NAME = "second.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS model (id TEXT PRIMARY KEY, total INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, scale REAL NOT NULL, vector BLOB NOT NULL)
    WITHOUT ROWID;
"""

_LOOK_UP = "SELECT scale, vector FROM vectors WHERE key = ?"

Row = tuple[bytes, float, bytes]
"""Key, scale, vector."""


class SlowerVectors:
    """The vectors of one model, safe to use from several threads and processes."""

    def __init__(self, folder: Path, model: str) -> None:
        self.model = model
        self._path = folder / FILE_NAME
        self._guard = threading.Lock()
        self._db: Connection | None = None

    def of(self, keys: Sequence[bytes]) -> dict[bytes, tuple[float, bytes]]:
        """Return the scale and vector of each of these keys that has one."""
        if not self._path.exists():
            return {}
        with self._guard, translated(self._path):
            look_up = self._opened().execute
            found = ((key, look_up(_LOOK_UP, (key,)).fetchone()) for key in keys)
            return {key: row for key, row in found if row is not None}

    def keys(self) -> set[bytes]:
        """Return everything that has a vector."""
        if not self._path.exists():
            return set()
        with self._guard, translated(self._path):
            return {key for (key,) in self._opened().execute("SELECT key FROM vectors")}

    def put(self, rows: Iterable[Row]) -> None:
        """Store vectors; searches use them at once."""
        self._change("INSERT OR REPLACE INTO vectors VALUES (?,?,?)", rows)

    def drop(self, keys: Iterable[bytes]) -> None:
        """Delete the vectors that no chunk needs any more."""
        self._change("DELETE FROM vectors WHERE key = ?", ((key,) for key in keys))

    def expect(self, total: int) -> None:
        """Store how many vectors there will be, for the status."""
        self._change("UPDATE model SET total = ?", [(total,)])

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._guard:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _change(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with self._guard, translated(self._path), transaction(self._opened()) as db:
            db.executemany(statement, rows)

    def _opened(self) -> Connection:
        if self._db is None or not self._path.exists():  # the index may have been deleted meanwhile
            try:
                self._db = self._connect()
            except IndexCorruptError as error:
                _log.warning("%s is damaged and rebuilt: %s", FILE_NAME, error.developer_message)
                remove_database(self._path)
                self._db = self._connect()
        return self._db

    def _connect(self) -> Connection:
        with translated(self._path):
            if self._path.exists() and sqlite.is_immutable(self._path):
                return sqlite.connect_reader(self._path)
            db = sqlite.connect_logged(self._path, synchronous="NORMAL")
            try:
                db.executescript(_TABLES)
                if db.execute("SELECT id FROM model").fetchall() != [(self.model,)]:
                    with transaction(db):
                        db.execute("DELETE FROM model")
                        db.execute("DELETE FROM vectors")  # vectors of different models never meet
                        db.execute("INSERT INTO model VALUES (?, 0)", (self.model,))
            except BaseException:
                db.close()
                raise
        return db


def read_standing(folder: Path) -> tuple[str, int, int] | None:
    """Return the model, its vectors so far and in the end; None where there are none, or none can be read."""
    path = folder / FILE_NAME
    if not path.exists():
        return None
    try:
        with translated(path), contextlib.closing(sqlite.connect_reader(path)) as db:
            found = db.execute("SELECT id, (SELECT COUNT(*) FROM vectors), total FROM model").fetchone()
    except FindspotError:
        return None
    return found if found is None else (str(found[0]), int(found[1]), int(found[2]))


_log = get_logger("slower_model")

LOCK_NAME = "second.lock"
_RETRY_S = 5.0
"""How soon to try again when another process reads, or something went wrong."""

_NICE = 10
"""Searches and the user's own work go first."""

BATCH_CHUNKS = 16
"""About a second of a small transformer's work: what is lost when it is stopped."""

NAMES_WEIGHT = 0.0
"""A transformer finds the names of a chunk in its body; by themselves they drew questions in plain words
away from what the code does (code_cosqa 0.585, with the first model's weight 0.554)."""

READING_REVISION = "2"
"""Of how chunks are read here: vectors of another revision are made again."""


@dataclass(frozen=True, slots=True)
class SlowerReader:
    """A slower model and the vectors it has made so far."""

    embedder: Embedder
    vectors: SlowerVectors

    def likeness(self, snapshot: Snapshot, text: str, numbers: Collection[int]) -> dict[int, float]:
        """Return the cosine of each candidate that the model has read."""
        keys = dict(snapshot.chunks.embedding_keys(sorted(numbers)))
        known = self.vectors.of(list(set(keys.values())))
        read = [number for number, key in keys.items() if key in known]
        if not read:
            return {}
        try:
            query = self.embedder.embed([text], EmbedMode.QUERY)[0]
        except ProviderError as error:  # the first model's answer is one, too
            _log.warning("the slower model cannot read the query: %s", error.developer_message)
            return {}
        rows = np.stack([np.frombuffer(known[keys[number]][1], np.int8) for number in read])
        scales = np.array([known[keys[number]][0] for number in read], np.float32)
        cosines = (rows.astype(np.float32) @ query) * scales
        return dict(zip(read, cosines.tolist(), strict=True))

    def read_missing(self, store: Store, progress: ProgressSink, cancel: CancelToken) -> int:
        """Embed every chunk that the model has not read yet; returns how many those were."""
        with store.snapshot() as snapshot:
            wanted = {key: number for number, key in snapshot.chunks.embedding_keys()}
        known = self.vectors.keys()
        self.vectors.drop(known - wanted.keys())
        self.vectors.expect(len(wanted))
        missing = [number for key, number in wanted.items() if key not in known]
        for first in range(0, len(missing), BATCH_CHUNKS):
            cancel.check()
            progress(Progress(len(wanted) - len(missing) + first, len(wanted), SLOWER_READING))
            self._read_batch(store, missing[first : first + BATCH_CHUNKS])
        progress(Progress(len(wanted), len(wanted), SLOWER_READING))
        return len(missing)

    def _read_batch(self, store: Store, numbers: list[int]) -> None:
        """Embed some chunks; those that have gone since are left out."""
        with store.snapshot() as snapshot:
            keys = dict(snapshot.chunks.embedding_keys(numbers))
            fields = snapshot.chunks.embedded_fields(numbers)
        if not fields:
            return
        vectors = embed_chunks(self.embedder, [item.as_chunk() for item in fields], NAMES_WEIGHT)
        self.vectors.put(
            (keys[item.number], float(scale), values.tobytes())
            for item, scale, values in zip(fields, vectors.scales, vectors.values, strict=True)
        )


class BackgroundReading:
    """One slower model that reads one index, now or in a thread."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        vectors = SlowerVectors(store.folder, f"{model_name(embedder)}-{READING_REVISION}")
        self.reader = SlowerReader(embedder, vectors)
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._idle = threading.Condition()
        self._reading = False
        self._cancel = CancelToken()
        self._thread: threading.Thread | None = None

    def read(self, progress: ProgressSink = ignore_progress, cancel: CancelToken | None = None) -> int:
        """Read what is missing now; returns how many chunks that were. One process at a time reads."""
        with writer_lock(self._store.folder / LOCK_NAME, make_folder=False):
            return self.reader.read_missing(self._store, progress, cancel or CancelToken())

    def start(self) -> None:
        """Read what is missing, in the background."""
        self._set_reading(True)
        self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="findspot-slower-model", daemon=True)
            self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Wait until nothing is left to read; False when the time is over before."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._reading, timeout_s)

    def close(self) -> None:
        """Stop reading; what was read stays."""
        self._stopped.set()
        self._cancel.cancel()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()
        self.reader.vectors.close()

    def _run(self) -> None:
        with contextlib.suppress(AttributeError, OSError):  # only Linux gives a thread its own priority
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
                    _log.warning("the slower model stopped reading: %s", error.developer_message)
                self._stopped.wait(_RETRY_S)
                self._wanted.set()

    def _set_reading(self, reading: bool) -> None:
        with self._idle:
            self._reading = reading
            self._idle.notify_all()


class SlowerModel:
    """The slower model that a project's settings choose, if they choose one; it is opened once."""

    def __init__(self, open_embedder: OpenEmbedder) -> None:
        self._open = open_embedder
        self._guard = threading.Lock()
        self._opened: tuple[EmbedSettings, BackgroundReading] | None = None

    def open(self, store: Store, settings: EmbedSettings) -> BackgroundReading | None:
        """Return the model's reading of an index; None where no slower model is chosen."""
        _, slow = two_speeds(settings)
        with self._guard:
            if self._opened and self._opened[0] == slow:
                return self._opened[1]
        self.close()
        if slow is None:
            return None
        reading = BackgroundReading(store, self._open(slow.provider, slow))
        with self._guard:
            self._opened = (slow, reading)
        return reading

    def open_reader(self, store: Store, settings: EmbedSettings) -> tuple[SlowerReader | None, str | None]:
        """Return what the model has read, or a warning where it cannot be opened."""
        try:
            reading = self.open(store, settings)
        except FindspotError as error:
            return None, f"Without the model that was chosen: {error.developer_message}."
        return reading.reader if reading else None, None

    def start(self, store: Store, settings: EmbedSettings) -> None:
        """Let the model read what is missing, in the background."""
        try:
            if reading := self.open(store, settings):
                reading.start()
        except FindspotError as error:  # answers come without it, and say so
            _log.warning("the slower model cannot read: %s", error.developer_message)

    def close(self) -> None:
        """Stop reading; what was read stays."""
        with self._guard:
            before, self._opened = self._opened, None
        if before:
            before[1].close()


def slower_model_status(store: Store, settings: EmbedSettings) -> SlowerModelStatus | None:
    """Return how much the slower model has read, without opening it."""
    _, slow = two_speeds(settings)
    if slow is None:
        return None
    model, done, total = read_standing(store.folder) or (slow.provider, 0, 0)
    return SlowerModelStatus(model, done, total)
