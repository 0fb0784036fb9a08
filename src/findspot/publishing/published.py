"""A published index: an address that holds versions of one project's index, each made from one commit.

Two kinds of address implement `PublishedIndex`: tables on an object store, and a folder of files that any
HTTP server can serve. Only `findspot publish` adds or removes versions. Everyone else lists them and fetches
one, and believes nothing of it that the files of the checkout do not confirm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from findspot.core.errors import InvalidArgumentError
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.store.store_protocol import Store

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f]{0,250}")

_OBJECT_STORES = ("s3://", "s3+ddb://", "gs://", "az://", "abfss://", "oss://", "cos://", "memory://")
"""What LanceDB keeps tables in."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a published index: what it was made from, and what it holds."""

    commit: str
    """The full hash, in hexadecimal."""
    branch: str
    published_at: str
    """In UTC, such as `2026-01-15T14:30:00Z`."""
    files: int
    chunks: int
    model: str
    """As the index names it. Versions of other models cannot be used."""
    pipeline: str
    """How files are read and cut, as the index names it. A version of another revision would be redone."""

    def check(self) -> None:
        """Raise ValueError, saying what is wrong, if this is not a version that everyone can read."""
        if not _COMMIT.fullmatch(self.commit):
            raise ValueError("a commit is 7 to 64 hexadecimal digits")
        if not _TIME.fullmatch(self.published_at):
            raise ValueError("a time is written as 2026-01-15T14:30:00Z")
        for name, text in (("branch", self.branch), ("model", self.model), ("pipeline", self.pipeline)):
            if not _TEXT.fullmatch(text):
                raise ValueError(f"a {name} has at most 250 characters, none of them a control character")
        if not all(type(number) is int and number >= 0 for number in (self.files, self.chunks)):
            raise ValueError("files and chunks are numbers")

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells versions apart: adding one whose key is there replaces that one."""
        return self.commit, self.branch, self.model, self.pipeline


@dataclass(frozen=True, slots=True)
class Sent:
    """What adding a version sent: the files that no earlier version had, and their size."""

    files: int
    bytes: int


class PublishedIndex(Protocol):
    """The versions of one project's index at one address."""

    @property
    def address(self) -> str:
        """The address as it may be shown: without a name, a password or a key."""

    def versions(self) -> Sequence[Version]:
        """Return all versions, the newest first; none where nothing was published yet.

        `StoreUnavailableError` where the address does not answer, `StoreRefusedError` where it refuses,
        `InvalidArgumentError` where it holds something else.
        """

    def fetch(
        self,
        version: Version,
        path: Path,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> None:
        """Write a version's index to one database file, in the form that `Maintenance.copy_to` writes.

        Nothing in the file is trusted: the caller checks its tables and all of its rows.
        """

    def add(self, version: Version, store: Store) -> Sent:
        """Add the index in a store as a version: send only what no version at the address has."""

    def remove(self, versions: Iterable[Version]) -> None:
        """Remove versions, and what only they used."""


def open_published(address: str) -> PublishedIndex:
    """Return the published index at an address or in a folder, with nothing contacted yet."""
    if "://" not in address or address.startswith(("http://", "https://", "file://")):
        from findspot.publishing.static_files import StaticIndex

        return StaticIndex(address)
    if address.startswith(_OBJECT_STORES):
        from findspot.publishing.published_tables import PublishedTables

        return PublishedTables(address)
    raise InvalidArgumentError(
        f"'{address}' is not an address of a published index.",
        hint="Name an https:// address, a folder, or one on an object store such as s3://bucket/prefix.",
    )
