"""What ranking has to know about files, whatever is asked: their roles, and the words of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from findspot.rank import signals
from findspot.rank.roles import HEADERS, Role, is_data, role_of
from findspot.store.records import StoredFile
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import parts

_FILES_OF_A_FOLDER = ("index", "mod", "init")
"""`extract/mod.rs` is what `extract` is about; Python's `__init__` as a rule only hands names on."""


class Traits(NamedTuple):
    """What ranking has to know about a file, whatever is asked."""

    role: Role
    name: tuple[str, ...]
    """The words of its name."""
    folder: tuple[str, ...]
    """Those of the folder it is in."""
    beginnings: frozenset[str]
    """How all these begin."""


ROLES = (*Role, Role.SOURCE, Role.SOURCE)
"""What the numbers of roles mean: two of source code say more."""

_UNKNOWN, HEADER = len(Role), len(Role) + 1
"""A role that is not known yet, and that of a header, which may only declare what another file defines."""


def mark_of(beginnings: Iterable[str]) -> np.uint64:
    """Return bits of which two have one in common where two sets of beginnings do."""
    bits = 0
    for beginning in beginnings:
        bits |= 1 << (hash(beginning) & 63)
    return np.uint64(bits)


class TraitsOfFiles(NamedTuple):
    """The traits of several files."""

    roles: NDArray[np.uint8]
    marks: NDArray[np.uint64]
    about: Callable[[int], Traits]
    """Returns all traits of a file, by its number."""


class KnownTraits:
    """The traits of file revisions; each is worked out when it is first asked for."""

    def __init__(self) -> None:
        self._traits: dict[int, Traits] = {}
        self._forget()

    def _forget(self) -> None:
        self._traits.clear()
        self._columns = np.empty(0, np.uint8), np.empty(0, np.uint64)
        """Roles and marks by the number of a file."""

    def of(self, snapshot: Snapshot, ids: NDArray[np.int64]) -> TraitsOfFiles:
        """Return the traits of files, by their numbers.

        Several threads may ask at the same time: what one does not see yet, it works out again.
        """
        about = partial(self._about, snapshot)
        known_roles, known_marks = self._with_room(int(ids.max(initial=0)) + 1)
        roles, marks = known_roles[ids], known_marks[ids]
        for home in np.flatnonzero(roles == _UNKNOWN).tolist():
            number = int(ids[home])
            traits = about(number)
            is_header = traits.role is Role.SOURCE and snapshot.files.path_of[number].endswith(HEADERS)
            marks[home] = known_marks[number] = mark_of(traits.beginnings)
            # The role comes last: whoever sees it sees the mark as well.
            roles[home] = known_roles[number] = HEADER if is_header else ROLES.index(traits.role)
        return TraitsOfFiles(roles, marks, about)

    def _with_room(self, size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        roles, marks = self._columns
        if roles.size < size:
            more = size + size // 4 - roles.size
            roles = np.append(roles, np.full(more, _UNKNOWN, np.uint8))
            marks = np.append(marks, np.zeros(more, np.uint64))
            self._columns = roles, marks
        return roles, marks

    def _about(self, snapshot: Snapshot, number: int) -> Traits:
        traits = self._traits.get(number)
        if traits is None:
            if len(self._traits) > 2 * len(snapshot.files.files):  # most are of revisions that are gone
                self._forget()
            traits = self._traits[number] = _traits(snapshot.files.by_id[number])
        return traits


def traits_of(snapshot: Snapshot, ids: NDArray[np.int64]) -> TraitsOfFiles:
    """Return the traits of files, which an index keeps."""
    return snapshot.memo(KnownTraits, lasting=True).of(snapshot, ids)


def _traits(file: StoredFile) -> Traits:
    *folders, last = file.path.split("/")
    last = stem_of(last)
    if last in _FILES_OF_A_FOLDER and folders:
        last = folders.pop()
    name, folder = tuple(dict.fromkeys(parts(last))), tuple(parts(folders[-1] if folders else ""))
    role = role_of(file.path, is_data(file.language))
    return Traits(role, name, folder, signals.beginnings((*name, *folder)))


def stem_of(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name
