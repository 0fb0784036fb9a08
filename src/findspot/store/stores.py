"""Which store keeps an index, and how an index moves from one store to another."""

from __future__ import annotations

import shutil
from pathlib import Path

from findspot.core.config import set_value
from findspot.core.configfiles import INDEX_FILE
from findspot.core.errors import IndexNotFoundError, InvalidArgumentError
from findspot.core.settings import StoreSettings
from findspot.core.sqlite import remove_database
from findspot.store.database import FILE_NAME
from findspot.store.lance.lance_format import CODE_DATABASE
from findspot.store.lance.lance_store import FINGERPRINTS, LanceStore
from findspot.store.lance.local_copy import CACHE
from findspot.store.sqlite_store import SqliteStore
from findspot.store.store_protocol import Store

_MOVING = "moving.sqlite"

PROJECT = "{project}"
"""Replaced in a `storeUri` by the name of the project's folder: one setting then serves several projects."""


def open_store(folder: Path, project_path: str, settings: StoreSettings) -> Store:
    """Return the store of an index, with nothing opened yet."""
    if settings.address:
        return _remote_store(settings.address, folder, project_path)
    return store_of_kind(stored_kind(folder) or settings.kind, folder, project_path)


def named_store(settings: StoreSettings, folder: Path, project_path: str) -> Store:
    """Return the store that an index is to be moved to; one where it already is, is refused."""
    if settings.uri:
        raise InvalidArgumentError(
            "Where this index is kept is set by `storeUri`.", hint="Remove `storeUri` from the configuration."
        )
    if settings.address is None and stored_kind(folder) == settings.kind:
        raise InvalidArgumentError(f"This index is kept in the store '{settings.kind}' already.")
    if settings.address:
        return _remote_store(settings.address, folder, project_path)
    return store_of_kind(settings.kind, folder, project_path)


def _remote_store(address: str, folder: Path, project_path: str) -> LanceStore:
    return LanceStore(folder, project_path, address.replace(PROJECT, Path(project_path).name))


def store_of_kind(kind: str, folder: Path, project_path: str) -> Store:
    """Return the store of that name, in a folder of this machine."""
    return LanceStore(folder, project_path) if kind == LanceStore.kind else SqliteStore(folder, project_path)


def local_store(folder: Path) -> Store:
    """Return the store that a folder holds, whatever project it is of; what is elsewhere is left alone."""
    return store_of_kind(stored_kind(folder) or SqliteStore.kind, folder, "")


def stored_kind(folder: Path) -> str | None:
    """Return the kind of the index in a folder; until its conversion is complete, the kind it was."""
    if (folder / FILE_NAME).is_file():
        return SqliteStore.kind
    return LanceStore.kind if (folder / CODE_DATABASE).is_dir() else None


def holds_index(folder: Path) -> bool:
    """Return whether a folder has an index, or the local copy of one that is elsewhere."""
    return stored_kind(folder) is not None or (folder / CACHE / FILE_NAME).is_file()


def check_kind(store: Store, given: object) -> None:
    """Refuse a store named for one run where the index is in another: naming it does not move the index."""
    if given not in (None, store.kind) and "://" not in str(given):
        raise InvalidArgumentError(
            f"This index is kept in the store '{store.kind}'.",
            hint=f"Run `findspot store convert --to {given}` to move it.",
        )


def convert(source: Store, wanted: StoreSettings, project_path: str) -> Store:
    """Move an index to another store of the same folder, which is returned.

    Until all of it is there, and the index's configuration says so, the source is what is read.
    """
    target = named_store(wanted, source.folder, project_path)
    if isinstance(target, LanceStore) and target.remote and target.tables.exists:
        raise InvalidArgumentError(
            f"There is an index at {wanted.kind} already.",
            hint=f"Run `findspot store use {wanted.kind}` to search that one.",
        )
    fill(source, target)
    set_value(source.folder / INDEX_FILE, "store", wanted.kind)
    remove_moved(source, target)
    return target


def attach(own: Store, wanted: StoreSettings, project_path: str) -> Store:
    """Make a project search an index that is shared elsewhere; its own index stays, unused."""
    target = named_store(wanted, own.folder, project_path)
    if not (isinstance(target, LanceStore) and target.remote):
        raise InvalidArgumentError(f"'{wanted.kind}' is not an address such as s3://bucket/prefix.")
    if not target.tables.exists:
        raise IndexNotFoundError(project_path, wanted.kind)
    set_value(own.folder / INDEX_FILE, "store", wanted.kind)
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
    """Remove what is left of an index that was moved; tables of an object store may be shared."""
    if not source.remote:
        shutil.rmtree(source.maintenance.set_aside(), ignore_errors=True)
    source.close()
    if isinstance(target, SqliteStore):
        shutil.rmtree(target.folder / CACHE, ignore_errors=True)
        for name in FINGERPRINTS.values():
            (target.folder / name).unlink(missing_ok=True)
