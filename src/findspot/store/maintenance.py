"""Work on a whole index in the default store: repairing, tidying, copying, replacing and deleting it."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from findspot.core import sqlite
from findspot.core.files import make_private_dir, remove_folder
from findspot.core.sqlite import remove_database
from findspot.store.damage import CHECKSUMS, CHECKSUMS_NOTE, MARK
from findspot.store.database import (
    FILE_NAME,
    FILE_NAMES,
    JOURNAL_NOTE,
    MIGRATIONS,
    connect,
    connect_reader,
)
from findspot.store.derived import KEYWORDS, VECTORS, rebuild
from findspot.store.edge_rows import EdgeRows
from findspot.store.index_lock import DELETE_WAIT_S, SET_ASIDE

if TYPE_CHECKING:
    from findspot.store.sqlite_store import SqliteStore

_REPAIR_WAIT_S = 5.0

_LOCAL = ("segments", JOURNAL_NOTE, CHECKSUMS_NOTE, "origin%")
"""Rows of `meta` about the files of one machine; `origin…` is what a local copy notes of its source."""


class SqliteMaintenance:
    """What is done to an index in the default store as a whole."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def repair(self) -> None:
        """Check the derived parts in full, and rebuild them where they are damaged."""
        self._store.forget()
        with self._store.writer(_REPAIR_WAIT_S, create=False):
            pass  # opening the writer does it

    def set_aside(self) -> Path:
        """Move a damaged index to `index.bak`, so that a fresh one can be built."""
        store = self._store
        backup = store.folder / SET_ASIDE
        with store.lock.hold(make_folder=False):
            store.close()
            shutil.rmtree(backup, ignore_errors=True)
            make_private_dir(backup)
            for name in (*FILE_NAMES, KEYWORDS, VECTORS, CHECKSUMS, MARK):
                with contextlib.suppress(FileNotFoundError):
                    (store.folder / name).rename(backup / name)
        return backup

    def tidy(self) -> None:
        """Give back the room of deleted rows."""
        with self._store.lock.hold(), self._store.open_for_writing() as db:
            db.execute("VACUUM")

    def copy_to(self, path: Path) -> None:
        """Write everything that the index holds to one database file."""
        if not self._store.exists:
            raise self._store.lock.not_found()
        self._store.check()
        _copy_database(self._store.database, path)

    def take(self, path: Path) -> None:
        """Replace the index by what such a file holds."""
        store = self._store
        prepared = store.folder / "prepared"
        try:
            _prepare_copy(path, prepared)
            if store.exists:
                shutil.rmtree(self.set_aside())
            with store.lock.hold():
                store.close()
                _put_in_place(path, prepared, store.folder)
            with store.writer():
                pass  # closing the writer writes the checksums
        finally:
            shutil.rmtree(prepared, ignore_errors=True)

    def delete(self) -> None:
        """Remove the whole index folder; the lock is held so that nobody is writing."""
        with self._store.lock.hold(DELETE_WAIT_S):
            self._store.close()
            # The database first: from then on there is no index, whatever happens to the rest.
            for name in FILE_NAMES:
                (self._store.folder / name).unlink(missing_ok=True)
            remove_folder(self._store.folder)


def _copy_database(source: Path, target: Path) -> None:
    """Make a consistent copy without what is derived, and without what deleted rows leave in a file."""
    remove_database(target)
    with (
        sqlite.translated(source),
        contextlib.closing(connect_reader(source)) as db,
        contextlib.closing(sqlite.connect(target, create=True)) as copy,
    ):
        db.backup(copy)
        _drop_local(copy)
        copy.execute("VACUUM")


def _prepare_copy(path: Path, folder: Path) -> None:
    """Bring a copy to this format, and build what is derived from it in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    make_private_dir(folder)
    with sqlite.translated(path), contextlib.closing(connect(path)) as db:
        sqlite.migrate(db, MIGRATIONS)
        _drop_local(db)
        rebuild(folder, db)


def _drop_local(db: sqlite.Connection) -> None:
    db.executemany("DELETE FROM meta WHERE key LIKE ?", ((key,) for key in _LOCAL))
    EdgeRows(db).clear()


def _put_in_place(path: Path, prepared: Path, folder: Path) -> None:
    """Make a prepared copy the index of a folder that has none; the database comes last and makes it one."""
    for part in (KEYWORDS, VECTORS):
        shutil.rmtree(folder / part, ignore_errors=True)
        if (prepared / part).is_dir():
            (prepared / part).rename(folder / part)
    path.rename(folder / FILE_NAME)
