"""What the indexing process and its workers say to each other.

Kept apart from the worker, so that the indexing process never loads a parser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from findspot.core.model import Skip, SourceFile
from findspot.core.progress import CancelToken
from findspot.core.roots import Roots
from findspot.store.records import FileRecord

READY = b"findspot worker ready\n"
"""The line after which a worker's output is nothing but pickled outcomes."""

TIME_IS_UP = 27
"""The number of SIGPROF, by which a worker ends that spent too much processor time on one file."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker needs to know once."""

    root: Roots
    provider: str
    strategy: str
    max_file_bytes: int
    revision: str | None = None
    """Of a model that embeds in the indexing process; None where each worker opens its own."""
    secret_scan: str = "skip"


@dataclass(frozen=True, slots=True)
class Job:
    """A file to index; `known_sha256` and `known_keys` are what the index has of it."""

    file: SourceFile
    known_sha256: str | None = None
    known_keys: frozenset[bytes] = frozenset()
    sparing: bool = False
    """Memory ran out at it once: a few chunks are embedded at a time."""
    unparsed: bool = False
    """Parsing this file, or several others, did not end in time: it is cut without a parser."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The file's content is what the index already has."""

    file: SourceFile


@dataclass(frozen=True, slots=True)
class Indexed:
    """A file's new record, and a Skip when some of the file was left out."""

    record: FileRecord
    skip: Skip | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The file's content is not to be indexed."""

    skip: Skip
    file: SourceFile


Outcome = Indexed | Unchanged | Rejected


def nothing() -> None:
    """Do nothing."""


class Pool(Protocol):
    """Whoever reads, cuts and embeds: processes of this machine, or those of a cluster."""

    def run(
        self, jobs: Iterable[Job], cancel: CancelToken, idle: Callable[[], None] = nothing
    ) -> Iterator[Outcome]:
        """Yield the outcome of every job, in the order they finish; call `idle` while none comes."""


class Workers(Protocol):
    """Lends a pool for one run."""

    def lend(self, setup: Setup, size: int) -> AbstractContextManager[Pool]:
        """Return a pool of about that many workers."""
