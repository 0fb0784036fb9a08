"""A project's own chunks as context chunks: their ids, titles, metadata and times."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from findspot.chunkfiles.model import CONSTANT, CONSTANT_KINDS, ContextChunk
from findspot.core.model import ChunkType
from findspot.store.records import StoredChunk
from findspot.store.schema import ORDINAL_BITS, OUTLINE_ORDINAL
from findspot.store.snapshot import Snapshot

_NO_WORD = re.compile(r"[^A-Za-z0-9]+")
_PACKAGE = re.compile(r"^Package: (.+)$", re.MULTILINE)
_IMPORTS = re.compile(r"^Imports: (\d+) packages?$", re.MULTILINE)
_CUT = re.compile(r"^  … \d+ more$", re.MULTILINE)
_MARK_CHARS = 8
_MOST_NAMED = 3


class Describer:
    """Describes the chunks of one snapshot, whose files decide which ids need a mark."""

    def __init__(self, snapshot: Snapshot) -> None:
        files = snapshot.files.files
        self._constants = snapshot.chunks_defining(CONSTANT_KINDS)
        self._files = {file.id: file for file in files}
        counts = Counter(_slug(file.path) for file in self._files.values())
        self._shared = {slug for slug, count in counts.items() if count > 1}

    def describe(self, chunk: StoredChunk) -> ContextChunk:
        file = self._files[chunk.number >> ORDINAL_BITS]
        written = datetime.fromtimestamp(file.mtime_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return ContextChunk(
            id=self._id(chunk),
            chunk_type=chunk.chunk_type,
            title=_title(chunk),
            text=chunk.text,
            tags=self.tags(chunk.number, chunk.tags),
            metadata=_metadata(chunk),
            created_at=written,
            updated_at=written,
        )

    def tags(self, number: int, tags: tuple[str, ...]) -> tuple[str, ...]:
        """Return the tags of a chunk with the one that says that it defines a constant."""
        return (*tags, CONSTANT) if number in self._constants and CONSTANT not in tags else tags

    def _id(self, chunk: StoredChunk) -> str:
        """`code-symbols-src-a-go`; other chunks of a file are counted, paths that look alike are marked."""
        slug = _slug(chunk.path)
        if slug in self._shared:
            slug += "-" + sha256(chunk.path.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARS]
        kind = "doc" if chunk.chunk_type == ChunkType.DOCUMENTATION else f"code-{chunk.chunk_type}"
        ordinal = chunk.number & OUTLINE_ORDINAL
        return f"{kind}-{slug}" if ordinal == OUTLINE_ORDINAL else f"{kind}-{slug}-{ordinal + 1}"


def _slug(path: str) -> str:
    return _NO_WORD.sub("-", path).strip("-").lower()


def _title(chunk: StoredChunk) -> str:
    about = _about(chunk)
    title = f"{chunk.path} {chunk.chunk_type}"
    return f"{title}: {about}" if about and chunk.chunk_type != ChunkType.SYMBOLS else title


def _about(chunk: StoredChunk) -> str:
    """Return what a chunk is about: its place in the file, and the other names that it defines."""
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
    """Return what an outline tells of its file; counts of a list that was cut short are left out."""
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
