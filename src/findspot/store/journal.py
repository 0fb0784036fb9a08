"""The note that an index has no write-ahead log, for the status and the log."""

from __future__ import annotations

from findspot.core import sqlite
from findspot.core.log import get_logger
from findspot.store import database as rows

_log = get_logger("store")

NOTE = "journal"
"""The row of `meta` that says why there is no write-ahead log."""


def note_journal(db: sqlite.Connection) -> None:
    """Write down, once, that there is no log."""
    if not sqlite.uses_log(db) and NOTE not in rows.read_meta(db):
        said = "The file system of the index has no shared memory: searches wait while files are stored."
        _log.warning("%s", said)
        rows.write_meta(db, {NOTE: said})
