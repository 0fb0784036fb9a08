"""SQLite databases: open them, run transactions, migrate them, and translate their errors.

No other module imports `sqlite3`. A database of ours is opened in one of four ways:

    connect(path)                    read and write; `create=True` makes the file
    connect_logged(path)             the same, with the write-ahead log where the disk allows it
    connect_reader(path)             read only; also where nobody can write, and on a full disk
    connect_in_memory()              nothing on disk

The write-ahead log needs memory that all processes share. Network file systems have none: there the
log fails, or worse, seems to work, so a rollback journal is used and readers wait for the writer.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from findspot.core.errors import FindspotError, IndexBusyError, IndexCorruptError, PermissionDeniedError
from findspot.core.files import PRIVATE_FILE_MODE, TOO_MANY_OPEN, cannot_write, disk_full, out_of_resources
from findspot.core.log import get_logger
from findspot.core.platforms import remote_kind

_log = get_logger("sqlite")

Connection = sqlite3.Connection
Error = sqlite3.Error

Synchronous = Literal["FULL", "NORMAL", "OFF"]
"""FULL: a commit is on the disk. NORMAL: a power cut may undo the last ones. OFF: losing them is no loss."""

FILE_ENDINGS = ("", "-wal", "-shm", "-journal")
"""Of the files that make up one database."""

MAX_PARAMETERS = 900
"""Values that one statement takes, in every build of SQLite."""

_BUSY_S = 10.0
_ALONE_S = 1.0
_READERS_MS = 200
"""How long the end of a writer waits for searches: each takes some milliseconds."""

_FAILED_WRITES = frozenset(
    {
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_DIR_FSYNC,
        sqlite3.SQLITE_IOERR_TRUNCATE,
        sqlite3.SQLITE_IOERR_SHMSIZE,
    }
)
"""A quota, a size limit, or no room for the shared memory file: SQLite says `full` only for some."""

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_REFUSED = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
)
_OUT_OF_MEMORY = frozenset({sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_IOERR_NOMEM})
_SIGNS_OF_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_ERROR,  # a table or column that is not there
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_CONSTRAINT,
    }
)
"""Or of a mistake of ours, or of one failed read: a store confirms the damage before it acts on it."""

_WITHOUT_SHARED_MEMORY = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL}
)
"""What SQLite says, by its version, when it cannot map the log's index; or of a disk that is read-only."""

_MISTAKES = (sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.NotSupportedError)
"""Mistakes of the caller, not states of a database."""


@contextlib.contextmanager
def translated(path: Path, damaged: Callable[[str], FindspotError] = IndexCorruptError) -> Iterator[None]:
    """Turn SQLite's errors into ours; `damaged` makes the error of a database that cannot be read."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None:
            raise _translation(path, error, code, damaged) from error
        if isinstance(error, _MISTAKES):
            raise
        # The message quotes the text.
        raise damaged("text that is not UTF-8") from None


def _translation(
    path: Path, error: sqlite3.Error, code: int, damaged: Callable[[str], FindspotError]
) -> FindspotError:
    primary = code & 0xFF
    if _is_full(code):
        return disk_full(path)
    if primary in _BUSY:
        return IndexBusyError("another process")
    if code in _OUT_OF_MEMORY or primary == sqlite3.SQLITE_NOMEM:
        return out_of_resources(path, errno.ENOMEM)
    if primary in _REFUSED:
        return _refusal(path)
    if primary in _SIGNS_OF_DAMAGE:
        return _exhausted(path) or damaged(str(error))
    return FindspotError(f"The database {path} cannot be used: {error}", f"SQLite error {code}")


def _is_full(code: int) -> bool:
    return code & 0xFF == sqlite3.SQLITE_FULL or code in _FAILED_WRITES


def is_failed_read(error: BaseException | None) -> bool:
    """Return whether the disk could not be read: that says nothing of what is on it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR


def _refusal(path: Path) -> FindspotError:
    """SQLite does not say why it cannot open or write a file: the system does."""
    if os.access(path, os.R_OK):
        return _exhausted(path) or cannot_write(path)
    if not path.parent.is_dir() or path.exists():
        return PermissionDeniedError(str(path))
    return _exhausted(path) or cannot_write(path)


def _exhausted(path: Path) -> FindspotError | None:
    """Return the error of a process that cannot open any more files; None where it can."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in TOO_MANY_OPEN:
            return out_of_resources(path, error.errno)
    return None


def connect(
    path: Path, *, create: bool = False, synchronous: Synchronous = "FULL", wait_s: float = _BUSY_S
) -> Connection:
    """Open a database to read and write; a new file is readable by its owner only."""
    if create:
        _make_private(path)
    db = _open(path, "rwc" if create else "rw", wait_s)
    return _prepared(db, f"PRAGMA synchronous = {synchronous}")


def connect_reader(path: Path, *, wait_s: float = _BUSY_S) -> Connection:
    """Open a database to read, also where nobody can write to its folder.

    There SQLite cannot make the log's shared memory; a database whose log is empty needs none. Elsewhere the
    connection could write: the last one to close removes the log's files, which a read-only one leaves.

    A full disk has no room for the shared memory either. Then one process at a time keeps it to itself, and
    others wait: whoever gets such a connection (`keeps_others_out`) closes it as soon as it has read.
    """
    try:
        return _prepared(_open(path, "rw", wait_s), "PRAGMA user_version")
    except sqlite3.OperationalError as error:
        code = error.sqlite_errorcode
        if code & 0xFF in _REFUSED and is_immutable(path):
            return _open(path, "ro&immutable=1", wait_s)
        if not _is_full(code) or os.name != "posix":
            raise
    db = _open(path, "rw&vfs=unix-excl", wait_s)
    db.keeps_others_out = True
    return _prepared(db, "PRAGMA user_version")


def keeps_others_out(db: Connection) -> bool:
    """Return whether no other process can use the database until this connection is closed."""
    return isinstance(db, _Connection) and db.keeps_others_out


def is_immutable(path: Path) -> bool:
    """Return whether nobody can write to a database's folder from here, and all of it is in its one file."""
    log = path.with_name(path.name + "-wal")
    return not os.access(path.parent, os.W_OK) and (not log.exists() or log.stat().st_size == 0)


def connect_logged(path: Path, *, synchronous: Synchronous = "FULL", wait_s: float = _BUSY_S) -> Connection:
    """Open a database to read and write, made if need be, in the journal mode that works where it is."""
    remote = remote_kind(path.parent)
    db = connect(path, create=True, synchronous=synchronous, wait_s=wait_s)
    try:
        if version_of(db) == 0 and not remote:
            _enter_log(db)
        works = _can_write(db)
    except BaseException:
        db.close()
        raise
    if uses_log(db) and (remote or not works):
        db.close()
        _leave_log(path)
        db = connect(path, synchronous=synchronous, wait_s=wait_s)
    if not uses_log(db):
        # Else a large transaction would lock readers out from its middle on, not just while it commits.
        db.execute("PRAGMA cache_spill = OFF")
    return db


def _enter_log(db: Connection) -> None:
    try:
        db.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _BUSY:
            raise  # else another process makes the same file: SQLite does not wait for its switch


def connect_in_memory() -> Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


class _Connection(sqlite3.Connection):
    keeps_others_out = False


def _open(path: Path, mode: str, wait_s: float) -> _Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=wait_s,
        factory=_Connection,
    )


def _make_private(path: Path) -> None:
    """Make the file of a new database; SQLite gives its mode to the files beside it."""
    with contextlib.suppress(OSError):  # SQLite's own attempt says what is wrong
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE))


def _prepared(db: Connection, *statements: str) -> Connection:
    try:
        for statement in statements:
            db.execute(statement)
    except BaseException:
        db.close()
        raise
    return db


def version_of(db: Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: Connection, steps: Mapping[int, str]) -> None:
    """Bring an older database, or an empty one, to the newest format in one transaction."""
    newest = max(steps) + 1
    if version_of(db) >= newest:
        return
    with transaction(db):
        for version in range(version_of(db), newest):
            for statement in steps[version].split(";\n"):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {newest}")


@contextlib.contextmanager
def transaction(db: Connection) -> Iterator[Connection]:
    """Write all of a block or, on an error, nothing of it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back by itself
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def shrink_log(db: Connection) -> None:
    """Bring all of the write-ahead log into the database, unless a reader still needs it."""
    with contextlib.suppress(sqlite3.Error):
        db.execute(f"PRAGMA busy_timeout = {_READERS_MS}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def uses_log(db: Connection) -> bool:
    return str(db.execute("PRAGMA journal_mode").fetchone()[0]) == "wal"


def remove_database(path: Path) -> None:
    for ending in FILE_ENDINGS:
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _can_write(db: Connection) -> bool:
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in _WITHOUT_SHARED_MEMORY:
            return False
        raise
    return True


def _leave_log(path: Path) -> None:
    """Give up the write-ahead log; the only user of a database needs no shared memory to read it in."""
    with contextlib.closing(_open(path, "rw", _ALONE_S)) as db:
        try:
            # The first statement: any other would look for the shared memory.
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            _log.info("%s is being read, and keeps its write-ahead log for now", path.name)
