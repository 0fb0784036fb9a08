"""The default store: SQLite, words and vectors in segments, and the maintenance of the whole.

SQLite's transaction is the commit point. The segments are derived from it: written so that no committed chunk
is ever missing from them, masked by the live file revisions, and rebuilt when they are missing or damaged.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from findspot.core.errors import IndexBusyError, IndexCorruptError, IndexNotFoundError, PermissionDeniedError
from findspot.core.files import folder_bytes, make_private_dir, remove_folder
from findspot.core.locks import DELETE_WAIT_S, LOCK_NAME, SET_ASIDE, is_locked, writer_lock
from findspot.core.paths import stat_of
from findspot.core.sqlite import (
    Connection,
    keeps_others_out,
    migrate,
    remove_database,
    shrink_log,
    translated,
    version_of,
)
from findspot.store.damage import MARK, UNEXPECTED, check_mark, confirm, confirmed, is_marked
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
from findspot.store.derived import OLD_KEYWORDS, VECTORS, Derived, ensure_derived, load_derived, rebuild
from findspot.store.index_rows import FileRows
from findspot.store.records import DerivedDamagedError
from findspot.store.snapshot import Snapshot
from findspot.store.writer import Writer

_REPAIR_WAIT_S = 5.0

_OLD_NOTE = "checksums"
_OLD_FILES = ("checksums.json", "compared.json", "second.sqlite", "second.lock")
"""What older versions kept beside an index, and the row of `meta` that says that they did."""

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
        self._checked: set[str] = set()
        """Names of derived files, which never change, that were compared with their checksums."""
        self._readers = _Readers(self.database, self._not_found, self._checked, self._mend)
        self._left: object = None
        """How the last writer of this process left the index, with its derived parts whole."""

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
        reader = self._readers.take()
        try:
            with translated(self.database):
                yield Snapshot(reader.db, self._readers.begin(reader))
                reader.db.execute("COMMIT")
        except BaseException as error:
            reader.db.close()
            if isinstance(error, DerivedDamagedError):
                self.repair()  # found only by using it; the next snapshot is whole
            elif isinstance(error, IndexCorruptError):
                raise confirmed(self.folder, error) from error
            elif isinstance(error, UNEXPECTED) and (problem := confirm(self.folder, error)):
                raise problem from error
            raise
        self._readers.give_back(reader)

    def meta(self) -> dict[str, str]:
        """Return what the index says about itself."""
        with self.confirming(), contextlib.closing(self._readers.open()) as db:
            return read_meta(db)

    def figures(self) -> tuple[dict[str, str], dict[str, tuple[int, int]]]:
        """Return what the index says about itself, and its files and chunks by corpus.

        A process that answers loads after a commit what its next question needs, and has them then; for
        others the database counts all files.
        """
        if self._readers.have_read:
            with self.snapshot() as snapshot:
                return snapshot.meta(), snapshot.files.counts()
        with self.confirming(), contextlib.closing(self._readers.open()) as db:
            return read_meta(db), FileRows(db).counts()

    def parts(self) -> dict[str, int]:
        """Return the bytes of the database and of what is derived from it."""
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
        with (
            self._locked_for_writer(wait_s, create=create),
            self.open_for_writing() as db,
        ):
            writer = Writer(self.folder, db, self._checked)
            try:
                yield writer
                is_committed = not db.in_transaction  # else derived parts may hold something of it
            finally:
                writer.close()
            self._left = self._state(db) if is_committed else None

    @contextlib.contextmanager
    def open_for_writing(self, *, renew: bool = False) -> Iterator[Connection]:
        """Open the database to write, with its derived parts whole; the caller holds the lock.

        With `renew` those are rebuilt, whatever they look like.
        """
        with self.confirming():
            check_mark(self.folder)
            db = connect_writer(self.database)
            try:
                migrate(db, MIGRATIONS)
                note_journal(db)
                self._remove_old_files(db)
                left, self._left = self._left, None
                if renew:
                    rebuild(self.folder, db)
                elif left is None or left != self._state(db):
                    ensure_derived(self.folder, db, self._checked)
                yield db
            finally:
                shrink_log(db)
                db.close()

    @contextlib.contextmanager
    def confirming(self) -> Iterator[None]:
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

    def _mend(self) -> None:
        """Open the writer once, which migrates the database and rebuilds what is missing or damaged."""
        self.forget()
        with self.writer(_REPAIR_WAIT_S, create=False):
            pass

    def _state(self, db: Connection) -> object:
        """Return what changes with every commit."""
        file = stat_of(self.database)
        return generation_of(db), file and file.st_ino

    def _remove_old_files(self, db: Connection) -> None:
        """Remove what older versions kept beside the database."""
        if _OLD_NOTE in read_meta(db):
            for name in _OLD_FILES:
                remove_database(self.folder / name)
            db.execute("DELETE FROM meta WHERE key = ?", (_OLD_NOTE,))

    def repair(self) -> None:
        """Rebuild the derived parts: what is wrong with them may show only when they are used."""
        self.forget()
        with self._locked_for_writer(_REPAIR_WAIT_S, create=False), self.open_for_writing(renew=True):
            pass

    def set_aside(self) -> Path:
        """Move a damaged index to `index.bak`, so that a fresh one can be built."""
        backup = self.folder / SET_ASIDE
        with writer_lock(self.folder / LOCK_NAME, make_folder=False):
            self.close()
            shutil.rmtree(backup, ignore_errors=True)
            make_private_dir(backup)
            for name in (*FILE_NAMES, OLD_KEYWORDS, VECTORS, MARK, *_OLD_FILES):
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

    def forget(self) -> None:
        """Check everything again that was found to be whole, and load it again."""
        self._checked.clear()
        self._left = None
        self._readers.forget()

    def close(self) -> None:
        """Close what is open and not in use; the rest is closed when its user is done.

        What was found to be whole is checked again after that: somebody else may have the files meanwhile.
        """
        self._checked.clear()
        self._left = None
        self._readers.close()


class _Reader(NamedTuple):
    """A connection that reads, and the file that it was opened on."""

    db: Connection
    inode: int


class _Readers:
    """The connections of readers, and the derived parts of the last generation that was read."""

    def __init__(
        self,
        database: Path,
        not_found: Callable[[], IndexNotFoundError],
        checked: set[str],
        repair: Callable[[], None],
    ) -> None:
        self._database = database
        self._not_found = not_found
        self._checked = checked
        self._repair = repair
        """Opens the writer, which migrates the database and rebuilds what is damaged."""
        self._guard = threading.Lock()
        self._idle: list[Connection] = []
        self._inode: int | None = None
        self._derived: Derived | None = None

    @property
    def have_read(self) -> bool:
        """Whether the derived parts of some generation are loaded."""
        with self._guard:
            return self._derived is not None

    def take(self) -> _Reader:
        """Return a connection that nobody uses."""
        try:
            inode = self._database.stat().st_ino
        except OSError:
            self.close()
            raise self._not_found() from None
        with self._guard:
            if inode != self._inode:  # the database was replaced since
                self._reset(inode)
            if self._idle:
                return _Reader(self._idle.pop(), inode)
        return _Reader(self._connect(), inode)

    def give_back(self, reader: _Reader) -> None:
        """Take a connection back for the next reader."""
        with self._guard:
            is_current = reader.inode == self._inode and not keeps_others_out(reader.db)
            if is_current and len(self._idle) < _MAX_IDLE:
                self._idle.append(reader.db)
                return
        reader.db.close()

    def forget(self) -> None:
        """Load the derived parts again at the next opportunity."""
        with self._guard:
            self._derived = None

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._guard:
            self._reset(None)

    def _reset(self, inode: int | None) -> None:
        for db in self._idle:
            db.close()
        self._idle.clear()
        self._derived = None
        self._inode = inode

    def _connect(self) -> Connection:
        """Return a reader's connection; an older index is migrated first, which is the writer's work."""
        db = self.open()
        if version_of(db) < FORMAT_VERSION:
            db.close()
            self._repair()
            return self.open()
        return db

    def open(self) -> Connection:
        """Return a connection that reads an index; before its first commit there is none."""
        try:
            db = connect_reader(self._database)
        except PermissionDeniedError:
            if self._database.is_file():
                raise
            raise self._not_found() from None  # deleted this moment
        if version_of(db) == 0:  # its first writer has not committed anything yet
            db.close()
            raise self._not_found()
        return db

    def begin(self, reader: _Reader) -> Derived:
        """Begin a read transaction, and return the derived parts of its generation."""
        db, inode = reader
        repaired = False
        for _ in range(_SNAPSHOT_TRIES):
            db.execute("BEGIN")
            generation = generation_of(db)
            with self._guard:
                derived = self._derived if inode == self._inode else None
            if derived and derived.generation == generation:
                return derived
            try:
                derived = load_derived(self._database.parent, db, generation, self._checked, derived)
            except DerivedDamagedError:
                # A newer commit may have replaced what this one lists; else it is lost.
                db.execute("ROLLBACK")
                if self._generation_now() == generation:
                    if repaired:
                        raise
                    self._repair()
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
        with contextlib.closing(self.open()) as db:
            return generation_of(db)
