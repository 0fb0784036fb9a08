"""The paths of a project, and what follows from them and from files of settings alone."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from findspot.core.model import SkipReason
from findspot.store.fact_rows import ALL_NUMBERS
from findspot.store.snapshot import Snapshot

T = TypeVar("T")


class ProjectPaths:
    """The paths of one generation of a project, for whoever finds modules."""

    def __init__(self, snapshot: Snapshot, known: dict[Any, Any]) -> None:
        """Keep in `known` what follows from paths: it is the same until one is added or removed."""
        self._snapshot = snapshot
        self._known = known
        self.paths = snapshot.files.by_path
        self._numbers: dict[str, frozenset[int]] = {}

    def once(self, name: str, work: Callable[[], T]) -> T:
        """Return what `work` gave when it was first asked for under this name."""
        if name not in self._known:
            self._known[name] = work()
        return cast(T, self._known[name])

    @property
    def empty(self) -> list[str]:
        """The files that hold nothing, and so are not in the index: they still make a folder a package."""
        return [skip.path for skip in self._snapshot.skips.all(SkipReason.EMPTY)]

    def text(self, path: str) -> str:
        """Return what the chunks of a file hold, for the settings that say where modules are."""
        chunks = self._snapshot.chunks.of_file(path)
        return "\n".join(chunk.text for chunk in chunks if chunk.chunk_type != "symbols")

    @property
    def by_folder(self) -> dict[str, list[str]]:
        """The paths of the files that each folder holds itself."""
        return self.once("files by folder", lambda: grouped(self.paths, posixpath.dirname))

    def numbers_in(self, folder: str) -> frozenset[int]:
        """Return the numbers of the files of a folder."""
        known = self._numbers.get(folder)
        if known is None:
            known = frozenset(self.paths[path] for path in self.by_folder.get(folder, ()))
            self._numbers[folder] = known
        return known

    def range_of(self, folder: str | None) -> tuple[int, int]:
        """Return the first and the last of them, or of all: those of a folder are mostly in a row."""
        if folder is None:
            return ALL_NUMBERS
        numbers = self.numbers_in(folder)
        return min(numbers, default=0), max(numbers, default=-1)


def grouped(paths: Iterable[str], by: Callable[[str], str]) -> dict[str, list[str]]:
    """Return paths by something that follows from them."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(by(path), []).append(path)
    return found
