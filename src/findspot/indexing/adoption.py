"""A new index begun from one that is there already: of another worktree, clone or copy of the same files.

Which one that is, the files themselves say: paths and sizes are compared, and nothing of git is
read. The whole index is copied, and the run that follows compares every file with it by hash: what
is the same stays, with its chunks and vectors, and the rest is cut, embedded or removed as ever.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from findspot.core import sqlite
from findspot.core.errors import FindspotError, IndexBusyError, IndexCorruptError
from findspot.core.files import make_private_dir, translated_os_errors
from findspot.core.locks import LOCK_NAME, writer_lock
from findspot.core.log import get_logger
from findspot.core.model import SourceFile
from findspot.core.sqlite import remove_database, transaction, translated, version_of
from findspot.store.damage import check_mark
from findspot.store.database import FILE_NAME, FORMAT_VERSION, connect_reader, read_meta, write_meta
from findspot.store.derived import VECTORS
from findspot.store.index_meta import COMPLETE, INCOMPLETE
from findspot.store.index_rows import FileRows
from findspot.store.sqlite_store import SqliteStore

_log = get_logger("indexing")

MIN_FILES = 20
"""Fewer files are indexed faster than they are compared."""

_SAMPLE = 64
_MIN_ALIKE = 0.5
"""The share of sampled files that must be there, of the same size. Below it, cutting costs no more."""

_WAIT_S = 1.0
_FRESH = f"{FILE_NAME}.new"

_ITS_OWN = (
    "created_at", "updated_at", "checked_at", "last_full_index", "scanned_ns", "done", "total", "notes",
    "last_error", "agreed_files", "options", "asked",
)  # fmt: skip
"""What an index says of its own runs. Without `scanned_ns` no time of writing proves anything."""


def adopt(store: SqliteStore, root: Path, made_by: dict[str, str], files: Sequence[SourceFile]) -> str | None:
    """Begin an index that does not exist yet from the most similar one; returns whose it was.

    `made_by` is what has to be the same in both: the model, and how files are cut.
    """
    if store.exists or len(files) < MIN_FILES:
        return None
    sibling = _most_alike(store.folder, made_by, files)
    if sibling is None:
        return None
    _remove_unfinished(store.folder)
    try:
        with writer_lock(store.folder / LOCK_NAME), writer_lock(sibling / LOCK_NAME, _WAIT_S):
            if store.database.is_file():  # made by another process meanwhile
                return None
            check_mark(sibling)
            with translated_os_errors(store.folder), translated(sibling / FILE_NAME):
                return _copy(sibling, store.folder, root)
    except (IndexBusyError, IndexCorruptError) as error:
        _log.info("not begun from the index in %s: %s", sibling.name, error.developer_message)
        return None  # it is made from nothing
    finally:
        _remove_unfinished(store.folder)


def _most_alike(own: Path, made_by: dict[str, str], files: Sequence[SourceFile]) -> Path | None:
    """Return the index folder that holds most of a sample of files, if that is enough of them."""
    sample = files[:: max(1, len(files) // _SAMPLE)]
    others = sorted(own.parent.iterdir()) if own.parent.is_dir() else ()
    found = [(_alike(folder, made_by, sample), folder) for folder in others if folder != own]
    best, folder = max(found, default=(0, own))
    return folder if best >= _MIN_ALIKE * len(sample) else None


def _alike(folder: Path, made_by: dict[str, str], sample: Sequence[SourceFile]) -> int:
    """Return how many files of a sample an index has in the same size; none if it was made otherwise."""
    path = folder / FILE_NAME
    if not path.is_file():
        return 0
    wanted = {**made_by, "build": COMPLETE}
    with (
        contextlib.suppress(FindspotError),
        translated(path),
        contextlib.closing(connect_reader(path)) as db,
    ):
        if version_of(db) == FORMAT_VERSION and wanted.items() <= read_meta(db).items():
            files = FileRows(db)
            there = ((files.find(file.path), file) for file in sample)
            return sum(known is not None and known.size == file.size for known, file in there)
    return 0


def _copy(sibling: Path, own: Path, root: Path) -> str:
    """Copy all that an index is; the database comes last and at once, and makes it one."""
    shutil.rmtree(own / VECTORS, ignore_errors=True)
    if (sibling / VECTORS).is_dir():
        shutil.copytree(sibling / VECTORS, own / VECTORS)
    with (
        contextlib.closing(connect_reader(sibling / FILE_NAME)) as source,
        contextlib.closing(sqlite.connect(own / _FRESH, create=True)) as fresh,
    ):
        project = read_meta(source)["project_path"]
        source.backup(fresh)
        with transaction(fresh):
            fresh.executemany("DELETE FROM meta WHERE key = ?", ((key,) for key in _ITS_OWN))
            write_meta(fresh, {"project_path": str(root), "build": INCOMPLETE})
    make_private_dir(own)
    (own / _FRESH).rename(own / FILE_NAME)
    _log.info("begun from the index of %s", project)
    return project


def _remove_unfinished(own: Path) -> None:
    with contextlib.suppress(OSError):
        remove_database(own / _FRESH)
