"""The store of one project's index: snapshots for readers, one writer, nothing in between.

SQLite's transaction is the commit point. The keyword index and the vector segments are
derived from it: written so that no committed chunk is ever missing from them, masked by the
live file revisions, and rebuilt when they are missing or damaged.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from findspot.core.errors import (
    IndexBusyError,
    IndexCorruptError,
    IndexFormatError,
    IndexNotFoundError,
    PermissionDeniedError,
)
from findspot.core.files import folder_bytes, make_private_dir, remove_folder, stat_of
from findspot.core.locks import is_locked, writer_lock
from findspot.core.log import get_logger
from findspot.core.sqlite import (
    Connection,
    Error,
    logged_pages,
    migrate,
    page_bytes,
    shrink_log,
    translated,
    version_of,
)
from findspot.store import index_rows as rows
from findspot.store.copying import copy_database, prepare_copy, put_in_place
from findspot.store.damage import (
    CHECKSUMS,
    MARK,
    UNEXPECTED,
    Checksums,
    check_mark,
    find_problem,
    mark_damaged,
    note_checksums,
)
from findspot.store.database import (
    FILE_NAME,
    FILE_NAMES,
    FORMAT_VERSION,
    MIGRATIONS,
    connect_reader,
    connect_writer,
    generation_of,
    note_journal,
    read_meta,
)
from findspot.store.derived import KEYWORDS, VECTORS, Derived, ensure_derived, load_derived, rebuild
from findspot.store.records import DerivedDamagedError
from findspot.store.snapshot import Snapshot
from findspot.store.writer import Writer

_log = get_logger("store")

W = TypeVar("W", bound=Writer)
WriterKind = Callable[[Path, Connection, set[str]], W]

LOCK_NAME = "writer.lock"
SET_ASIDE = "index.bak"
"""Where a damaged index goes until it is rebuilt."""

DELETE_WAIT_S = 1.0
"""How long a deletion waits for a writer: saved files are stored in less than that."""

_SNAPSHOT_TRIES = 20
_REPAIR_WAIT_S = 5.0
_MAX_IDLE = 4
"""Connections kept for the next readers; a burst of readers opens more and closes them."""


class IndexStore:
    """The default store: SQLite, tantivy and vector segments in one folder."""

    kind = "default"
    remote = False

    def __init__(self, folder: Path, project_path: str) -> None:
        self.folder = folder
        self._project_path = project_path
        self._guard = threading.Lock()
        self._idle: list[Connection] = []
        self._inode: int | None = None
        self._derived: Derived | None = None
        self._checksums = Checksums(folder)
        self._checked: set[str] = set()
        """Names of derived files, which never change, that were compared with their checksums."""

    @property
    def database(self) -> Path:
        return self.folder / FILE_NAME

    @property
    def exists(self) -> bool:
        return self.database.is_file()

    @property
    def damaged(self) -> bool:
        return self.exists and (self.folder / MARK).exists()

    @property
    def being_written(self) -> bool:
        return is_locked(self._lock)

    @property
    def behind(self) -> str:
        return ""

    @property
    def _lock(self) -> Path:
        return self.folder / LOCK_NAME

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Provide a consistent state to read from; what is derived and missing is rebuilt first."""
        self._check()
        db, inode = self._take()
        try:
            with translated(self.database):
                yield Snapshot(db, self._enter(db, inode))
                db.execute("COMMIT")
        except BaseException as error:
            db.close()
            if isinstance(error, DerivedDamagedError):
                self.repair()  # found only by using it; the next snapshot is whole
            elif isinstance(error, (IndexCorruptError, *UNEXPECTED)) and (problem := self._confirm(error)):
                raise problem from error
            raise
        self._give_back(db, inode)

    def meta(self) -> dict[str, str]:
        """Return what is written about the index."""
        with translated(self.database), contextlib.closing(connect_reader(self.database)) as db:
            return read_meta(db)

    def _check(self) -> None:
        """Refuse an index that is known to be damaged, or is not as it was written."""
        if not self.exists:
            return
        check_mark(self.folder)
        try:
            self._checksums.check()
        except DerivedDamagedError:
            self.repair()
        except IndexCorruptError as error:
            mark_damaged(self.folder, error)
            raise

    def _confirm(self, error: BaseException) -> IndexCorruptError | None:
        """Return the error of a damaged database, which is marked; None where it is whole, or of another
        format.
        """
        if isinstance(error, IndexFormatError) or not self.exists:
            return None
        problem = find_problem(self.database)
        if problem is None:
            return None
        damage = IndexCorruptError(problem)
        mark_damaged(self.folder, damage)
        return damage

    def figures(self) -> tuple[dict[str, str], dict[str, tuple[int, int]]]:
        """Return what is written about the index, and its files and chunks by corpus; nothing else is
        opened.
        """
        with translated(self.database), contextlib.closing(connect_reader(self.database)) as db:
            return read_meta(db), rows.counts(db)

    def parts(self) -> dict[str, int]:
        """Return the bytes of the database and of what is derived from it."""
        files = (stat_of(self.folder / name) for name in FILE_NAMES)
        sizes = {
            "text and structure": sum(file.st_size for file in files if file),
            "keywords": folder_bytes(self.folder / KEYWORDS),
            "vectors": folder_bytes(self.folder / VECTORS),
        }
        return {name: size for name, size in sizes.items() if size}

    def writer(
        self, wait_s: float = 0.0, *, create: bool = True
    ) -> contextlib.AbstractContextManager[Writer]:
        """Return the index's only writer; `IndexBusyError` when another process has it."""
        return self.writer_of(Writer, wait_s, create=create)

    @contextlib.contextmanager
    def writer_of(self, kind: WriterKind[W], wait_s: float, *, create: bool = True) -> Iterator[W]:
        """Provide the same of another kind, for a store that is built on this one."""
        with self._locked(wait_s, create=create), self._writing() as db:
            writer = kind(self.folder, db, self._checked)
            try:
                yield writer
            finally:
                writer.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Provide the database open to write, and what is derived from it whole; checksums are renewed at
        the end.
        """
        check_mark(self.folder)
        with translated(self.database):
            keywords_damaged = self._begin_writing()
            db = connect_writer(self.database)
            whole = True
            try:
                migrate(db, MIGRATIONS)
                note_journal(db)
                note_checksums(db)
                if keywords_damaged:
                    rebuild(self.folder, db)
                else:
                    ensure_derived(self.folder, db, self._checked)
                yield db
            except (IndexCorruptError, Error):
                whole = False
                raise
            finally:
                self._end_writing(db, whole=whole)

    def _begin_writing(self) -> bool:
        """Compare the files with their checksums, which change from now on; whether keywords are damaged."""
        damaged = False
        try:
            if self.exists:
                self._checksums.check()
        except DerivedDamagedError as damage:
            _log.warning("rebuilding the keyword index: %s", damage.developer_message)
            damaged = True
        except IndexCorruptError as error:
            mark_damaged(self.folder, error)
            raise
        self._checksums.begin()
        return damaged

    def _end_writing(self, db: Connection, *, whole: bool) -> None:
        try:
            pages = logged_pages(db, self.database)
            size = page_bytes(db)
            if shrink_log(db) and whole:
                self._checksums.finish(pages, size)
        except Error:
            _log.info("without checksums until the next run")
        finally:
            db.close()

    @contextlib.contextmanager
    def _locked(self, wait_s: float, *, create: bool) -> Iterator[None]:
        """Hold the writer's lock of an index that exists, or that may be created."""
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(writer_lock(self._lock, wait_s, make_folder=create))
            except IndexNotFoundError:
                raise self._not_found() from None
            if not (create or self.exists or (self.folder / SET_ASIDE).is_dir()):
                raise self._not_found()
            yield

    def repair(self) -> None:
        """Check the derived parts in full, and make them anew where they are damaged."""
        self._checked.clear()
        self._checksums.forget()
        with self._guard:
            self._derived = None
        with self.writer(wait_s=_REPAIR_WAIT_S, create=False):
            """Opening the writer does it."""

    def set_aside(self) -> Path:
        """Move a damaged index to `index.bak`, so that a fresh one can be built."""
        backup = self.folder / SET_ASIDE
        with writer_lock(self._lock, make_folder=False):
            self.close()
            shutil.rmtree(backup, ignore_errors=True)
            make_private_dir(backup)
            for name in (*FILE_NAMES, KEYWORDS, VECTORS, CHECKSUMS, MARK):
                with contextlib.suppress(FileNotFoundError):
                    (self.folder / name).rename(backup / name)
        return backup

    def tidy(self) -> None:
        """Give back the room of deleted rows."""
        with writer_lock(self._lock), self._writing() as db:
            db.execute("VACUUM")

    def copy_to(self, path: Path) -> None:
        """Write everything that the index holds to one database file."""
        if not self.exists:
            raise self._not_found()
        self._check()
        copy_database(self.database, path)

    def take(self, path: Path) -> None:
        """Make what such a file holds the index, in the place of what was there."""
        prepared = self.folder / "prepared"
        try:
            prepare_copy(path, prepared)
            if self.exists:
                shutil.rmtree(self.set_aside())
            with writer_lock(self._lock):
                self.close()
                put_in_place(path, prepared, self.folder)
            with self.writer():
                """Its end writes the checksums."""
        finally:
            shutil.rmtree(prepared, ignore_errors=True)

    def delete(self) -> None:
        """Remove the whole index folder; the lock is held so that nobody is writing."""
        with writer_lock(self._lock, DELETE_WAIT_S):
            self.close()
            # The database first: from then on there is no index, whatever happens to the rest.
            for name in FILE_NAMES:
                (self.folder / name).unlink(missing_ok=True)
            remove_folder(self.folder)

    def close(self) -> None:
        """Close what is open and not in use; the rest is closed when its user is done."""
        with self._guard:
            self._reset(None)

    def _take(self) -> tuple[Connection, int]:
        """Return a connection that nobody uses, and the file it is of."""
        try:
            inode = self.database.stat().st_ino
        except OSError:
            self.close()
            raise self._not_found() from None
        with self._guard:
            if inode != self._inode:  # deleted and made again behind our back
                self._reset(inode)
            if self._idle:
                return self._idle.pop(), inode
        return self._connect(), inode

    def _give_back(self, db: Connection, inode: int) -> None:
        with self._guard:
            if inode == self._inode and len(self._idle) < _MAX_IDLE:
                self._idle.append(db)
                return
        db.close()

    def _reset(self, inode: int | None) -> None:
        for db in self._idle:
            db.close()
        self._idle.clear()
        self._derived = None
        self._inode = inode

    def _connect(self) -> Connection:
        """Return a reader's connection; an older index is migrated first, which is the writer's work."""
        db = self._open()
        if version_of(db) < FORMAT_VERSION:
            db.close()
            with self.writer(wait_s=_REPAIR_WAIT_S, create=False):
                """Opening the writer does it."""
            return self._open()
        return db

    def _open(self) -> Connection:
        try:
            db = connect_reader(self.database)
        except PermissionDeniedError:
            if self.exists:
                raise
            raise self._not_found() from None  # deleted this moment
        if version_of(db) == 0:  # its first writer has not committed anything yet
            db.close()
            raise self._not_found()
        return db

    def _not_found(self) -> IndexNotFoundError:
        return IndexNotFoundError(self._project_path, str(self.folder))

    def _enter(self, db: Connection, inode: int) -> Derived:
        """Begin a read transaction whose generation the derived parts fit."""
        repaired = False
        for _ in range(_SNAPSHOT_TRIES):
            db.execute("BEGIN")
            generation = generation_of(db)
            with self._guard:
                derived = self._derived if inode == self._inode else None
            if derived and derived.generation == generation:
                return derived
            try:
                derived = load_derived(self.folder, db, generation, self._checked, derived)
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
