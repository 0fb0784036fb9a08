"""The default store: SQLite, words and vectors in segments, and the maintenance of the whole.

SQLite's transaction is the commit point. The segments are derived from it: written so that no committed chunk
is ever missing from them, masked by the live file revisions, and rebuilt when they are missing or damaged.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from findspot.core.errors import IndexBusyError, IndexCorruptError, IndexNotFoundError, PermissionDeniedError
from findspot.core.files import folder_bytes, make_private_dir, remove_folder
from findspot.core.locks import DELETE_WAIT_S, LOCK_NAME, SET_ASIDE, is_locked, writer_lock
from findspot.core.paths import stat_of
from findspot.core.sqlite import Connection, keeps_others_out, shrink_log, translated, version_of
from findspot.store.damage import MARK, UNEXPECTED, check_mark, confirm, confirmed, is_marked
from findspot.store.database import (
    FILE_NAME,
    FILE_NAMES,
    FORMAT_VERSION,
    connect_reader,
    connect_writer,
    generation_of,
    make_tables,
    note_journal,
    read_meta,
)
from findspot.store.derived import VECTORS, Derived, ensure_derived, load_derived, rebuild
from findspot.store.index_rows import FileRows
from findspot.store.records import DerivedDamagedError
from findspot.store.snapshot import Snapshot
from findspot.store.writer import Writer

_REPAIR_WAIT_S = 5.0
_SNAPSHOT_TRIES = 20
_MAX_IDLE = 4
"""Connections that are open for the next readers; a burst of readers opens more and closes them."""


class SqliteStore:
    """The default store: a database and the segments derived from it, in one folder."""

    kind = "default"
    read_only = False
    notice = ""

    def __init__(self, folder: Path, project_path: str) -> None:
        self.folder = folder
        self.database = folder / FILE_NAME
        self._project_path = project_path
        self._guard = threading.Lock()
        self._inode: int | None = None
        """The number of the database's file when it was last read: it may be replaced."""
        self._idle: list[Connection] = []
        self._derived: Derived | None = None
        """Of the last generation that was read."""

    @property
    def exists(self) -> bool:
        return self.database.is_file()

    @property
    def damaged(self) -> bool:
        return is_marked(self.folder)

    @property
    def being_written(self) -> bool:
        return is_locked(self.folder / LOCK_NAME)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open a consistent state to read from; what is derived and missing is rebuilt first."""
        check_mark(self.folder)
        db, inode = self._take()
        try:
            with translated(self.database):
                yield Snapshot(db, self._begin(db, inode))
                db.execute("COMMIT")
        except BaseException as error:
            db.close()
            if isinstance(error, DerivedDamagedError):
                self.repair()  # found only by using it; the next snapshot is whole
            elif isinstance(error, IndexCorruptError):
                raise confirmed(self.folder, error) from error
            elif isinstance(error, UNEXPECTED) and (problem := confirm(self.folder, error)):
                raise problem from error
            raise
        with self._guard:
            if inode == self._inode and len(self._idle) < _MAX_IDLE and not keeps_others_out(db):
                self._idle.append(db)
                return
        db.close()

    def meta(self) -> dict[str, str]:
        with self._confirming(), contextlib.closing(self._open()) as db:
            return read_meta(db)

    def figures(self) -> tuple[dict[str, str], dict[str, tuple[int, int]]]:
        """Return what the index says about itself, and its files and chunks by corpus.

        A process that answers loads after a commit what its next question needs, and has them then; for
        others the database counts all files.
        """
        if self._derived is not None:
            with self.snapshot() as snapshot:
                return snapshot.meta(), snapshot.files.counts()
        with self._confirming(), contextlib.closing(self._open()) as db:
            return read_meta(db), FileRows(db).counts()

    def parts(self) -> dict[str, int]:
        files = (stat_of(self.folder / name) for name in FILE_NAMES)
        words = (stat_of(path) for path in (self.folder / VECTORS).glob("*.seg.*"))
        sizes = {
            "text and structure": sum(file.st_size for file in files if file),
            "keywords": sum(file.st_size for file in words if file),
        }
        sizes["vectors"] = folder_bytes(self.folder / VECTORS) - sizes["keywords"]
        return {name: size for name, size in sizes.items() if size}

    @contextlib.contextmanager
    def writer(self, wait_s: float = 0.0, *, create: bool = True) -> Iterator[Writer]:
        """Open the index's only writer; `IndexBusyError` when another process has it."""
        with self._locked_for_writer(wait_s, create=create), self._open_for_writing() as db:
            ensure_derived(self.folder, db)
            writer = Writer(self.folder, db)
            try:
                yield writer
            finally:
                writer.close()

    @contextlib.contextmanager
    def _open_for_writing(self) -> Iterator[Connection]:
        """Open the database to write, in the present format; the caller holds the lock."""
        with self._confirming():
            check_mark(self.folder)
            db = connect_writer(self.database)
            try:
                make_tables(db)
                note_journal(db)
                yield db
            finally:
                shrink_log(db)
                db.close()

    @contextlib.contextmanager
    def _confirming(self) -> Iterator[None]:
        """Let the error of a damaged index pass only where the damage is certain: it is acted upon."""
        try:
            with translated(self.database):
                yield
        except IndexCorruptError as error:
            raise confirmed(self.folder, error) from error

    @contextlib.contextmanager
    def _locked_for_writer(self, wait_s: float, *, create: bool) -> Iterator[None]:
        """Hold the lock of an index that exists, that was set aside, or that may be created."""
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(writer_lock(self.folder / LOCK_NAME, wait_s, make_folder=create))
            except IndexNotFoundError:
                raise self._not_found() from None
            if not (create or self.exists or (self.folder / SET_ASIDE).is_dir()):
                raise self._not_found()
            yield

    def _not_found(self) -> IndexNotFoundError:
        return IndexNotFoundError(self._project_path, str(self.folder))

    def repair(self) -> None:
        """Rebuild the derived parts: what is wrong with them may show only when they are used."""
        with self._guard:
            self._derived = None
        with self._locked_for_writer(_REPAIR_WAIT_S, create=False), self._open_for_writing() as db:
            rebuild(self.folder, db)

    def set_aside(self) -> Path:
        """Move a damaged index to `index.bak`, so that a fresh one can be built."""
        backup = self.folder / SET_ASIDE
        with writer_lock(self.folder / LOCK_NAME, make_folder=False):
            self.close()
            shutil.rmtree(backup, ignore_errors=True)
            make_private_dir(backup)
            for name in (*FILE_NAMES, VECTORS, MARK):
                with contextlib.suppress(FileNotFoundError):
                    (self.folder / name).rename(backup / name)
        return backup

    def delete(self) -> None:
        """Remove the whole index folder; the lock is held so that nobody is writing."""
        with writer_lock(self.folder / LOCK_NAME, DELETE_WAIT_S):
            self.close()
            # The database first: from then on there is no index, whatever happens to the rest.
            for name in FILE_NAMES:
                (self.folder / name).unlink(missing_ok=True)
            remove_folder(self.folder)

    def close(self) -> None:
        """Close what is open and not in use; the rest is closed when its user is done."""
        with self._guard:
            self._reset(None)

    def _reset(self, inode: int | None) -> None:
        for db in self._idle:
            db.close()
        self._idle.clear()
        self._derived = None
        self._inode = inode

    def _take(self) -> tuple[Connection, int]:
        """Return a reader's connection that nobody uses, and the number of the file that it reads.

        An index of an older format is emptied first, to be built again, which is the writer's work.
        """
        file = stat_of(self.database)
        with self._guard:
            if file is None or file.st_ino != self._inode:  # deleted or replaced
                self._reset(file and file.st_ino)
            if file is None:
                raise self._not_found()
            if self._idle:
                return self._idle.pop(), file.st_ino
        db = self._open()
        if version_of(db) < FORMAT_VERSION:
            db.close()
            self.repair()
            db = self._open()
        return db, file.st_ino

    def _open(self) -> Connection:
        """Return a connection that reads the index; before its first commit there is none."""
        try:
            db = connect_reader(self.database)
        except PermissionDeniedError:
            if self.database.is_file():
                raise
            raise self._not_found() from None  # deleted this moment
        if version_of(db) == 0:  # its first writer has not committed anything yet
            db.close()
            raise self._not_found()
        return db

    def _begin(self, db: Connection, inode: int) -> Derived:
        """Begin a read transaction, and return the derived parts of its generation."""
        repaired = False
        for _ in range(_SNAPSHOT_TRIES):
            db.execute("BEGIN")
            generation = generation_of(db)
            with self._guard:
                derived = self._derived if inode == self._inode else None
            if derived and derived.generation == generation:
                return derived
            try:
                derived = load_derived(self.folder, db, generation, derived)
            except DerivedDamagedError:
                # A newer commit may have replaced what this one lists; else it is lost.
                db.execute("ROLLBACK")
                if self._generation_now() == generation:
                    if repaired:
                        raise
                    self.repair()
                    repaired = True
                continue
            if self._generation_now() == generation:
                with self._guard:
                    if inode == self._inode:
                        self._derived = derived
                return derived
            db.execute("ROLLBACK")
        raise IndexBusyError("a process that commits faster than its commits can be read")

    def _generation_now(self) -> int:
        with contextlib.closing(self._open()) as db:
            return generation_of(db)
