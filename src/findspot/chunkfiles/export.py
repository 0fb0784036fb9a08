"""Writing a project's chunks as chunk files, for other programs that read them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from findspot.chunkfiles.described import Describer
from findspot.chunkfiles.model import FILE_NAMES, FILE_VERSION
from findspot.core.denied import is_secret_path
from findspot.core.files import translated_os_errors
from findspot.core.folder import Folder
from findspot.core.model import ChunkType
from findspot.store.records import StoredChunk
from findspot.store.snapshot import Snapshot

_MODE = 0o666
"""As the user's umask says: the files are for other programs."""

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


def export_chunks(
    snapshot: Snapshot, folder: Path, skip_under: str | None = None, base: Path | None = None
) -> ExportReport:
    """Write the four files; each appears whole, and only after all of them are written.

    With `base`, no link below it is followed: a repository may hold one in the place of the folder.
    """
    with translated_os_errors(folder), _opened(folder, base) as target:
        _keep_out_of_repository(target)
        with contextlib.ExitStack() as stack:
            head = _head(snapshot)
            writers = {kind: stack.enter_context(_Writer(target, kind, head)) for kind in FILE_NAMES}
            describer = Describer(snapshot)
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
        if is_secret_path(file.path):  # an index that somebody else built may name any file
            continue
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


@contextlib.contextmanager
def _opened(folder: Path, base: Path | None) -> Iterator[Folder]:
    """Open the folder, made where it is missing."""
    if base is None:
        folder.mkdir(parents=True, exist_ok=True)
        base = folder
    with Folder.open(base) as top, top.holding(folder.relative_to(base).parts, make_mode=0o777) as target:
        yield target


def _keep_out_of_repository(folder: Folder) -> None:
    """What is generated is neither committed nor indexed, unless its owner decides so."""
    try:
        folder.lstat(".gitignore")
    except FileNotFoundError:
        with folder.replacing(".gitignore", _MODE) as note:
            note.write(b"*\n")


class _Writer:
    """One chunk file on its way."""

    def __init__(self, folder: Folder, kind: ChunkType, head: Callable[[ChunkType], dict[str, Any]]) -> None:
        self._new = folder.new_file(FILE_NAMES[kind], _MODE)
        self.count = 0
        self._write('{"_metadata":' + json.dumps(head(kind)) + ',"chunks":[')

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self._new.__exit__(*error)

    def add(self, chunk: dict[str, Any], vector: list[float]) -> None:
        line = json.dumps(chunk | {"embedding": vector}, ensure_ascii=False)
        self._write((",\n" if self.count else "\n") + line)
        self.count += 1

    def end(self) -> None:
        self._write("\n]}\n")
        self._new.finish()

    def publish(self) -> None:
        self._new.publish()

    def _write(self, text: str) -> None:
        self._new.file.write(text.encode("utf-8", "replace"))
