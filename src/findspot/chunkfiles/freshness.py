"""Chunks compared with the project they were made from: files that are gone or are others by now."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from findspot.chunkfiles.model import ContextChunk, SearchResult
from findspot.core.roots import Roots

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Compared:
    """Results without those of deleted files, and the files that differ."""

    results: list[SearchResult]
    changed: tuple[str, ...]
    gone: tuple[str, ...]

    def warning(self, made_by: str, remedy: str) -> str | None:
        """Say what differs from the disk; `made_by` and `remedy` name what is old and how to renew it."""
        parts = []
        if self.changed:
            parts.append(f"changed since then: {_named(self.changed)}")
        if self.gone:
            parts.append(f"gone, so left out: {_named(self.gone)}")
        return f"{made_by} is older than the project ({'; '.join(parts)}). {remedy}" if parts else None


def compare(roots: Roots, results: Sequence[SearchResult], *, may_be_elsewhere: bool) -> Compared:
    """Compare the files of results with the disk; a chunk carries its file's time of writing.

    Chunks of which no file exists may be those of a project that is elsewhere: they are not judged.
    """
    kept: list[SearchResult] = []
    states: dict[str, bool | None] = {}
    for result in results:
        path = str(result.chunk.metadata.get("file_path", ""))
        if path not in states:
            states[path] = _is_same(roots, path, result.chunk)
        if states[path] is not None:
            kept.append(result)
    if may_be_elsewhere and not kept:
        return Compared(list(results), (), ())
    changed = tuple(path for path, same in states.items() if same is False)
    gone = tuple(path for path, same in states.items() if same is None)
    return Compared(kept, changed, gone)


def _is_same(roots: Roots, path: str, chunk: ContextChunk) -> bool | None:
    """Return whether a file is as it was; None if there is none. What names no file below the root is not
    judged.
    """
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts:
        return True
    try:
        info = os.lstat(roots / path)
    except ValueError:
        return True
    except OSError:
        return None
    written = datetime.fromtimestamp(info.st_mtime_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return stat.S_ISREG(info.st_mode) and written == chunk.updated_at


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more
