"""Chunks loaded from files: filters, texts and vectors of one state, searched by many threads.

The chunks are in a spool: a copy of our own on disk, so that memory holds only what a scan reads, and a
chunk file may be overwritten in place while the old state is still served. It is stored for the next start,
because parsing a hundred thousand chunks takes half a minute.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import threading
import weakref
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from findspot.chunkfiles.chunk_reader import ContextChunk, FileHead, SearchOptions, SearchResult
from findspot.core.files import PRIVATE_FILE_MODE, load_arrays, make_private_dir, translated_os_errors
from findspot.embed.chunk_vectors import quantise
from findspot.embed.embedder import Vectors
from findspot.store.vector_segments import Segment, VectorReader

Rows = NDArray[np.int64]
Rows32 = NDArray[np.uint32]


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

    def truncate(self, count: int) -> None:
        """Remove the rows from this one on."""
        self.count = count
        for rows in (*self._types.values(), *self._tags.values()):
            while rows and rows[-1] >= count:
                rows.pop()

    def as_arrays(self) -> tuple[dict[str, list[tuple[str, int]]], NDArray[np.uint32]]:
        """Return the number of rows per type and per tag, and all rows in that order."""
        groups = {"types": self._types, "tags": self._tags}
        named = {group: [(name, len(rows)) for name, rows in held.items()] for group, held in groups.items()}
        parts = [np.frombuffer(rows, np.uint32) for held in groups.values() for rows in held.values() if rows]
        return named, np.concatenate(parts) if parts else np.empty(0, np.uint32)

    @classmethod
    def from_arrays(cls, named: Mapping[str, list[tuple[str, int]]], rows: Rows32, count: int) -> Facets:
        """Return the facets that `as_arrays` gave."""
        facets, at = cls(), 0
        facets.count = count
        for held, group in ((facets._types, "types"), (facets._tags, "tags")):
            for name, size in named[group]:
                held[name] = array("I", rows[at : at + size].astype(np.uint32).tobytes())
                at += size
        return facets

    @property
    def type_counts(self) -> dict[str, int]:
        return {name: len(rows) for name, rows in sorted(self._types.items()) if rows}

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
    return np.frombuffer(held[name], np.uint32) if held.get(name) else np.empty(0, np.uint32)


NEW = ".new-"
"""The prefix of the name of a folder that is not stored yet."""

_RECORDS, _ROWS, _ARRAYS, _ABOUT = "records.bin", "rows.bin", "arrays.npz", "about.json"


class SpoolDamagedError(Exception):
    """The stored spool is damaged: the chunk files have to be read again."""


class Spool:
    """Chunks by row, in a folder that is removed when it is closed, unless it is stored.

    One file has each row's exact vector and its chunk, read one by one; the other has the vectors as int8,
    mapped into memory for the scan.
    """

    _records: IO[bytes]
    _rows: IO[bytes]
    _removed: weakref.finalize[..., Any] | None = None
    """Removes the folder of a spool that is not stored, even if nobody closes it."""

    def __init__(self, folder: Path) -> None:
        make_private_dir(folder)
        with translated_os_errors(folder):
            self._folder = Path(tempfile.mkdtemp(prefix=NEW, dir=folder))
            self._removed = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self._records = _new(self._folder / _RECORDS)
            self._rows = _new(self._folder / _ROWS)
        self._starts = array("Q", [0])
        self._scales = array("f")
        self._checksums = array("I")
        self._lock = threading.Lock()

    @classmethod
    def opened(cls, folder: Path) -> tuple[Spool, Mapping[str, Any], Mapping[str, NDArray[Any]]]:
        """Open a stored spool, with the values stored beside it; an error if it is damaged."""
        about = json.loads((folder / _ABOUT).read_bytes())
        arrays = load_arrays(folder / _ARRAYS)
        spool = cls.__new__(cls)
        spool._folder, spool._lock = folder, threading.Lock()
        spool._starts = array("Q", arrays.pop("starts").astype(np.uint64).tobytes())
        spool._scales = array("f", arrays.pop("scales").astype(np.float32).tobytes())
        spool._checksums = array("I", arrays.pop("checksums").astype(np.uint32).tobytes())
        with contextlib.ExitStack() as opening:
            spool._records = opening.enter_context((folder / _RECORDS).open("rb"))
            spool._rows = opening.enter_context((folder / _ROWS).open("rb"))
            if (
                len(spool._starts) != len(spool._scales) + 1
                or len(spool._checksums) != len(spool._scales)
                or zlib.crc32(spool._rows.read()) != about["rows"]
                or (folder / _RECORDS).stat().st_size != spool._starts[-1]
            ):
                raise ValueError("what is kept is damaged")
            opening.pop_all()
        return spool, about, arrays

    def append(self, chunk: ContextChunk, vector: Vectors) -> None:
        data = vector.tobytes() + json.dumps(chunk.as_object(), ensure_ascii=False).encode("utf-8", "replace")
        row = quantise(vector[None])
        with translated_os_errors(self._folder, len(data)):
            self._records.write(data)
            self._rows.write(row.values.tobytes())
        self._starts.append(self._starts[-1] + len(data))
        self._scales.append(float(row.scales[0]))
        self._checksums.append(zlib.crc32(data))

    def truncate(self, count: int) -> None:
        """Remove the rows from this one on."""
        width = self._rows.tell() // max(1, len(self._scales))
        del self._starts[count + 1 :], self._scales[count:], self._checksums[count:]
        for file, end in ((self._records, self._starts[-1]), (self._rows, count * width)):
            file.seek(end)
            file.truncate()

    def segment(self) -> Segment:
        """Return the segment for a scan; nothing can be appended afterwards."""
        with translated_os_errors(self._folder):
            self._records.flush()
            self._rows.flush()
        count = len(self._scales)
        rows: NDArray[np.int8] = np.memmap(self._rows, np.int8, "r").reshape(count, -1)
        return Segment(np.arange(count, dtype=np.int64), np.array(self._scales, np.float32), rows)

    def read(self, row: int, dimensions: int) -> tuple[Vectors, bytes]:
        """Return the exact vector of a row, and its chunk as JSON."""
        start, end = self._starts[row], self._starts[row + 1]
        with self._lock:
            self._records.seek(start)
            data = self._records.read(end - start)
        if zlib.crc32(data) != self._checksums[row]:
            raise SpoolDamagedError
        return np.frombuffer(data, np.float32, dimensions), data[4 * dimensions :]

    def store(self, target: Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Store it as a folder for `opened`, with values beside it; replace what was there."""
        self._rows.seek(0)
        checked = {**about, "rows": zlib.crc32(self._rows.read())}
        own = {"starts": self._starts, "scales": self._scales, "checksums": self._checksums}
        named: dict[str, Any] = {name: np.array(values) for name, values in own.items()}
        with _new(self._folder / _ARRAYS) as file:
            np.savez(file, **(named | dict(arrays)))
        with _new(self._folder / _ABOUT) as file:
            file.write(json.dumps(checked).encode())
        old = Path(tempfile.mkdtemp(prefix=NEW, dir=target.parent))
        with contextlib.suppress(FileNotFoundError):
            target.rename(old / "old")
        self._folder = self._folder.rename(target)
        if self._removed is not None:
            self._removed.detach()
        shutil.rmtree(old, ignore_errors=True)

    def close(self) -> None:
        self._records.close()
        self._rows.close()
        if self._removed is not None:
            self._removed()


def _new(path: Path) -> IO[bytes]:
    """Create a file that only its owner can read."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE), "w+b")


def decoded(data: bytes) -> ContextChunk:
    """Return the chunk of a record of the spool."""
    value = json.loads(data)
    return ContextChunk(**{**value, "tags": tuple(value["tags"])})


def _place(result: SearchResult) -> object:
    """Return what two chunks of the same lines share: constants beside functions are written twice."""
    lines = [result.chunk.metadata.get(name) for name in ("file_path", "start_line", "end_line")]
    return result.chunk.id if None in lines else (*map(str, lines), result.chunk.text)


RESCORED = 32
"""Rows beyond the limit whose exact cosine is computed: the int8 scan is off by up to 0.01, which may change
the order of the last rows."""


@dataclass(frozen=True, slots=True)
class Collection:
    """The vectors as int8 to scan, the texts and exact vectors in a spool."""

    segment: Segment
    facets: Facets
    spool: Spool
    head: FileHead
    skipped: tuple[str, ...] = ()
    """Files that were left out, each with the reason."""

    def search(self, vector: Vectors, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that pass the filters: by cosine, then by id."""
        if not vector.any():
            return []  # a query of which the model knows nothing is near to nothing
        query = quantise(vector[None])
        wanted = self.facets.rows(options)
        rows, _ = VectorReader([self.segment]).nearest_among(
            query.values[0], wanted, options.limit + RESCORED
        )
        scored = sorted(self._scored(rows.tolist(), vector), key=lambda item: -item[0])
        least = scored[: options.limit][-1][0] if scored else 0.0
        near = [(score, data) for score, data in scored if score >= max(least, options.min_score)]
        results = [SearchResult(decoded(data), score) for score, data in near]
        results.sort(key=lambda result: (-result.combined_score, result.chunk.id))
        return list({_place(result): result for result in reversed(results)}.values())[::-1][: options.limit]

    def _scored(self, rows: Sequence[int], vector: Vectors) -> list[tuple[float, bytes]]:
        dimensions = self.head.dimensions
        records = [self.spool.read(row, dimensions) for row in rows]
        return [(round(float(np.clip(known @ vector, -1, 1)), 6), data) for known, data in records]
