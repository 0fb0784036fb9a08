"""The folders in which indexes are kept: which project each belongs to, and which belong to none."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from findspot.core.config import SERVED, load_settings
from findspot.core.errors import FindspotError, IndexBusyError
from findspot.core.files import State, folder_bytes, read_json, state_of
from findspot.core.paths import home_folder, index_folder, is_folder
from findspot.core.settings import Settings
from findspot.discover.checkouts import folders_around, remote_address, repository_address
from findspot.store.sqlite_store import SqliteStore
from findspot.store.store_protocol import Store
from findspot.store.stores import holds_index, reads_published

_REPOSITORIES_S = 10.0
"""How long the addresses of repositories are used before configurations are read again."""


def list_indexes(home: Path) -> list[tuple[Path, Path | None]]:
    """Return each index folder with the project that it says it is of."""
    indexes = home / "indexes"
    served: list[tuple[Path, Path | None]] = [(folder, root) for folder, (root, _) in SERVED.items()]
    folders = sorted(indexes.iterdir()) if indexes.is_dir() else ()
    return served + [(folder, _project_of(folder)) for folder in folders if folder.is_dir()]


def known_repositories(home: Path) -> Mapping[Path, str]:
    """Return the address of each indexed project's repository; a changed remote counts after some seconds."""
    changed = state_of(home / "indexes")
    return _repositories(home, changed, time.monotonic() // _REPOSITORIES_S) if changed else {}


@lru_cache(maxsize=1)
def _repositories(home: Path, _changed: State, _when: float) -> Mapping[Path, str]:
    indexed = ((root, folder) for folder, root in list_indexes(home) if root and is_folder(root))
    found = ((root, repository_of(root, load_settings(root, folder))) for root, folder in indexed)
    return {root: address for root, address in found if address}


def repository_of(root: Path, settings: Settings) -> str | None:
    """Return the address of a project's repository: the configured one, else that of its remote."""
    named = settings.serve.repository
    return repository_address(named) if named else remote_address(root)


class Orphan(NamedTuple):
    """An index whose project is gone."""

    folder: Path
    project: Path | None
    """None where nothing says which one it was."""
    size: int

    @property
    def name(self) -> str:
        """What it was the index of, else where it lies."""
        return str(self.project or self.folder)


def find_orphans(home: Path) -> list[Orphan]:
    """Return the indexes whose project is gone or unknown; busy ones are left out."""
    return [
        Orphan(folder, root, folder_bytes(folder))
        for folder, root in list_indexes(home)
        if (root is None or not is_folder(root)) and not _store_in(folder).being_written
    ]


def delete_orphans(home: Path) -> list[Orphan]:
    removed = []
    for orphan in find_orphans(home):
        with contextlib.suppress(IndexBusyError):  # someone has begun to write this moment
            _store_in(orphan.folder).delete()
            removed.append(orphan)
    return removed


def covering_root(folder: Path, wanted: Callable[[Path], bool] = lambda _: True) -> Path | None:
    """Return the root of the nearest wanted index that covers a folder; a checkout is no part of what is
    around it.
    """
    home = home_folder()
    around = filter(wanted, folders_around(folder))
    folders = ((root, index_folder(home, root)) for root in around)
    return next((root for root, index in folders if holds_index(index) or reads_published(index)), None)


def _store_in(folder: Path) -> Store:
    return SqliteStore(folder, "")


def _project_of(folder: Path) -> Path | None:
    try:
        root = Path(read_json(folder / "metadata.json")["projectPath"])
    except (OSError, ValueError, KeyError, TypeError):
        return _project_in_database(folder)
    if index_folder(folder.parent.parent, root).name != folder.name:  # damaged: an index is named by its path
        return _project_in_database(folder)
    return root


def _project_in_database(folder: Path) -> Path | None:
    try:
        with contextlib.closing(_store_in(folder)) as store, store.snapshot() as snapshot:
            return Path(snapshot.meta()["project_path"])
    except (FindspotError, KeyError):
        return None
