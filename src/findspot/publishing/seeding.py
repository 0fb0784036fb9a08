"""Begin an index from a published version, where that is faster than indexing.

It is where at least half of the files are new to the index, or of another size: checking a downloaded file
costs nearly half of cutting and embedding it, and all of them are checked. An address out of a committed
file is contacted only after the user agreed to it. Nothing of a version is believed: a file's rows stay only
where the file here confirms them. Whatever goes wrong is one note, and the files are indexed as usual.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from findspot.core.errors import CancelledError, FindspotError, InvalidArgumentError
from findspot.core.files import make_private_dir
from findspot.core.git import read_checkout
from findspot.core.model import Progress, SourceFile
from findspot.core.paths import stat_of
from findspot.core.sqlite import Connection, remove_database
from findspot.indexing.delta import pipeline_name
from findspot.indexing.imported import keep_checked
from findspot.indexing.pipeline import Run
from findspot.publishing.choosing import choose
from findspot.publishing.published import PublishedIndex, Version
from findspot.store.database import read_meta
from findspot.store.index_meta import COMPLETE
from findspot.store.prebuilt import check_database, take_checked

MIN_FILES = 20
"""Fewer files are indexed faster than anything is fetched."""

MAX_SECONDS = 300.0
MAX_BYTES = 8 << 30
"""What fetching a version may take: time, and room on the disk. After that indexing is the better choice."""

_MIN_NEW = 0.5
_WORKING = "seed.sqlite"


def seed(address: str, run: Run, files: Sequence[SourceFile]) -> str | None:
    """Begin the index of a run from the version at an address that fits; returns a note about it.

    `files` are those of the project. Nothing is done where indexing them is faster.
    """
    same = _same_files(run, files)
    if len(files) < MIN_FILES or len(files) - same < _MIN_NEW * len(files):
        return None
    try:
        return _seed(PublishedIndex(address), run, files, same)
    except CancelledError:
        raise
    except FindspotError as error:
        return f"Not begun from the published index: {error.user_message}"


def _same_files(run: Run, files: Sequence[SourceFile]) -> int:
    """Count the files that the index has, as far as sizes tell."""
    try:
        with run.store.snapshot() as snapshot:
            known = snapshot.known_files().indexed
    except FindspotError:  # there is no index, or none that can be read
        return 0
    return sum(file.path in known and known[file.path].size == file.size for file in files)


def _seed(published: PublishedIndex, run: Run, files: Sequence[SourceFile], same: int) -> str:
    made_by = {"model": run.model, "pipeline": pipeline_name(run.settings)}
    versions = published.versions()
    chosen = choose(versions, read_checkout(run.root), **made_by)
    if chosen is None:
        why = f"no version was made as here, with {run.model}" if versions else "nothing is published there"
        raise InvalidArgumentError(f"{published.address}: {why}.")
    confirmed = 0

    def check(db: Connection) -> None:
        nonlocal confirmed
        if not ({**made_by, "build": COMPLETE}.items() <= read_meta(db).items()):
            raise InvalidArgumentError(f"{published.address} sent another index than it lists.")
        confirmed = keep_checked(db, run.tree, run.settings, (run.started_ns, files), run.cancel.check)
        if confirmed <= same:
            raise InvalidArgumentError(f"{published.address} has no more of these files than the index here.")

    path = run.store.folder / _WORKING
    make_private_dir(run.store.folder)
    try:
        remove_database(path)
        _fetch(published, chosen, path, run)
        check_database(path, run.model)
        take_checked(path, run.store, run.root, check)
    finally:
        remove_database(path)
    origin = f"{published.address} (commit {chosen.commit[:12]}, published {chosen.published_at})"
    return f"{confirmed:,} of {len(files):,} files were taken over from {origin}."


def _fetch(published: PublishedIndex, version: Version, path: Path, run: Run) -> None:
    """Fetch a version within the limits; what is none, however it shows, is an `InvalidArgumentError`."""
    deadline = time.monotonic() + MAX_SECONDS

    def watch(progress: Progress) -> None:
        info = stat_of(path)
        if time.monotonic() > deadline:
            raise InvalidArgumentError(f"{published.address} took more than {MAX_SECONDS:g} seconds.")
        if info and info.st_size > MAX_BYTES:
            raise InvalidArgumentError(f"{published.address} sent more than {MAX_BYTES >> 20:,} MB.")
        run.progress(progress)

    try:
        published.fetch(version, path, watch, run.cancel)
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise InvalidArgumentError(
            f"{published.address} does not hold a published index.", f"{error!r}"
        ) from error
