"""An index moved to another store, with its vectors as they are: no file is read, no model opened."""

from __future__ import annotations

import shutil

from findspot.core.config import set_value
from findspot.core.configfiles import INDEX_FILE
from findspot.core.errors import IndexNotFoundError, InvalidArgumentError
from findspot.core.settings import StoreSettings
from findspot.core.sqlite import remove_database
from findspot.store.choice import named_store
from findspot.store.index import IndexStore
from findspot.store.lance.store import CACHE, FINGERPRINTS, LanceStore
from findspot.store.protocol import Store

_MOVING = "moving.sqlite"


def convert(source: Store, wanted: StoreSettings, project_path: str) -> Store:
    """Move an index to another store of the same folder, which is returned.

    Until all of it is there, and the index's configuration says so, the source is what is read.
    """
    target = named_store(wanted, source.folder, project_path)
    if isinstance(target, LanceStore) and target.remote and target.published:
        raise InvalidArgumentError(
            f"There is an index at {wanted.kind} already.",
            hint=f"Run `findspot store use {wanted.kind}` to search that one.",
        )
    fill(source, target)
    set_value(source.folder / INDEX_FILE, "store", wanted.kind)
    let_go(source, target)
    return target


def attach(own: Store, wanted: StoreSettings, project_path: str) -> Store:
    """Have a project search an index that others keep elsewhere; what is in its folder stays, unused."""
    target = named_store(wanted, own.folder, project_path)
    if not (isinstance(target, LanceStore) and target.remote):
        raise InvalidArgumentError(f"'{wanted.kind}' is not an address such as s3://bucket/prefix.")
    if not target.published:
        raise IndexNotFoundError(project_path, wanted.kind)
    set_value(own.folder / INDEX_FILE, "store", wanted.kind)
    return target


def fill(source: Store, target: Store) -> None:
    """Bring to the target what the source holds."""
    if not source.exists:
        raise IndexNotFoundError(str(source.folder), str(source.folder))
    path = source.folder / _MOVING
    try:
        source.copy_to(path)
        target.take(path)
    finally:
        remove_database(path)


def let_go(source: Store, target: Store) -> None:
    """Remove what is left of an index that was moved; tables of an object store are others' as well."""
    if not source.remote:
        shutil.rmtree(source.set_aside(), ignore_errors=True)
    source.close()
    if isinstance(target, IndexStore):
        shutil.rmtree(target.folder / CACHE, ignore_errors=True)
        for name in FINGERPRINTS.values():
            (target.folder / name).unlink(missing_ok=True)
