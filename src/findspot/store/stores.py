"""Which store keeps an index, and how an index moves from one store to another."""

from __future__ import annotations

import shutil
from pathlib import Path

from findspot.core.errors import IndexNotFoundError, InvalidArgumentError
from findspot.core.settings import StoreSettings
from findspot.core.sqlite import remove_database
from findspot.store.database import FILE_NAME
from findspot.store.lance.lance_format import CODE_DATABASE
from findspot.store.lance.lance_store import CACHE, FINGERPRINTS, LanceStore
from findspot.store.sqlite_store import SqliteStore
from findspot.store.store_protocol import Store

_MOVING = "moving.sqlite"


def open_store(folder: Path, project_path: str, settings: StoreSettings) -> Store:
    """Return the store of an index on this machine, with nothing opened yet.

    A project that reads a published index keeps its own in the default store.
    """
    kind = SqliteStore.kind if settings.address else settings.kind
    return store_of_kind(stored_kind(folder) or kind, folder, project_path)


def store_of_kind(kind: str, folder: Path, project_path: str) -> Store:
    """Return the store of that name, in a folder of this machine."""
    return LanceStore(folder, project_path) if kind == LanceStore.kind else SqliteStore(folder, project_path)


def local_store(folder: Path) -> Store:
    """Return the store that a folder holds, whatever project it is of."""
    return store_of_kind(stored_kind(folder) or SqliteStore.kind, folder, "")


def stored_kind(folder: Path) -> str | None:
    """Return the kind of the index in a folder; until its conversion is complete, the kind it was."""
    if (folder / FILE_NAME).is_file():
        return SqliteStore.kind
    return LanceStore.kind if (folder / CODE_DATABASE).is_dir() else None


def holds_index(folder: Path) -> bool:
    """Return whether a folder has an index, or the copy of a published one."""
    return stored_kind(folder) is not None or (folder / CACHE / FILE_NAME).is_file()


def check_kind(store: Store, given: object) -> None:
    """Refuse a store named for one run where the index is in another: naming it does not move the index."""
    if given not in (None, store.kind) and "://" not in str(given):
        raise InvalidArgumentError(
            f"This index is kept in the store '{store.kind}'.",
            hint=f"Run `findspot store convert --to {given}` to move it.",
        )


def convert(source: Store, kind: str, project_path: str) -> Store:
    """Move an index to another store of the same folder, which is returned.

    Until all of it is there, the source is what is read.
    """
    if "://" in kind:
        raise InvalidArgumentError(
            "An index is not moved to an address: it is published there.",
            hint=f"Run `findspot publish {kind}`.",
        )
    if source.kind == kind:
        raise InvalidArgumentError(f"This index is kept in the store '{kind}' already.")
    target = store_of_kind(kind, source.folder, project_path)
    fill(source, target)
    remove_moved(source, target)
    return target


def fill(source: Store, target: Store) -> None:
    """Bring to the target what the source holds."""
    if not source.exists:
        raise IndexNotFoundError(str(source.folder), str(source.folder))
    path = source.folder / _MOVING
    try:
        source.maintenance.copy_to(path)
        target.maintenance.take(path)
    finally:
        remove_database(path)


def remove_moved(source: Store, target: Store) -> None:
    """Remove what is left of an index that was moved."""
    shutil.rmtree(source.maintenance.set_aside(), ignore_errors=True)
    source.close()
    if isinstance(target, SqliteStore):
        shutil.rmtree(target.folder / CACHE, ignore_errors=True)
        for name in FINGERPRINTS.values():
            (target.folder / name).unlink(missing_ok=True)
