"""The chunk files of a folder: loaded into a database, searched by many threads, replaced when they change.

The database is a copy of our own, so that memory holds only what a scan reads, and a chunk file may be
overwritten in place while the old state is still served. The next start uses it again, because parsing a
hundred thousand chunks takes half a minute.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
import weakref
from array import array
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from functools import reduce
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.chunkfiles.chunk_reader import (
    ChunkFile,
    ChunkFilesError,
    ContextChunk,
    FileHead,
    MalformedError,
    SearchOptions,
    SearchResult,
)
from findspot.core import sqlite
from findspot.core.errors import FindspotError
from findspot.core.files import make_private_dir, reason, remove_entry
from findspot.core.log import get_logger
from findspot.core.sqlite import Connection, translated
from findspot.embed.chunk_vectors import quantise
from findspot.embed.embedder import Vectors
from findspot.store.vector_segments import Segment, VectorReader

_log = get_logger("chunkfiles")

Rows = NDArray[np.int64]


class Facets:
    """The rows of each chunk type and of each tag; the case of tags does not matter."""

    def __init__(self) -> None:
        self.count = 0
        self._types: dict[str, array[int]] = {}
        self._tags: dict[str, array[int]] = {}

    def add(self, chunk_types: Iterable[str], tags: Iterable[str]) -> None:
        """Add a row of one or several types."""
        for chunk_type in chunk_types:
            self._types.setdefault(chunk_type, array("I")).append(self.count)
        for tag in {tag.lower() for tag in tags}:
            self._tags.setdefault(tag, array("I")).append(self.count)
        self.count += 1

    @property
    def type_counts(self) -> dict[str, int]:
        return {name: len(rows) for name, rows in sorted(self._types.items())}

    def rows(self, options: SearchOptions) -> Rows:
        """Return the rows that pass, in order."""
        sets = [_rows(self._tags, tag.lower()) for tag in options.tags]
        if options.chunk_types:
            chosen = [_rows(self._types, name) for name in dict.fromkeys(options.chunk_types)]
            sets.append(np.unique(np.concatenate(chosen)))
        if not sets:
            return np.arange(self.count, dtype=np.int64)
        common = reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), sets)
        return common.astype(np.int64)


def _rows(held: dict[str, array[int]], name: str) -> NDArray[np.uint32]:
    return np.frombuffer(held.get(name, b""), np.uint32)


RESCORED = 32
"""Rows beyond the limit whose exact cosine is computed: the int8 scan is off by up to 0.01, which may change
the order of the last rows."""

_ROWS_AT_ONCE = 512


class Collection:
    """Loaded chunk files: the vectors as int8 to scan, texts and exact vectors in a database."""

    def __init__(self, path: Path) -> None:
        with translated(path, _damaged):
            self._db = sqlite.connect_reader(path)
            weakref.finalize(self, self._db.close)
            self._path = path
            self._guard = threading.Lock()
            about = json.loads(self._db.execute("SELECT value FROM about").fetchone()[0])
            self.head = FileHead(**about["head"])
            self.skipped = tuple(about["skipped"])
            """Files that were left out, each with the reason."""
            self.facets = Facets()
            for chunk_type, tags in self._db.execute("SELECT chunk_type, tags FROM chunks ORDER BY row"):
                self.facets.add((chunk_type,), json.loads(tags))
            self._segment = self._rounded()

    def search(self, vector: Vectors, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that pass the filters: by cosine, then by id."""
        if not vector.any():
            return []  # a query of which the model knows nothing is near to nothing
        query = quantise(vector[None])
        wanted = self.facets.rows(options)
        rows, _ = VectorReader([self._segment]).nearest_among(
            query.values[0], wanted, options.limit + RESCORED
        )
        scored = sorted(
            ((cosine(float(self._exact(row) @ vector)), row) for row in rows.tolist()), reverse=True
        )
        least = scored[: options.limit][-1][0] if scored else 0.0
        near = [(score, row) for score, row in scored if score >= max(least, options.min_score)]
        results = [SearchResult(self._chunk(row), score) for score, row in near]
        results.sort(key=lambda result: (-result.combined_score, result.chunk.id))
        return list({_place(result): result for result in reversed(results)}.values())[::-1][: options.limit]

    def _rounded(self) -> Segment:
        """Return the vectors for a scan."""
        count, dimensions = self.facets.count, self.head.dimensions
        values, scales = np.zeros((count, dimensions), np.int8), np.zeros(count, np.float32)
        vectors = self._db.execute("SELECT vector FROM vectors ORDER BY row")
        for at in range(0, count, _ROWS_AT_ONCE):
            block = b"".join(vector for (vector,) in islice(vectors, _ROWS_AT_ONCE))
            rounded = quantise(np.frombuffer(block, np.float32).reshape(-1, dimensions))
            values[at : at + _ROWS_AT_ONCE], scales[at : at + _ROWS_AT_ONCE] = rounded.values, rounded.scales
        return Segment(np.arange(count, dtype=np.int64), scales, values)

    def _exact(self, row: int) -> Vectors:
        return np.frombuffer(self._value("SELECT vector FROM vectors WHERE row = ?", row), np.float32)

    def _chunk(self, row: int) -> ContextChunk:
        value = json.loads(self._value("SELECT value FROM chunks WHERE row = ?", row))
        return ContextChunk(**{**value, "tags": tuple(value["tags"])})

    def _value(self, select: str, row: int) -> Any:
        with translated(self._path, _damaged), self._guard:
            return self._db.execute(select, (row + 1,)).fetchone()[0]  # a table counts from one


class DamagedError(FindspotError):
    """The loaded chunk files cannot be read: they have to be loaded again."""


def _damaged(detail: str) -> FindspotError:
    return DamagedError("The loaded chunk files are damaged.", detail)


def cosine(value: float) -> float:
    """Return a cosine as answers show it."""
    return round(max(-1.0, min(1.0, value)), 6)


def _place(result: SearchResult) -> object:
    """Return what two chunks of the same lines share: constants beside functions are written twice."""
    lines = [result.chunk.metadata.get(name) for name in ("file_path", "start_line", "end_line")]
    return result.chunk.id if None in lines else (*map(str, lines), result.chunk.text)


def chunk_files(folder: Path) -> list[Path]:
    """Return the chunk files of a folder in order, links included; none if it is not a folder."""
    try:
        found = [path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != "."]
        return sorted(path for path in found if path.is_symlink() or path.is_file())
    except OSError:
        return []


State = tuple[tuple[str, int, int, int, int], ...]


def state_of_files(folder: Path) -> State:
    """Return a value that changes whenever one of the files changes: names, inodes, sizes and times."""
    states = []
    for path in chunk_files(folder):
        with suppress(OSError):  # gone this moment: the state differs already
            info = path.lstat()
            states.append((path.name, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns))
    return tuple(states)


_TABLES = (
    "CREATE TABLE about (value TEXT)",
    "CREATE TABLE chunks (row INTEGER PRIMARY KEY, id TEXT UNIQUE, chunk_type TEXT, tags TEXT, value TEXT)",
    "CREATE TABLE vectors (row INTEGER PRIMARY KEY, vector BLOB)",
)


def load(folder: Path, database: Path, dimensions: int | None, *, skip_malformed: bool) -> None:
    """Read all files into a new database; leave out a malformed one with a warning, or raise an error."""
    files = chunk_files(folder)
    if not files:
        raise ChunkFilesError(f"There are no chunk files in {folder}.")
    heads: dict[str, FileHead] = {}
    skipped = []
    with (
        translated(database),
        closing(sqlite.connect(database, create=True, synchronous="OFF")) as db,
        sqlite.transaction(db),
    ):
        for table in _TABLES:
            db.execute(table)
        for path in files:
            db.execute("SAVEPOINT file")
            try:
                if head := _add(db, path):
                    heads[path.name] = head
            except (MalformedError, OSError) as error:
                why = reason(error) if isinstance(error, OSError) else str(error)
                if not skip_malformed:
                    raise ChunkFilesError(f"The chunk file {path.name} is malformed: {why}.") from error
                db.execute("ROLLBACK TO file")
                _log.warning("chunk file left out: %s: %s", path.name, why)
                skipped.append(f"{path.name}: {why}")
            db.execute("RELEASE file")
        if not heads:
            why = "; ".join(skipped) or "they hold no chunks"
            raise ChunkFilesError(f"There are no usable chunk files in {folder}: {why}.")
        head = _common_head(heads, dimensions)
        about = {"head": {"model": head.model, "dimensions": head.dimensions}, "skipped": skipped}
        db.execute("INSERT INTO about VALUES (?)", (json.dumps(about | {"folder": str(folder)}),))


def _add(db: Connection, path: Path) -> FileHead | None:
    """Add the chunks of a file; return its head, or None if it has no chunk that is not there already."""
    file, added = ChunkFile(path), False
    for chunk, vector in file.chunks():
        texts = (chunk.id, chunk.chunk_type, json.dumps(chunk.as_object(), ensure_ascii=False))
        name, chunk_type, value = (text.encode("utf-8", "replace").decode() for text in texts)
        row = (name, chunk_type, json.dumps(chunk.tags), value)
        insert = "INSERT OR IGNORE INTO chunks (id, chunk_type, tags, value) VALUES (?, ?, ?, ?)"
        if db.execute(insert, row).rowcount:
            db.execute("INSERT INTO vectors (vector) VALUES (?)", (vector.tobytes(),))
            added = True
        else:
            _log.warning("%s: the chunk %s is there already; the first counts", path.name, name)
    head = file.head()
    return head if added else None


def _common_head(heads: Mapping[str, FileHead], dimensions: int | None) -> FileHead:
    """Return the head that all files share: vectors of different models cannot be compared."""
    first_name, first = next(iter(heads.items()))
    for name, head in heads.items():
        if head.dimensions != first.dimensions:
            raise ChunkFilesError(
                f"Wrong embedding dimensions: {name} has {head.dimensions}, {first_name} {first.dimensions}."
            )
        if head.model != first.model:
            raise ChunkFilesError(
                f"{name} was made with the model '{head.model}', {first_name} with '{first.model}'."
            )
    if dimensions is not None and dimensions != first.dimensions:
        raise ChunkFilesError(
            f"Wrong embedding dimensions: the chunk files have {first.dimensions}, "
            f"{dimensions} are configured."
        )
    return first


QUIET_S = 0.5
"""Several files are usually written in a row: they are read when the last is done."""

_WAIT_S = 2.0
"""How long a question waits for changed files to be read; then it is answered from the old ones."""

_NEW = ".new-"
_FORMAT = 2
_NAME_CHARS = 16
_MAX_STORED = 16
_ABANDONED_S = 86_400
"""An unfinished database of this age belongs to a process that died."""


class ServedFiles:
    """The collection of a folder, compared with the disk at each question. If a reload fails, the old state
    stays.
    """

    def __init__(self, folder: Path, stored: Path, dimensions: int | None) -> None:
        self.folder = folder
        self._stored = stored
        self._dimensions = dimensions
        self._guard = threading.Lock()
        self._collection: Collection | None = None
        self._seen: State = ()
        self._names: frozenset[str] = frozenset()
        self._reloading: threading.Thread | None = None
        self._reloads = 0
        self._failure: str | None = None

    @property
    def exist(self) -> bool:
        """Whether there is anything to serve: files, or a loaded collection."""
        return self._collection is not None or bool(chunk_files(self.folder))

    def collection(self) -> Collection:
        """Return the current collection, loaded on first use, and again once its files have changed."""
        with self._guard:
            if self._collection is None:
                self._seen = state_of_files(self.folder)
                self._names = _names(self._seen)
                self._collection = self._open(self._seen) or self._load(self._seen, skip_malformed=True)
                return self._collection
            thread = self._reload_if_changed()
        if thread is not None:
            thread.join(_WAIT_S)
        return self._collection

    def renew(self) -> Collection:
        """Read the files again, since what is stored of them is damaged."""
        with self._guard:
            self._collection = self._load(self._seen, skip_malformed=True)
            return self._collection

    @property
    def warning(self) -> str | None:
        """A warning about files that were left out, or newer ones that could not be read."""
        if self._failure:
            return f"The chunk files changed, and these are the old ones: {self._failure}"
        skipped = self._collection.skipped if self._collection else ()
        return f"Chunk files left out: {'; '.join(skipped)}." if skipped else None

    def stats(self) -> Mapping[str, Any]:
        collection = self.collection()
        return {
            "source": "files",
            "total_chunks": collection.facets.count,
            "chunks_by_type": collection.facets.type_counts,
            "model": collection.head.model,
            "dimensions": collection.head.dimensions,
            "reloads": self._reloads,
            "skipped_files": list(collection.skipped),
        }

    def close(self) -> None:
        if self._reloading is not None:
            self._reloading.join()
        self._collection = None

    def _reload_if_changed(self) -> threading.Thread | None:
        """Begin to read the files again if they have changed and nobody writes to them any more."""
        if self._reloading is not None and self._reloading.is_alive():
            return None
        seen = state_of_files(self.folder)
        written_ns = max((max(times) for _, _, _, *times in seen), default=0)
        if seen == self._seen or abs(time.time_ns() - written_ns) < QUIET_S * 1e9:
            return None
        self._seen = seen
        self._reloading = threading.Thread(target=self._reload, args=(seen,), name="chunk-files", daemon=True)
        self._reloading.start()
        return self._reloading

    def _reload(self, seen: State) -> None:
        """Read the files again; searches use the old collection until the new one is complete."""
        started = time.monotonic()
        try:
            self._check_complete(seen)
            fresh = self._load(seen, skip_malformed=False)
        except FindspotError as error:
            _log.warning("chunk files not reloaded, the old state is kept: %s", error.user_message)
            self._failure = error.user_message
            return
        self._collection, self._failure, self._names = fresh, None, _names(seen)
        self._reloads += 1
        took_ms = (time.monotonic() - started) * 1000
        _log.info("chunk files reloaded: %d chunks in %.0f ms", fresh.facets.count, took_ms)

    def _check_complete(self, seen: State) -> None:
        """Raise an error if a file is gone, as one is for a moment while the set is being replaced.

        After all of them were gone, any set is a new one.
        """
        gone = sorted(self._names - _names(seen))
        if not seen:
            self._names = frozenset()
        elif gone:
            raise ChunkFilesError(f"{', '.join(gone)} is missing. Restart the server if that is intended.")

    def _open(self, seen: State) -> Collection | None:
        """Return what is stored of the files in this state; None if there is nothing, or it is damaged."""
        path = self._path(seen)
        if not path.exists():
            return None
        try:
            return Collection(path)
        except (FindspotError, ValueError, KeyError, TypeError) as error:
            _log.warning("the stored chunk files are damaged and read again: %s", type(error).__name__)
            return None

    def _load(self, seen: State, *, skip_malformed: bool) -> Collection:
        make_private_dir(self._stored)
        path = self._path(seen)
        with tempfile.TemporaryDirectory(prefix=_NEW, dir=self._stored, ignore_cleanup_errors=True) as folder:
            new = Path(folder) / path.name
            load(self.folder, new, self._dimensions, skip_malformed=skip_malformed)
            new.replace(path)
        _prune(self._stored, path)
        return Collection(path)

    def _path(self, seen: State) -> Path:
        folder = _digest(str(self.folder).encode("utf-8", "surrogateescape"))
        return self._stored / f"{folder}-{_digest(json.dumps([_FORMAT, seen]).encode())}.sqlite"


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:_NAME_CHARS]


def _names(seen: State) -> frozenset[str]:
    return frozenset(name for name, *_ in seen)


def _prune(stored: Path, current: Path) -> None:
    """Remove older states of the same folder, those of deleted folders, leftovers of dead processes, and what
    was stored first.
    """
    same = current.name.partition("-")[0]
    kept: list[tuple[float, Path]] = []
    for path in stored.iterdir():
        with suppress(OSError):
            written = path.stat().st_mtime
            if path.name.startswith(_NEW) and time.time() - written < _ABANDONED_S:
                continue
            if path == current or (path.name.partition("-")[0] != same and _has_folder(path)):
                kept.append((written, path))
            else:
                remove_entry(path)
    for _, path in sorted(kept, reverse=True)[_MAX_STORED:]:
        with suppress(OSError):
            remove_entry(path)


def _has_folder(path: Path) -> bool:
    """Return whether the folder of stored chunk files is still there."""
    try:
        with closing(sqlite.connect_reader(path)) as db:
            about = json.loads(db.execute("SELECT value FROM about").fetchone()[0])
        return Path(about["folder"]).is_dir()
    except (sqlite.Error, ValueError, KeyError, TypeError):
        return False
