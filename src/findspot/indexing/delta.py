"""What changed: the files on disk against the files in the index, and how an index was made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from findspot.core.files import content_hash
from findspot.core.model import SourceFile
from findspot.core.settings import Settings
from findspot.discover.root_folder import read_file
from findspot.discover.secrets import table_revision
from findspot.discover.walk import walk
from findspot.embed.chunk_vectors import POOLING_REVISION
from findspot.store.index_meta import COMPLETE
from findspot.store.records import KnownFiles, StoredFile
from findspot.store.snapshot import Snapshot

PIPELINE_REVISION = "7"
"""Raised when the same file would give other chunks or facts: an index of another revision is redone."""

_RACY_NS = 2_000_000_000
"""A file written within the clock's grain of its indexing may have changed without showing it."""

_FEW_FILES = 20
"""So few files are compared by content before a worker process is started for them."""

Compared = tuple[SourceFile, StoredFile | None]
"""A file on disk, and what the index has of it."""


@dataclass(slots=True)
class Delta:
    """The work of one run."""

    changed: list[Compared] = field(default_factory=list)
    unchanged: int = 0
    rejected: int = 0
    """Files whose content was not fit for indexing and has not changed since."""
    removed: list[str] = field(default_factory=list)
    """Indexed files that are no longer to be found."""
    forgotten: list[str] = field(default_factory=list)
    """Files with a Skip of their content that are no longer to be found either."""

    @property
    def settled(self) -> int:
        return self.unchanged + self.rejected


def compare(found: Iterable[SourceFile], known: KnownFiles, indexed_at_ns: int, *, force: bool) -> Delta:
    """Compare sizes and times first; a worker reads and hashes whatever is in doubt."""
    delta = Delta()
    seen = set()
    for file in found:
        seen.add(file.path)
        stored = known.indexed.get(file.path)
        settled = not force and max(file.mtime_ns, file.ctime_ns) < indexed_at_ns - _RACY_NS
        before = known.left_out.get(file.path)
        if settled and stored and file.stamp.still(stored.stamp) and _same_kind(file, stored):
            delta.unchanged += 1
        elif settled and not stored and before is not None and file.stamp.still(before):
            delta.rejected += 1
        else:
            delta.changed.append((file, stored))
    delta.removed = [path for path in known.indexed if path not in seen]
    delta.forgotten = [path for path in known.left_out if path not in seen and path not in known.indexed]
    return delta


def split_by_content(
    delta: Delta, root: Path, max_bytes: int, *, force: bool
) -> tuple[list[SourceFile], list[Compared]]:
    """Return the files in doubt whose content is that of the index after all, and the others.

    Only few files are read for that, and none by `force`: the rest is left to the workers.
    """
    if force or len(delta.changed) > _FEW_FILES:
        return [], delta.changed
    unchanged: list[SourceFile] = []
    changed: list[Compared] = []
    for file, stored in delta.changed:
        if stored is not None and _has_same_content(file, stored, root, max_bytes):
            unchanged.append(file)
        else:
            changed.append((file, stored))
    return unchanged, changed


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that are not below another one of them."""
    kept: set[str] = set()
    for path in sorted(set(paths), key=lambda path: path.count("/")):
        parts = path.split("/")
        if not any("/".join(parts[:depth]) in kept for depth in range(1, len(parts))):
            kept.add(path)
    return tuple(sorted(kept))


def _same_kind(file: SourceFile, stored: StoredFile) -> bool:
    return (file.corpus, file.language) == (stored.corpus, stored.language)


def _has_same_content(file: SourceFile, stored: StoredFile, root: Path, max_bytes: int) -> bool:
    if file.size != stored.size or not _same_kind(file, stored):
        return False
    data = read_file(root, file, max_bytes)
    return isinstance(data, bytes) and len(data) == file.size and content_hash(data) == stored.sha256


_DISK_PER_BYTE = 4.0
_DISK_PER_FILE = 4_000


def disk_bytes(sizes: Iterable[int]) -> int:
    """Return about what an index of files of these sizes takes of the disk."""
    return int(sum(_DISK_PER_BYTE * size + _DISK_PER_FILE for size in sizes))


def pipeline_name(settings: Settings) -> str:
    """Return how files are read and cut, as the index notes it: what was made otherwise is redone."""
    scan = f"{settings.discover.secret_scan}-{table_revision()}"
    return f"{PIPELINE_REVISION}:{POOLING_REVISION}:{settings.chunk.strategy}:{scan}"


def pending(root: Path, snapshot: Snapshot, settings: Settings) -> int:
    """Count the files whose size or time of writing says that the index is behind."""
    delta = compare(walk(root, settings.discover).files, snapshot.known_files(), 2**63, force=False)
    return len(delta.changed) + len(delta.removed)


def is_current(root: Path, snapshot: Snapshot, settings: Settings) -> bool:
    """Return whether nothing is left to do for an update, as far as sizes and times of writing tell."""
    meta = snapshot.meta()
    if (meta.get("build"), meta.get("pipeline")) != (COMPLETE, pipeline_name(settings)):
        return False
    found = walk(root, settings.discover).files
    delta = compare(found, snapshot.known_files(), scanned_ns(meta), force=False)
    return not (delta.changed or delta.removed or delta.forgotten)


def scanned_ns(meta: Mapping[str, str]) -> int:
    """Return when the last run that was finished began, as the index says."""
    return int(meta.get("scanned_ns", "0"))
