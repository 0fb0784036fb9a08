"""What every store offers: snapshots for readers, one writer, and what is done to an index as a whole."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from findspot.store.snapshot import Snapshot
from findspot.store.writer import Writer

Figures = tuple[dict[str, str], dict[str, tuple[int, int]]]
"""What is written about an index, and its files and chunks by corpus."""


class Store(Protocol):
    """The index of one project, wherever its truth is kept."""

    folder: Path
    """Of this machine: settings, locks and logs, and the index itself unless it is elsewhere."""

    @property
    def kind(self) -> str:
        """The name by which settings choose it."""

    @property
    def exists(self) -> bool:
        """Whether there is an index, be it an unfinished one."""

    @property
    def remote(self) -> bool:
        """Whether the index is elsewhere than in the folder, and perhaps others' as well."""

    @property
    def damaged(self) -> bool:
        """Whether the index was found to be damaged; the next update rebuilds it."""

    @property
    def being_written(self) -> bool:
        """Whether some process of this machine has the writer."""

    @property
    def behind(self) -> str:
        """Why what is read here may be older than the index; empty where it is not."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return a consistent state to read from; `IndexNotFoundError` before the first one."""

    def writer(self, wait_s: float = 0.0, *, create: bool = True) -> AbstractContextManager[Writer]:
        """Return the only writer, whose commits are seen whole; `IndexBusyError` when another has it.

        Without `create`, an index that does not exist is an `IndexNotFoundError`. One that was set aside
        as damaged counts as existing until it is rebuilt.
        """

    def meta(self) -> dict[str, str]:
        """Return what is written about an index."""

    def figures(self) -> Figures:
        """Return what can be told without opening anything for a search."""

    def parts(self) -> dict[str, int]:
        """Return the bytes that the index takes on disk, by what they are for."""

    def repair(self) -> None:
        """Check what is derived in full, and make anew what is damaged."""

    def set_aside(self) -> Path:
        """Put a damaged index where it does no harm, so that a fresh one can be built."""

    def delete(self) -> None:
        """Remove the index; `IndexBusyError` while someone writes."""

    def tidy(self) -> None:
        """Give back what many small commits and deletions have left lying about."""

    def copy_to(self, path: Path) -> None:
        """Write everything that the index holds to one database file."""

    def take(self, path: Path) -> None:
        """Make what such a file holds the index, in the place of what was there."""

    def close(self) -> None:
        """Close what is open; the store can still be used and opens it again."""
