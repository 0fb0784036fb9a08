"""Loaded chunk files that are kept for the next start, as long as the files are the same."""

from __future__ import annotations

import contextlib
import json
import time
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from findspot.chunkfiles.collection import Collection
from findspot.chunkfiles.facets import Facets
from findspot.chunkfiles.loading import Signature
from findspot.chunkfiles.reading import FileHead
from findspot.chunkfiles.spool import NEW, Spool
from findspot.core.files import remove_folder
from findspot.core.log import get_logger

_log = get_logger("chunkfiles")

_FORMAT = 1
_NAME_CHARS = 32
_MOST_KEPT = 16
_ABANDONED_S = 86_400
"""A folder that was begun a day ago belongs to a process that died."""


def recall(home: Path, folder: Path, seen: Signature) -> Collection | None:
    """Return what is kept of a folder in this very state; None if there is nothing, or it is damaged."""
    place = _place(home, folder)
    try:
        spool, about, arrays = Spool.opened(place)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        _log.warning("what was kept of the chunk files is damaged and made again: %s", type(error).__name__)
        return None
    if about.get("state") != _state(folder, seen):
        spool.close()
        return None
    head = FileHead(*about["head"])
    facets = Facets.from_arrays(about["facets"], arrays["facets"], about["count"])
    return Collection(spool.segment(), facets, spool, head, tuple(about["skipped"]))


def keep(home: Path, folder: Path, seen: Signature, collection: Collection) -> None:
    """Keep a collection for the next start; where that fails, the next start takes longer."""
    named, rows = collection.facets.as_arrays()
    about: dict[str, Any] = {
        "state": _state(folder, seen),
        "folder": str(folder),
        "head": [collection.head.model, collection.head.dimensions, collection.head.chunk_type],
        "skipped": list(collection.skipped),
        "count": collection.facets.count,
        "facets": named,
    }
    try:
        _prune(home)
        collection.spool.keep(_place(home, folder), about, {"facets": rows})
    except OSError as error:
        _log.warning("loaded chunk files are not kept: %s", error.strerror)


def forget(home: Path, folder: Path) -> None:
    """Remove what is kept of a folder."""
    remove_folder(_place(home, folder))


def _place(home: Path, folder: Path) -> Path:
    return home / sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:_NAME_CHARS]


def _state(folder: Path, seen: Signature) -> str:
    return json.dumps([_FORMAT, str(folder), seen])


def _prune(home: Path) -> None:
    """Remove what nobody will ask for: of folders that are gone, of processes that died, the oldest."""
    kept: list[tuple[float, Path]] = []
    for place in home.iterdir():
        with contextlib.suppress(OSError, ValueError, KeyError):
            written = place.stat().st_mtime
            if place.name.startswith(NEW):
                if time.time() - written > _ABANDONED_S:
                    remove_folder(place)
                continue
            source = Path(json.loads((place / "about.json").read_bytes())["folder"])
            if source.is_dir():
                kept.append((written, place))
            else:
                remove_folder(place)
    for _, place in sorted(kept, reverse=True)[_MOST_KEPT:]:
        remove_folder(place)
