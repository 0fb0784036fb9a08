"""What every store offers: snapshots for readers, one writer, and its end."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from findspot.store.snapshot import Snapshot
from findspot.store.writer import Writer

Figures = tuple[dict[str, str], dict[str, tuple[int, int]]]
"""What an index says about itself, and its files and chunks by corpus."""


class Store(Protocol):
    """The index of one project, wherever its truth is stored."""

    folder: Path
    """The folder of this machine: settings, locks and logs, and the index itself."""
    kind: str
    """The name by which settings choose it."""
    read_only: bool
    """Whether this is a published index: its texts are shown as they are, and stay so."""

    @property
    def exists(self) -> bool:
        """Whether there is an index, finished or not."""

    @property
    def damaged(self) -> bool:
        """Whether the index was found to be damaged; the next update rebuilds it."""

    @property
    def being_written(self) -> bool:
        """Whether some process of this machine has the writer."""

    @property
    def notice(self) -> str:
        """What every answer says about where it comes from; empty for an index of the files that are here."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open a consistent state to read from; `IndexNotFoundError` before the first one."""

    def writer(self, wait_s: float = 0.0, *, create: bool = True) -> AbstractContextManager[Writer]:
        """Open the only writer, whose commits are seen whole; `IndexBusyError` when another has it.

        Without `create`, an index that does not exist is an `IndexNotFoundError`. One that was set aside
        as damaged counts as existing until it is rebuilt.
        """

    def meta(self) -> dict[str, str]:
        """Return what the index says about itself."""

    def figures(self) -> Figures:
        """Return what can be said without opening anything for a search."""

    def parts(self) -> dict[str, int]:
        """Return the bytes that the index takes on disk, by what they are for."""

    def delete(self) -> None:
        """Remove the index; `IndexBusyError` while someone writes."""

    def close(self) -> None:
        """Close what is open; the store can still be used and opens it again."""
