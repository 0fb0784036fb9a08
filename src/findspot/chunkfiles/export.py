"""Writing a project's chunks as chunk files, for other programs that read them."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from findspot.chunkfiles.described import Describer
from findspot.chunkfiles.model import FILE_NAMES, FILE_VERSION
from findspot.core.files import translated_os_errors
from findspot.core.model import ChunkType
from findspot.store.records import StoredChunk
from findspot.store.snapshot import Snapshot

DIGITS = 6
"""A stored vector's steps are a thousand times larger: reading it back gives the same int8 row."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written."""

    folder: str
    counts: dict[str, int]
    """Chunks by chunk type."""
    generation: int

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def export_chunks(snapshot: Snapshot, folder: Path, skip_under: str | None = None) -> ExportReport:
    """Write the four files; each appears whole, and only after all of them are written."""
    with translated_os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _keep_out_of_repository(folder)
        with contextlib.ExitStack() as stack:
            head = _head(snapshot)
            writers = {kind: stack.enter_context(_Writer(folder, kind, head)) for kind in FILE_NAMES}
            describer = Describer(snapshot.files.files)
            for chunk in _chunks(snapshot, skip_under):
                row, scale = snapshot.vector(chunk.number)
                vector = [round(float(value), DIGITS) for value in row.astype(np.float64) * scale]
                writers[ChunkType(chunk.chunk_type)].add(describer.describe(chunk).as_object(), vector)
            for writer in writers.values():
                writer.end()
            for writer in writers.values():
                writer.publish()
    counts = {str(kind): writer.count for kind, writer in writers.items()}
    return ExportReport(str(folder), counts, snapshot.generation)


def _chunks(snapshot: Snapshot, skip_under: str | None) -> Iterator[StoredChunk]:
    for file in snapshot.files.files:
        if skip_under is None or not file.path.startswith(f"{skip_under}/"):
            yield from snapshot.chunks_of(file.path)


def _head(snapshot: Snapshot) -> Callable[[ChunkType], dict[str, Any]]:
    model = snapshot.meta().get("model", "")
    generated = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    dimensions = int(model.rpartition("/")[2] or 0)
    return lambda kind: {
        "model": model,
        "dimensions": dimensions,
        "chunk_type": str(kind),
        "generated": generated,
        "version": FILE_VERSION,
    }


def _keep_out_of_repository(folder: Path) -> None:
    """What is generated is neither committed nor indexed, unless its owner decides so."""
    note = folder / ".gitignore"
    if not note.exists():
        note.write_text("*\n", encoding="utf-8")


class _Writer:
    """One chunk file on its way: written aside, then put in place."""

    def __init__(self, folder: Path, kind: ChunkType, head: Callable[[ChunkType], dict[str, Any]]) -> None:
        self._target = folder / FILE_NAMES[kind]
        self._head = head(kind)
        self.count = 0

    def __enter__(self) -> _Writer:
        handle, self._aside = tempfile.mkstemp(dir=self._target.parent, prefix=f".{self._target.name}.")
        self._file: TextIO = os.fdopen(handle, "w", encoding="utf-8", errors="replace")
        self._file.write('{"_metadata":' + json.dumps(self._head) + ',"chunks":[')
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            Path(self._aside).unlink()

    def add(self, chunk: dict[str, Any], vector: list[float]) -> None:
        self._file.write(",\n" if self.count else "\n")
        json.dump(chunk | {"embedding": vector}, self._file, ensure_ascii=False)
        self.count += 1

    def end(self) -> None:
        self._file.write("\n]}\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def publish(self) -> None:
        os.chmod(self._aside, 0o644)  # noqa: PTH101 - made for its owner alone, like any temporary file
        Path(self._aside).replace(self._target)
