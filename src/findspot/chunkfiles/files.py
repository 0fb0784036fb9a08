"""Chunk files that are served: loaded, watched, and swapped whole when they change."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from findspot.chunkfiles.collection import Collection
from findspot.chunkfiles.kept import forget, keep, recall
from findspot.chunkfiles.loading import Signature, chunk_files, load, signature
from findspot.chunkfiles.watching import FolderWatch
from findspot.core.errors import FindspotError
from findspot.core.log import get_logger

_log = get_logger("chunkfiles")


class ServedFiles:
    """The collection of a folder. A reload that fails keeps the old state."""

    def __init__(self, folder: Path, spool_folder: Path, dimensions: int | None) -> None:
        self.folder = folder
        self._spool_folder = spool_folder
        self._dimensions = dimensions
        self._guard = threading.Lock()
        self._collection: Collection | None = None
        self._watch: FolderWatch | None = None
        self._reloads = 0
        self._failure: str | None = None

    @property
    def exist(self) -> bool:
        """Whether there is anything to serve: files, or what was loaded of them."""
        return self._collection is not None or bool(chunk_files(self.folder))

    def collection(self) -> Collection:
        """Return the current state, loaded on first use and followed from then on."""
        with self._guard:
            if self._collection is None:
                seen = signature(self.folder)
                self._collection = recall(self._spool_folder, self.folder, seen) or self._load(True, seen)
                self._watch = FolderWatch(self.folder, lambda: signature(self.folder), self.reload, seen)
                self._watch.start()
            return self._collection

    def reload(self) -> None:
        """Read the files anew; readers keep what they have until all of it is there."""
        started = time.monotonic()
        try:
            fresh = self._load(False, signature(self.folder))
        except FindspotError as error:
            _log.warning("chunk files not reloaded, the old state is kept: %s", error.user_message)
            self._failure = error.user_message
            return
        self._collection, self._failure = fresh, None
        self._reloads += 1
        took_ms = (time.monotonic() - started) * 1000
        _log.info("chunk files reloaded: %d chunks in %.0f ms", fresh.segment.numbers.size, took_ms)

    @property
    def warning(self) -> str | None:
        """What a reader should know of the files: those left out, or that newer ones could not be read."""
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
        """Read the files again, since what was kept of them is damaged."""
        _log.warning("what was kept of the chunk files is damaged; they are read again")
        forget(self._spool_folder, self.folder)
        self.reload()

    def _load(self, skip_malformed: bool, seen: Signature) -> Collection:
        fresh = load(self.folder, self._spool_folder, self._dimensions, skip_malformed=skip_malformed)
        if signature(self.folder) == seen:  # else something was written meanwhile
            keep(self._spool_folder, self.folder, seen, fresh)
        return fresh
