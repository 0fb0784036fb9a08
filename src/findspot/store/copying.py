"""All that an index holds, as one database file: the form in which it goes from store to store."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from findspot.core import sqlite
from findspot.core.files import make_private_dir
from findspot.core.sqlite import remove_database
from findspot.store.damage import CHECKSUMS_NOTE
from findspot.store.database import FILE_NAME, JOURNAL_NOTE, MIGRATIONS, connect, connect_reader
from findspot.store.derived import KEYWORDS, VECTORS, rebuild

_LOCAL = ("segments", JOURNAL_NOTE, CHECKSUMS_NOTE, "origin%")
"""What is written about the files of one machine; `origin…` is what a local copy notes of its source."""


def copy_database(source: Path, target: Path) -> None:
    """A consistent copy without what is derived, and without what deleted rows leave in a file."""
    remove_database(target)
    with (
        sqlite.translated(source),
        contextlib.closing(connect_reader(source)) as db,
        contextlib.closing(sqlite.connect(target, create=True)) as copy,
    ):
        db.backup(copy)
        _drop_local(copy)
        copy.execute("VACUUM")


def prepare_copy(path: Path, folder: Path) -> None:
    """Bring a copy to this format, and make what is derived from it in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    make_private_dir(folder)
    with sqlite.translated(path), contextlib.closing(connect(path)) as db:
        sqlite.migrate(db, MIGRATIONS)
        _drop_local(db)
        rebuild(folder, db)


def _drop_local(db: sqlite.Connection) -> None:
    db.executemany("DELETE FROM meta WHERE key LIKE ?", ((key,) for key in _LOCAL))


def put_in_place(path: Path, prepared: Path, folder: Path) -> None:
    """Make a prepared copy the index of a folder that has none; the database comes last, and makes it one."""
    for part in (KEYWORDS, VECTORS):
        shutil.rmtree(folder / part, ignore_errors=True)
        if (prepared / part).is_dir():
            (prepared / part).rename(folder / part)
    path.rename(folder / FILE_NAME)
