"""A published index: an address that holds versions of one project's index, each made from one commit.

The address is a folder or a prefix of an object store, with LanceDB tables. Only `findspot publish` changes
them. Readers search a version where it lies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from findspot.core.errors import IndexCorruptError, InvalidArgumentError
from findspot.core.paths import expanded
from findspot.store.lance.lance_snapshot import PublishedSnapshot, VersionRows
from findspot.store.lance.lance_tables import Head, Tables

PROJECT = "{project}"
"""Replaced in an address by the name of the project's folder: one setting then serves several projects."""

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
        return self.commit, self.branch, self.model, self.pipeline


@dataclass(frozen=True, slots=True)
class Entry:
    """A version, and where its rows are."""

    version: Version
    tables: dict[str, int]
    meta: dict[str, str]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Entry:
        """Return what a head lists; ours and well-formed, or it is damage."""
        try:
            entry = cls(Version(**values["version"]), dict(values["tables"]), dict(values["meta"]))
            entry.version.check()
        except (TypeError, KeyError, ValueError) as error:
            raise IndexCorruptError(f"head: {error}") from error
        return entry


def entries_of(head: Head | None) -> list[Entry]:
    return [Entry.read(values) for values in head.versions] if head else []


class PublishedIndex:
    """The versions of one project's index at one address, to be read."""

    def __init__(self, address: str, options: Mapping[str, str] | None = None) -> None:
        """`options` of lancedb's client of an object store go before ours."""
        self.location: str | Path = address
        if "://" not in address or address.startswith("file://"):
            self.location = expanded(address.removeprefix("file://")).resolve()
        elif not address.startswith(_OBJECT_STORES):
            raise InvalidArgumentError(
                f"'{address}' is not an address of a published index.",
                hint="Name a folder, or a place on an object store such as s3://bucket/prefix.",
            )
        self.address = str(self.location)
        self.options = options
        self.tables = Tables(self.location, options)

    def versions(self) -> Sequence[Version]:
        return tuple(entry.version for entry in self.entries())

    def entries(self) -> list[Entry]:
        return entries_of(self.tables.head())

    def snapshot(self, entry: Entry, generation: int = 0) -> PublishedSnapshot:
        return PublishedSnapshot(VersionRows(self.tables, entry.tables), entry.meta, generation)
