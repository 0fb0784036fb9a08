"""Where loaded chunks are kept: two files without names, so that memory holds what a scan reads.

Our own copy, because a chunk file may be overwritten in place while the old state is served on.
"""

from __future__ import annotations

import json
import tempfile
import threading
from array import array
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from findspot.chunkfiles.model import ContextChunk
from findspot.core.files import make_private_dir, translated_os_errors
from findspot.embed.batch import quantise
from findspot.embed.protocol import Vectors
from findspot.store.segments import Segment


class Spool:
    """Chunks by row, gone when it is closed or with the process.

    One file has each row's exact vector and its chunk, read one by one; the other has the vectors
    as int8, mapped into memory for the scan.
    """

    def __init__(self, folder: Path) -> None:
        make_private_dir(folder)
        self._folder = folder
        self._records = self._open()
        self._rows = self._open()
        self._starts = array("Q", [0])
        self._scales = array("f")
        self._lock = threading.Lock()

    def append(self, chunk: ContextChunk, vector: Vectors) -> None:
        data = vector.tobytes() + json.dumps(chunk.as_object(), ensure_ascii=False).encode("utf-8", "replace")
        row = quantise(vector[None])
        with translated_os_errors(self._folder, len(data)):
            self._records.write(data)
            self._rows.write(row.values.tobytes())
        self._starts.append(self._starts[-1] + len(data))
        self._scales.append(float(row.scales[0]))

    def truncate(self, count: int) -> None:
        """Forget the rows from this one on."""
        width = self._rows.tell() // max(1, len(self._scales))
        del self._starts[count + 1 :], self._scales[count:]
        for file, end in ((self._records, self._starts[-1]), (self._rows, count * width)):
            file.seek(end)
            file.truncate()

    def segment(self) -> Segment:
        """What a scan reads; nothing can be appended any more."""
        with translated_os_errors(self._folder):
            self._records.flush()
            self._rows.flush()
        count = len(self._scales)
        rows: NDArray[np.int8] = np.memmap(self._rows, np.int8, "r").reshape(count, -1)
        return Segment(np.arange(count, dtype=np.int64), np.array(self._scales, np.float32), rows)

    def read(self, row: int, dimensions: int) -> tuple[Vectors, bytes]:
        """The exact vector of a row, and its chunk as JSON."""
        start, end = self._starts[row], self._starts[row + 1]
        with self._lock:
            self._records.seek(start)
            data = self._records.read(end - start)
        return np.frombuffer(data, np.float32, dimensions), data[4 * dimensions :]

    def close(self) -> None:
        self._records.close()
        self._rows.close()

    def _open(self) -> IO[bytes]:
        with translated_os_errors(self._folder):
            return tempfile.TemporaryFile(dir=self._folder)


def decoded(data: bytes) -> ContextChunk:
    """A chunk as the spool keeps it."""
    value = json.loads(data)
    return ContextChunk(**{**value, "tags": tuple(value["tags"])})
