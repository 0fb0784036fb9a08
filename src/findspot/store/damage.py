"""Damage of a database: how it is confirmed, and the mark that outlives the process that found it.

The mark makes the next run, of whatever process, set the index aside and rebuild it: an update of a few
files might never meet the damaged page.
"""

from __future__ import annotations

import contextlib
import zlib
from pathlib import Path

from findspot.core.errors import FindspotError, IndexCorruptError
from findspot.core.facts import unpack
from findspot.core.files import read_json, write_json
from findspot.core.sqlite import Connection, translated
from findspot.store import database as rows
from findspot.store.schema import ORDINAL_BITS

MARK = "damaged.json"

UNEXPECTED = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, zlib.error)
"""What reading damaged rows may end in; or a mistake of ours, so it is confirmed first."""

_FALSE_ALARMS = ("NULL value in ", "non-")
"""What SQLite 3.40 says of columns in tables without rowids whose key is in another order."""

_TABLES = ("meta", "files", "chunks", "symbols", "skips", "facts", "names")

_MISCOUNTED = (
    "SELECT path FROM files WHERE chunks <> (SELECT COUNT(*) FROM chunks "
    f"WHERE chunks.id >= files.id << {ORDINAL_BITS} AND chunks.id < (files.id + 1) << {ORDINAL_BITS})"
)


def mark_damaged(folder: Path, error: IndexCorruptError) -> None:
    """Note that the index of a folder is damaged, where the folder can be written to."""
    with contextlib.suppress(FindspotError, OSError):
        write_json(folder / MARK, {"detail": error.detail})


def check_mark(folder: Path) -> None:
    """Raise the error of an index that was found to be damaged."""
    if not (folder / MARK).exists():
        return
    try:
        detail = str(read_json(folder / MARK)["detail"])
    except (OSError, ValueError, KeyError, TypeError):
        detail = "found to be damaged"
    raise IndexCorruptError(detail)


def find_problem(database: Path) -> str | None:
    """Read all of a database, and say what is wrong with it; None when nothing is."""
    try:
        with translated(database), contextlib.closing(rows.connect_reader(database)) as db:
            return _problem(db)
    except IndexCorruptError as error:
        return error.detail
    except UNEXPECTED as error:
        return type(error).__name__


def _problem(db: Connection) -> str | None:
    for (said,) in db.execute("PRAGMA integrity_check"):
        if said != "ok" and not said.startswith(_FALSE_ALARMS):
            return str(said)
    for table in _TABLES:
        for _ in db.execute(f"SELECT * FROM {table}"):
            continue
    if db.execute(_MISCOUNTED).fetchone():
        return "chunks of a file are missing"
    for (data,) in db.execute("SELECT data FROM facts"):
        unpack(data)
    return None
