"""The chunk files of a folder: loaded, stored for the next start, and swapped whole when they change."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import zipfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from findspot.chunkfiles.chunk_reader import ChunkFile, ChunkFilesError, FileHead, MalformedError
from findspot.chunkfiles.collection import NEW, Collection, Facets, Spool
from findspot.core.errors import FindspotError
from findspot.core.file_events import but_for, reported
from findspot.core.files import reason, remove_folder
from findspot.core.log import get_logger

_log = get_logger("chunkfiles")

Signature = tuple[tuple[str, int, int, int, int], ...]


def chunk_files(folder: Path) -> list[Path]:
    """Return the chunk files of a folder in order, links included; none if it is not a folder."""
    try:
        found = [path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != "."]
        return sorted(path for path in found if path.is_symlink() or path.is_file())
    except OSError:
        return []


def signature(folder: Path) -> Signature:
    """Return a value that changes whenever one of the files changes."""
    states = []
    for path in chunk_files(folder):
        try:
            about = path.lstat()
        except OSError:
            continue  # gone this moment: the state differs already
        states.append((path.name, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
    return tuple(states)


def load(folder: Path, spool_folder: Path, dimensions: int | None, *, skip_malformed: bool) -> Collection:
    """Read all files; leave out a malformed one with a warning, or raise an error for it."""
    files = chunk_files(folder)
    if not files:
        raise ChunkFilesError(f"There are no chunk files in {folder}.")
    loader = _Loader(Spool(spool_folder))
    skipped = []
    try:
        for path in files:
            try:
                loader.add(path)
            except (MalformedError, OSError) as error:
                why = reason(error) if isinstance(error, OSError) else str(error)
                if not skip_malformed:
                    raise ChunkFilesError(f"The chunk file {path.name} is malformed: {why}.") from error
                reason_left_out = f"{path.name}: {why}"
                _log.warning("chunk file left out: %s", reason_left_out)
                skipped.append(reason_left_out)
        return loader.finish(folder, dimensions, tuple(skipped))
    except BaseException:
        loader.spool.close()
        raise


class _Loader:
    """Collects the chunks of several files; those of a malformed file are dropped."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self._facets = Facets()
        self._ids: set[int] = set()
        self._heads: dict[str, FileHead] = {}

    def add(self, path: Path) -> None:
        before = self._facets.count
        file = ChunkFile(path)
        ids: set[int] = set()
        try:
            for chunk, vector in file.chunks():
                identity = hash(chunk.id)  # the ids themselves would take the most memory of all
                if identity in self._ids or identity in ids:
                    _log.warning("%s: the chunk %s is there already; the first counts", path.name, chunk.id)
                    continue
                ids.add(identity)
                self.spool.append(chunk, vector)
                self._facets.add((chunk.chunk_type,), chunk.tags)
            head = file.head()
        except BaseException:
            self._facets.truncate(before)
            self.spool.truncate(before)
            raise
        self._ids |= ids
        if ids:
            self._heads[path.name] = head

    def finish(self, folder: Path, dimensions: int | None, skipped: tuple[str, ...]) -> Collection:
        """Return the collection, after a check that all files are of one model."""
        if not self._heads:
            why = "; ".join(skipped) or "they hold no chunks"
            raise ChunkFilesError(f"There are no usable chunk files in {folder}: {why}.")
        head = _common_head(self._heads, dimensions)
        return Collection(self.spool.segment(), self._facets, self.spool, head, skipped)


def _common_head(heads: dict[str, FileHead], dimensions: int | None) -> FileHead:
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


_FORMAT = 1
_NAME_CHARS = 32
_MAX_STORED = 16
_ABANDONED_S = 86_400
"""An unfinished folder of this age belongs to a process that died."""


def read_stored(home: Path, folder: Path, seen: Signature) -> Collection | None:
    """Return the stored collection of a folder in this state; None if there is none, or it is damaged."""
    stored_folder = _stored_folder(home, folder)
    try:
        spool, about, arrays = Spool.opened(stored_folder)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        _log.warning("the stored chunk files are damaged and read again: %s", type(error).__name__)
        return None
    if about.get("state") != _state(folder, seen):
        spool.close()
        return None
    head = FileHead(*about["head"])
    facets = Facets.from_arrays(about["facets"], arrays["facets"], about["count"])
    return Collection(spool.segment(), facets, spool, head, tuple(about["skipped"]))


def store(home: Path, folder: Path, seen: Signature, collection: Collection) -> None:
    """Store a collection for the next start; if that fails, the next start takes longer."""
    named, rows = collection.facets.as_arrays()
    about: dict[str, Any] = {
        "state": _state(folder, seen),
        "folder": str(folder),
        "head": [collection.head.model, collection.head.dimensions, collection.head.chunk_type],
        "skipped": list(collection.skipped),
        "count": collection.facets.count,
        "facets": named,
    }
    try:
        _prune(home)
        collection.spool.store(_stored_folder(home, folder), about, {"facets": rows})
    except OSError as error:
        _log.warning("loaded chunk files are not stored: %s", error.strerror)


def remove_stored(home: Path, folder: Path) -> None:
    """Remove the stored collection of a folder."""
    remove_folder(_stored_folder(home, folder))


def _stored_folder(home: Path, folder: Path) -> Path:
    return home / sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:_NAME_CHARS]


def _state(folder: Path, seen: Signature) -> str:
    return json.dumps([_FORMAT, str(folder), seen])


def _prune(home: Path) -> None:
    """Remove collections of deleted folders, leftovers of dead processes, and the oldest collections."""
    stored: list[tuple[float, Path]] = []
    for stored_folder in home.iterdir():
        with contextlib.suppress(OSError, ValueError, KeyError):
            written = stored_folder.stat().st_mtime
            if stored_folder.name.startswith(NEW):
                if time.time() - written > _ABANDONED_S:
                    remove_folder(stored_folder)
                continue
            source = Path(json.loads((stored_folder / "about.json").read_bytes())["folder"])
            if source.is_dir():
                stored.append((written, stored_folder))
            else:
                remove_folder(stored_folder)
    for _, stored_folder in sorted(stored, reverse=True)[_MAX_STORED:]:
        remove_folder(stored_folder)


def _names(seen: Signature) -> frozenset[str]:
    return frozenset(name for name, *_ in seen)


class ServedFiles:
    """The collection of a folder. If a reload fails, the old state stays."""

    def __init__(self, folder: Path, spool_folder: Path, dimensions: int | None) -> None:
        self.folder = folder
        self._spool_folder = spool_folder
        self._dimensions = dimensions
        self._guard = threading.Lock()
        self._collection: Collection | None = None
        self._watch: FolderWatch | None = None
        self._reloads = 0
        self._failure: str | None = None
        self._names: frozenset[str] = frozenset()

    @property
    def exist(self) -> bool:
        """Whether there is anything to serve: files, or a loaded collection."""
        return self._collection is not None or bool(chunk_files(self.folder))

    def collection(self) -> Collection:
        """Return the current collection, loaded on first use and watched from then on."""
        with self._guard:
            if self._collection is None:
                seen = signature(self.folder)
                self._names = _names(seen)
                self._collection = read_stored(self._spool_folder, self.folder, seen) or self._load(
                    True, seen
                )
                self._watch = FolderWatch(self.folder, lambda: signature(self.folder), self.reload, seen)
                self._watch.start()
            return self._collection

    def reload(self) -> None:
        """Read the files again; searches use the old collection until the new one is complete."""
        started = time.monotonic()
        seen = signature(self.folder)
        try:
            self._check_complete(seen)
            fresh = self._load(False, seen)
        except FindspotError as error:
            _log.warning("chunk files not reloaded, the old state is kept: %s", error.user_message)
            self._failure = error.user_message
            return
        self._collection, self._failure, self._names = fresh, None, _names(seen)
        self._reloads += 1
        took_ms = (time.monotonic() - started) * 1000
        _log.info("chunk files reloaded: %d chunks in %.0f ms", fresh.segment.numbers.size, took_ms)

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
            "total_chunks": int(collection.segment.numbers.size),
            "chunks_by_type": collection.facets.type_counts,
            "model": collection.head.model,
            "dimensions": collection.head.dimensions,
            "reloads": self._reloads,
            "skipped_files": list(collection.skipped),
        }

    def close(self) -> None:
        with self._guard:
            watch, self._watch = self._watch, None
            self._collection = None
        if watch is not None:
            watch.stop()

    def renew(self) -> None:
        """Read the files again, since the stored collection is damaged."""
        _log.warning("the stored chunk files are damaged and read again")
        remove_stored(self._spool_folder, self.folder)
        self.reload()

    def _check_complete(self, seen: Signature) -> None:
        """Raise an error if a file is gone, as one is for a moment while the set is being replaced.

        After all of them were gone, any set is a new one.
        """
        gone = sorted(self._names - _names(seen))
        if not seen:
            self._names = frozenset()
        elif gone:
            raise ChunkFilesError(f"{', '.join(gone)} is missing. Restart the server if that is intended.")

    def _load(self, skip_malformed: bool, seen: Signature) -> Collection:
        fresh = load(self.folder, self._spool_folder, self._dimensions, skip_malformed=skip_malformed)
        if signature(self.folder) == seen:  # else something was written meanwhile
            store(self._spool_folder, self.folder, seen, fresh)
        return fresh


QUIET_S = 0.5
"""Several files are usually written in a row: wait until the last is done."""

_LOOK_ANYWAY_MS = 5_000
_STEP_MS = 50
_ABSENT_S = 1.0


class FolderWatch:
    """Calls `changed` from its own thread when the folder has a new state that is stable.

    System events only say when to look; the state decides, so that a missed event or a replaced folder is
    noticed a little later instead of never.
    """

    def __init__(
        self, folder: Path, state: Callable[[], Hashable], changed: Callable[[], None], seen: Hashable
    ) -> None:
        self._folder = folder
        self._state = state
        self._changed = changed
        self._seen = seen
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chunk-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._look()
                if self._folder.is_dir():
                    self._follow()
                else:
                    self._stop.wait(_ABSENT_S)
            except Exception:  # noqa: BLE001 - a watcher's batch: the next one may go well
                _log.exception("watching %s failed", self._folder)
                self._stop.wait(_ABSENT_S)

    def _follow(self) -> None:
        """Look after each batch of events, until the folder is replaced or the watch is stopped."""
        identity = self._folder.stat().st_ino
        batches = reported(
            [self._folder], self._stop, tick_ms=_LOOK_ANYWAY_MS, step_ms=_STEP_MS, recursive=False
        )
        for _ in batches:
            self._look()
            if not self._folder.is_dir() or self._folder.stat().st_ino != identity:
                return

    def _look(self) -> None:
        now = self._state()
        if now == self._seen:
            return
        while True:
            if self._stop.wait(QUIET_S):
                return
            before, now = now, self._state()
            if now == before:
                break
        self._seen = now
        self._changed()


def watch_tree(
    folder: Path, ignored: Sequence[Path], stopped: Callable[[], bool], changed: Callable[[], None]
) -> None:
    """Call `changed` after each burst of changes below a folder, until stopped; blocks."""
    batches = reported(
        [folder],
        _Asked(stopped),
        tick_ms=_LOOK_ANYWAY_MS // 5,
        step_ms=int(QUIET_S * 1000),
        wanted=but_for(ignored),
    )
    looked = False
    for batch in batches:
        if batch or not looked:  # once in any case: something may have changed before we watched
            looked = True
            changed()


class _Asked:
    """An event for the watcher that is set when `stopped` returns true."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self.is_set = stopped
