"""What ranking has to know about files, whatever is asked: their roles, and the words of their names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from findspot.rank import signals
from findspot.rank.roles import Role, is_data, role_of
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import parts

_FILES_OF_A_FOLDER = ("index", "mod", "init")
"""`extract/mod.rs` is what `extract` is about; Python's `__init__` as a rule only hands names on."""


class Traits(NamedTuple):
    """What ranking has to know about a file, whatever is asked."""

    path: str
    role: Role
    name: tuple[str, ...]
    """The words of its name."""
    folder: tuple[str, ...]
    """Those of the folder it is in."""
    beginnings: frozenset[str]
    """How all these begin."""


def traits_of(snapshot: Snapshot, ids: Iterable[int]) -> list[Traits]:
    """Return the traits of files, given by their numbers."""
    files = snapshot.files.by_id
    return [file_traits(files[number].path, files[number].language) for number in ids]


@lru_cache(maxsize=50_000)
def file_traits(path: str, language: str) -> Traits:
    *folders, last = path.split("/")
    last = stem_of(last)
    if last in _FILES_OF_A_FOLDER and folders:
        last = folders.pop()
    name, folder = tuple(dict.fromkeys(parts(last))), tuple(parts(folders[-1] if folders else ""))
    role = role_of(path, is_data(language))
    return Traits(path, role, name, folder, signals.beginnings((*name, *folder)))


def stem_of(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name
