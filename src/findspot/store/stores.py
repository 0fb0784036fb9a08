"""What an index folder holds: an index, settings that name a published one, or what older versions left."""

from __future__ import annotations

from pathlib import Path

from findspot.core.config import INDEX_FILE, SERVED
from findspot.core.files import read_json, remove_entry
from findspot.core.log import get_logger
from findspot.store.database import FILE_NAME
from findspot.store.lance.lance_format import CODE_DATABASE, DOCS_DATABASE

_log = get_logger("store")

_OLD_STORE = (CODE_DATABASE, DOCS_DATABASE, "cache", "fingerprints.json", "docs-fingerprints.json")
"""What up to 0.2.0 was the store `lancedb` of a project, or the copy of a published index."""
_OLD_PARTS = ("keywords", "checksums.json", "compared.json", "second.sqlite", "second.lock")
"""What up to 0.2.0 lay beside the database."""


def holds_index(folder: Path) -> bool:
    return (folder / FILE_NAME).is_file()


def reads_published(folder: Path) -> bool:
    """Return whether the settings of an index folder name a published index to read."""
    try:
        return folder in SERVED or str(read_json(folder / INDEX_FILE).get("store") or "default") != "default"
    except (OSError, ValueError, AttributeError):
        return False


def drop_old_store(folder: Path) -> bool:
    """Remove what older versions kept here beside an index; return whether that was a store in LanceDB."""
    was_stored = any((folder / name).exists() for name in _OLD_STORE)
    for name in (*_OLD_STORE, *_OLD_PARTS):
        remove_entry(folder / name)
    if was_stored:
        _log.info("removed the LanceDB store of an older version from %s", folder)
    return was_stored
