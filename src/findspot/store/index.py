"""The store of one project's index: snapshots for readers, one writer, nothing in between.

SQLite's transaction is the commit point. The keyword index and the vector segments are
derived from it: written so that no committed chunk is ever missing from them, masked by the
live file revisions, and rebuilt when they are missing or damaged.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from findspot.core.errors import IndexCorruptError, IndexNotFoundError
from findspot.core.files import make_private_dir
from findspot.core.locks import is_locked, writer_lock
from findspot.core.log import get_logger
from findspot.store import database as rows
from findspot.store.derived import Derived, load_derived, rebuild, rebuild_missing
from findspot.store.snapshot import Snapshot
from findspot.store.writer import Writer

_log = get_logger("store")

_SNAPSHOT_TRIES = 20


class IndexStore:
    """The default store: SQLite, tantivy and vector segments in one folder."""

    def __init__(self, folder: Path, project_path: str) -> None:
        self.folder = folder
        self._project_path = project_path
        self._guard = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._inode: int | None = None
        self._derived: Derived | None = None

    @property
    def database(self) -> Path:
        return self.folder / rows.FILE_NAME

    @property
    def exists(self) -> bool:
        return self.database.is_file()

    @property
    def being_written(self) -> bool:
        return is_locked(self.folder / "writer.lock")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A consistent state to read from; what is derived and missing is rebuilt first."""
        db = self._take()
        try:
            yield Snapshot(db, self._enter(db))
        finally:
            if db.in_transaction:
                db.execute("COMMIT")
            with self._guard:
                self._idle.append(db)

    @contextlib.contextmanager
    def writer(self, wait_s: float = 0.0) -> Iterator[Writer]:
        """The index's only writer; `IndexBusyError` when another process has it."""
        make_private_dir(self.folder)
        with writer_lock(self.folder / "writer.lock", wait_s):
            db = rows.connect(self.database, create=True)
            try:
                rebuild_missing(self.folder, db)
                writer = Writer(self.folder, db)
                try:
                    yield writer
                finally:
                    writer.close()
            finally:
                db.close()

    def repair(self) -> None:
        """Throw the derived parts away and make them anew from the database."""
        _log.warning("rebuilding the keyword index and vectors of %s", self.folder.name)
        with self.writer(wait_s=5.0) as writer:
            rebuild(self.folder, writer._db)
        with self._guard:
            self._derived = None

    def set_aside(self) -> Path:
        """Move a damaged index to `.bak`, so that a fresh one can be built."""
        self.close()
        backup = self.folder / "index.bak"
        shutil.rmtree(backup, ignore_errors=True)
        backup.mkdir(parents=True)
        for name in (rows.FILE_NAME, f"{rows.FILE_NAME}-wal", f"{rows.FILE_NAME}-shm", "keywords", "vectors"):
            if (self.folder / name).exists():
                (self.folder / name).rename(backup / name)
        return backup

    def delete(self) -> None:
        """Remove the whole index folder; the lock is held so that nobody is writing."""
        with writer_lock(self.folder / "writer.lock"):
            self.close()
            shutil.rmtree(self.folder)

    def close(self) -> None:
        with self._guard:
            for db in self._idle:
                db.close()
            self._idle.clear()
            self._derived = None

    def _take(self) -> sqlite3.Connection:
        try:
            inode = self.database.stat().st_ino
        except OSError:
            self.close()
            raise IndexNotFoundError(self._project_path, str(self.folder)) from None
        if inode != self._inode:  # deleted and made again behind our back
            self.close()
            self._inode = inode
        with self._guard:
            if self._idle:
                return self._idle.pop()
        return rows.connect(self.database)

    def _enter(self, db: sqlite3.Connection) -> Derived:
        """Begin a read transaction whose generation the derived parts fit."""
        for attempt in range(_SNAPSHOT_TRIES):
            try:
                with rows.translated(self.database):
                    db.execute("BEGIN")
                    generation = int(rows.read_meta(db).get("generation", "0"))
                with self._guard:
                    derived = self._derived
                if derived is None or derived.generation != generation:
                    derived = load_derived(self.folder, db, generation)
                    if self._generation_now() != generation:
                        db.execute("COMMIT")
                        continue
                    with self._guard:
                        self._derived = derived
                return derived
            except IndexCorruptError:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if attempt == _SNAPSHOT_TRIES - 1:
                    raise
                if self._generation_now() == generation:
                    self.repair()
        raise IndexCorruptError("no consistent snapshot could be read")

    def _generation_now(self) -> int:
        db = rows.connect(self.database)
        try:
            with rows.translated(self.database):
                return int(rows.read_meta(db).get("generation", "0"))
        finally:
            db.close()
