"""Damage of an index: how it is confirmed and marked.

SQLite notices a damaged page when it reads one, and vector segments and word counts carry checksums. What
SQLite reports may also be a mistake in a statement of ours or one failed read: before anything is called
damaged, all of the database is read.

`damaged.json` marks an index that was found to be damaged. It outlives the process that found it and makes
the next run set the index aside and rebuild it: an update of a few files might never meet the damaged page.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from pathlib import Path

from findspot.core import sqlite
from findspot.core.errors import FindspotError, IndexCorruptError, IndexFormatError
from findspot.core.facts import unpack
from findspot.core.files import read_json, write_json
from findspot.core.sqlite import Connection, Error, translated
from findspot.store.database import FILE_NAME, connect_reader
from findspot.store.records import ORDINAL_BITS, DerivedDamagedError

MARK = "damaged.json"

UNEXPECTED = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, zlib.error)
"""What reading damaged rows may end in; or a mistake of ours, so it is confirmed first."""

_FALSE_ALARM = re.compile(r"(?:NULL|non-[A-Z]+) value in ")
"""What SQLite 3.40 says of columns in tables without rowids whose key is in another order."""

_TABLES = "meta files chunks symbols skips facts names edges edge_sources pending"

_MISCOUNTED = (
    "SELECT path FROM files WHERE chunks <> (SELECT COUNT(*) FROM chunks "
    f"WHERE chunks.id >= files.id << {ORDINAL_BITS} AND chunks.id < (files.id + 1) << {ORDINAL_BITS})"
)


def is_marked(folder: Path) -> bool:
    return (folder / MARK).exists() and (folder / FILE_NAME).is_file()


def check_mark(folder: Path) -> None:
    if not is_marked(folder):
        return
    try:
        detail = str(read_json(folder / MARK)["detail"])
    except (OSError, ValueError, KeyError, TypeError):
        detail = "found to be damaged"
    raise IndexCorruptError(detail)


def confirm(folder: Path, error: BaseException) -> IndexCorruptError | None:
    """Mark a damaged database and return its error; None where it is whole, or of another format."""
    if isinstance(error, IndexFormatError) or not (folder / FILE_NAME).is_file():
        return None
    problem = find_problem(folder / FILE_NAME)
    if problem is None:
        return None
    with contextlib.suppress(FindspotError, OSError):  # of a folder that cannot be written to
        write_json(folder / MARK, {"detail": problem})
    return IndexCorruptError(problem)


def confirmed(folder: Path, error: IndexCorruptError) -> FindspotError:
    """Return the error of a database that is damaged for certain, or one that says that it is whole."""
    if isinstance(error, DerivedDamagedError) or is_marked(folder):
        return error
    damage = confirm(folder, error)
    if damage is not None or not isinstance(error.__cause__, Error):
        return damage or error
    return FindspotError(
        f"The index could not be used: {error.detail}. Nothing was changed.",
        f"{error.detail}; the database was read in full, and no damage was found",
        hint="Try again; report it if it happens again.",
    )


def find_problem(database: Path) -> str | None:
    """Read all of a database, and say what is wrong with it; None when nothing is."""
    try:
        with translated(database), contextlib.closing(connect_reader(database)) as db:
            return _problem(db)
    except IndexCorruptError as error:
        return None if sqlite.is_failed_read(error.__cause__) else error.detail
    except UNEXPECTED as error:
        return type(error).__name__


def _problem(db: Connection) -> str | None:
    if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return None  # its first writer has not committed anything yet
    for (said,) in db.execute("PRAGMA integrity_check"):  # a quick one does not compare indexes
        if said != "ok" and not _FALSE_ALARM.match(said):
            return str(said)
    for table in _TABLES.split():
        for _ in db.execute(f"SELECT * FROM {table}"):
            continue
    if db.execute(_MISCOUNTED).fetchone():
        return "chunks of a file are missing"
    for (data,) in db.execute("SELECT data FROM facts"):
        unpack(data)
    return None
