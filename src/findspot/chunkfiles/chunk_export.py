"""Write a project's chunks as chunk files, for other programs to read."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import numpy as np

from findspot.chunkfiles.chunk_reader import CONSTANT, CONSTANT_KINDS, FILE_NAMES, FILE_VERSION, ContextChunk
from findspot.core.files import Folder, translated_os_errors
from findspot.core.model import ChunkType
from findspot.core.paths import is_secret_path
from findspot.core.utc_time import utc_now, utc_time
from findspot.store.records import ORDINAL_BITS, OUTLINE_ORDINAL, StoredChunk
from findspot.store.snapshot import Snapshot

_MODE = 0o666
"""The user's umask applies: the files are for other programs."""

DIGITS = 6
"""A stored vector's steps are a thousand times larger: reading it back gives the same int8 row."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The number of chunks that were written."""

    folder: str
    counts: dict[str, int]
    """Chunk type → number of chunks."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def export_chunks(
    snapshot: Snapshot, folder: Path, skip_under: str | None = None, base: Path | None = None
) -> ExportReport:
    """Write the four files; each appears whole, and only after all of them are written.

    With `base`, no link below it is followed: a repository may have one instead of the folder.
    """
    counts = dict.fromkeys(map(str, FILE_NAMES), 0)
    with translated_os_errors(folder), _opened(folder, base) as target:
        _keep_out_of_repository(target)
        with contextlib.ExitStack() as stack:
            files = {
                str(kind): stack.enter_context(target.replacing(name, _MODE))
                for kind, name in FILE_NAMES.items()
            }
            for kind, file in files.items():
                _write(file, '{"_metadata":' + json.dumps(_head(snapshot, kind)) + ',"chunks":[')
            describer = Describer(snapshot)
            for chunk in _chunks(snapshot, skip_under):
                row, scale = snapshot.chunks.vector(chunk.number)
                vector = [round(float(value), DIGITS) for value in row.astype(np.float64) * scale]
                for kind in describer.types_of(chunk.number, chunk.chunk_type, chunk.tags):
                    value = describer.describe(chunk, kind).as_object() | {"embedding": vector}
                    separator = ",\n" if counts[kind] else "\n"
                    _write(files[kind], separator + json.dumps(value, ensure_ascii=False))
                    counts[kind] += 1
            for file in files.values():
                _write(file, "\n]}\n")
    return ExportReport(str(folder), counts)


def _write(file: IO[bytes], text: str) -> None:
    file.write(text.encode("utf-8", "replace"))


def _head(snapshot: Snapshot, kind: str) -> dict[str, Any]:
    model = snapshot.meta().get("model", "")
    size = int(model.rpartition("/")[2] or 0)
    about = {"model": model, "dimensions": size, "chunk_type": kind}
    return about | {"generated": utc_now(), "version": FILE_VERSION}


def _chunks(snapshot: Snapshot, skip_under: str | None) -> Iterator[StoredChunk]:
    for file in snapshot.files.files:
        if is_secret_path(file.path):  # an index that somebody else built may name any file
            continue
        if skip_under is None or not file.path.startswith(f"{skip_under}/"):
            yield from snapshot.chunks.of_file(file.path)


@contextlib.contextmanager
def _opened(folder: Path, base: Path | None) -> Iterator[Folder]:
    if base is None:
        folder.mkdir(parents=True, exist_ok=True)
        base = folder
    with Folder.open(base) as top, top.holding(folder.relative_to(base).parts, make_mode=0o777) as target:
        yield target


def _keep_out_of_repository(folder: Folder) -> None:
    """Keep generated files out of commits and indexes, unless their owner decides otherwise."""
    try:
        folder.lstat(".gitignore")
    except FileNotFoundError:
        with folder.replacing(".gitignore", _MODE) as note:
            note.write(b"*\n")


_NO_WORD = re.compile(r"[^A-Za-z0-9]+")
_PACKAGE = re.compile(r"^Package: (.+)$", re.MULTILINE)
_IMPORTS = re.compile(r"^Imports: (\d+) packages?$", re.MULTILINE)
_CUT = re.compile(r"^  … \d+ more$", re.MULTILINE)
_MARK_CHARS = 8
_MOST_NAMED = 3


class Describer:
    """Describes the chunks of one snapshot; ids of paths that look alike get a hash."""

    def __init__(self, snapshot: Snapshot) -> None:
        files = snapshot.files.files
        self._constants = snapshot.symbols.chunks_defining(CONSTANT_KINDS)
        self._files = {file.id: file for file in files}
        counts = Counter(_slug(file.path) for file in self._files.values())
        self._shared = {slug for slug, count in counts.items() if count > 1}

    def describe(self, chunk: StoredChunk, kind: ChunkType) -> ContextChunk:
        file = self._files[chunk.number >> ORDINAL_BITS]
        written = utc_time(file.mtime_ns)
        return ContextChunk(
            id=self._id(chunk, kind),
            chunk_type=kind,
            title=_title(chunk, kind),
            text=chunk.text,
            tags=self.tags(chunk.number, chunk.tags),
            metadata=_metadata(chunk),
            created_at=written,
            updated_at=written,
        )

    def tags(self, number: int, tags: tuple[str, ...]) -> tuple[str, ...]:
        """Return the tags of a chunk, with the tag of constants if it defines one."""
        return (*tags, CONSTANT) if number in self._constants and CONSTANT not in tags else tags

    def types_of(self, number: int, chunk_type: str, tags: tuple[str, ...]) -> tuple[ChunkType, ...]:
        """Return the types of a chunk: constants are data too, where they stand beside functions."""
        kind = ChunkType(chunk_type)
        is_both = kind is ChunkType.DEFINITIONS and CONSTANT in self.tags(number, tags)
        return (kind, ChunkType.DATA) if is_both else (kind,)

    def _id(self, chunk: StoredChunk, kind: ChunkType) -> str:
        """Return an id such as `code-symbols-src-a-go`; other chunks of a file are numbered."""
        slug = _slug(chunk.path)
        if slug in self._shared:
            slug += "-" + sha256(chunk.path.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARS]
        prefix = "doc" if kind is ChunkType.DOCUMENTATION else f"code-{kind}"
        ordinal = chunk.number & OUTLINE_ORDINAL
        return f"{prefix}-{slug}" if ordinal == OUTLINE_ORDINAL else f"{prefix}-{slug}-{ordinal + 1}"


def _slug(path: str) -> str:
    return _NO_WORD.sub("-", path).strip("-").lower()


def _title(chunk: StoredChunk, kind: ChunkType) -> str:
    about = _about(chunk)
    title = f"{chunk.path} {kind}"
    return f"{title}: {about}" if about and kind is not ChunkType.SYMBOLS else title


def _about(chunk: StoredChunk) -> str:
    """Return what a chunk is about: its breadcrumb, and the other names that it defines."""
    main = chunk.breadcrumb or ""
    last = main.rpartition(" > ")[2]
    others = [name for name in dict.fromkeys(chunk.symbols) if name != last]
    named = [*filter(None, [main]), *others]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more


def _metadata(chunk: StoredChunk) -> dict[str, Any]:
    is_docs = chunk.chunk_type == ChunkType.DOCUMENTATION
    metadata: dict[str, Any] = {
        "source": "documentation" if is_docs else "code",
        "file_path": chunk.path,
        "language": chunk.language,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
    }
    return metadata | _outline_figures(chunk.text) if chunk.chunk_type == ChunkType.SYMBOLS else metadata


def _outline_figures(text: str) -> dict[str, Any]:
    """Return the figures in an outline; counts of a list that was cut short are left out."""
    package, imports = _PACKAGE.search(text), _IMPORTS.search(text)
    figures: dict[str, Any] = {"package": package[1]} if package else {}
    figures["imports_count"] = int(imports[1]) if imports else 0
    sections = {part.split(":", 1)[0]: part for part in text.split("\n\n")}
    cut = _CUT.search(text) is not None
    for title, name in (("Types", "types_count"), ("Functions", "functions_count")):
        section = sections.get(title, "")
        if not cut or (section and not _CUT.search(section)):
            figures[name] = section.count("\n  - ")
    return figures
