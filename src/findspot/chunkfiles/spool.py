"""Where the texts of loaded chunks are kept: a file without a name, so that memory holds vectors only.

Our own copy, because a chunk file may be overwritten in place while the old state is served on.
"""

from __future__ import annotations

import json
import tempfile
import threading
from array import array
from pathlib import Path

import numpy as np

from findspot.chunkfiles.model import ContextChunk
from findspot.core.files import make_private_dir, translated_os_errors
from findspot.embed.protocol import Vectors


class Spool:
    """Records of a vector and a chunk, by number; gone when it is closed, or with the process."""

    def __init__(self, folder: Path) -> None:
        make_private_dir(folder)
        self._folder = folder
        with translated_os_errors(folder):
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - lives as long as this object
        self._starts = array("Q", [0])
        self._lock = threading.Lock()

    def append(self, chunk: ContextChunk, vector: Vectors) -> None:
        data = vector.tobytes() + json.dumps(chunk.as_object(), ensure_ascii=False).encode("utf-8", "replace")
        with translated_os_errors(self._folder, len(data)):
            self._file.write(data)
        self._starts.append(self._starts[-1] + len(data))

    def flush(self) -> None:
        with translated_os_errors(self._folder):
            self._file.flush()

    def read(self, row: int, dimensions: int) -> tuple[Vectors, bytes]:
        """The vector of a row, and its chunk as JSON."""
        start, end = self._starts[row], self._starts[row + 1]
        with self._lock:
            self._file.seek(start)
            data = self._file.read(end - start)
        return np.frombuffer(data, np.float32, dimensions), data[4 * dimensions :]

    def close(self) -> None:
        self._file.close()


def decoded(data: bytes) -> ContextChunk:
    """A chunk as the spool keeps it."""
    value = json.loads(data)
    return ContextChunk(**{**value, "tags": tuple(value["tags"])})
