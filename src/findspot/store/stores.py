"""What an index folder holds: an index, settings that name a published one, or what older versions left."""

from __future__ import annotations

import shutil
from pathlib import Path

from findspot.core.config import INDEX_FILE, SERVED
from findspot.core.files import read_json
from findspot.core.log import get_logger
from findspot.store.database import FILE_NAME
from findspot.store.lance.lance_format import CODE_DATABASE, DOCS_DATABASE

_log = get_logger("store")

_OLD_STORE = (CODE_DATABASE, DOCS_DATABASE, "cache", "fingerprints.json", "docs-fingerprints.json")
"""What up to 0.2.0 was the store `lancedb` of a project, or the copy of a published index."""


def holds_index(folder: Path) -> bool:
    """Return whether a folder has an index."""
    return (folder / FILE_NAME).is_file()


def reads_published(folder: Path) -> bool:
    """Return whether the settings of an index folder name a published index to read."""
    try:
        return folder in SERVED or str(read_json(folder / INDEX_FILE).get("store") or "default") != "default"
    except (OSError, ValueError, AttributeError):
        return False


def drop_old_store(folder: Path) -> bool:
    """Remove what an older version kept in LanceDB here; return whether there was anything."""
    found = [folder / name for name in _OLD_STORE if (folder / name).exists()]
    for path in found:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    if found:
        _log.info("removed the LanceDB store of an older version from %s", folder)
    return bool(found)
