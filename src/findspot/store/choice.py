"""Which store keeps an index: what is on disk decides, and the settings for one still to be made."""

from __future__ import annotations

from pathlib import Path

from findspot.core.errors import InvalidArgumentError
from findspot.core.settings import StoreSettings
from findspot.store import database
from findspot.store.index import IndexStore
from findspot.store.lance.layout import CODE_DATABASE
from findspot.store.lance.store import CACHE, LanceStore
from findspot.store.protocol import Store

PROJECT = "{project}"
"""In a `storeUri`: the name of the project's folder, so that one setting serves several projects."""


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
    return LanceStore(folder, project_path) if kind == LanceStore.kind else IndexStore(folder, project_path)


def local_store(folder: Path) -> Store:
    """Return the store that a folder holds, whatever project it is of; what is elsewhere is left alone."""
    return store_of_kind(stored_kind(folder) or IndexStore.kind, folder, "")


def stored_kind(folder: Path) -> str | None:
    """Return the kind of the index in a folder; an index that was being converted is still of the kind it
    was.
    """
    if (folder / database.FILE_NAME).is_file():
        return IndexStore.kind
    return LanceStore.kind if (folder / CODE_DATABASE).is_dir() else None


def holds_index(folder: Path) -> bool:
    """Return whether a folder has an index, or the local copy of one that is elsewhere."""
    return stored_kind(folder) is not None or (folder / CACHE / database.FILE_NAME).is_file()


def check_kind(store: Store, given: object) -> None:
    """A store named for one run is where a new index goes; an index elsewhere is not moved by that."""
    if given not in (None, store.kind) and "://" not in str(given):
        raise InvalidArgumentError(
            f"This index is kept in the store '{store.kind}'.",
            hint=f"Run `findspot store convert --to {given}` to move it.",
        )
