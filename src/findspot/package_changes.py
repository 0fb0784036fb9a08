"""What changed in the public names of a package between two versions, and where a project uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from findspot.core.model import Mode, Query
from findspot.dependencies.package_modules import public_names

if TYPE_CHECKING:
    from findspot.package_indexes import PackageIndexes
    from findspot.search.reader import IndexReader

ADDED, REMOVED, CHANGED, MOVED = "added", "removed", "changed", "moved"

_MOST_LOOKED_UP = 200
"""Changed names that are looked up in the project."""
_MOST_USES = 5

_LAYOUT = re.compile(r"\s+|,(?=\s*[)\]}>])")
"""Spaces, and commas after the last of several things."""


@dataclass(frozen=True, slots=True)
class NameChange:
    """One public name that is not as it was."""

    kind: str
    name: str
    before: str
    """The signature in the older version; nothing for a new name."""
    after: str
    uses: tuple[str, ...] = ()
    """Places in the project that name it: `path:line`."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as `findspot deps diff --json` prints it."""
        values = {"change": self.kind, "name": self.name, "before": self.before, "after": self.after}
        return {key: value for key, value in values.items() if value} | {"uses": list(self.uses)}


def compare_versions(packages: PackageIndexes, name: str, old: str, new: str) -> list[NameChange]:
    """Return the changes of public names from one version to another, both on this machine."""
    with packages.version(name, old) as before:
        names_before = public_names(before)
    with packages.version(name, new) as after:
        names_after = public_names(after)
    return list(_changes(names_before, names_after))


def _changes(before: dict[str, str], after: dict[str, str]) -> Iterator[NameChange]:
    appeared = {name: text for name, text in after.items() if name not in before}
    by_end: dict[tuple[str, str], str] = {(_end(name), text): name for name, text in appeared.items()}
    for name, text in before.items():
        if name in after:
            if _compared(after[name]) != _compared(text):
                yield NameChange(CHANGED, name, text, after[name])
        elif (target := by_end.get((_end(name), text))) is not None:
            appeared.pop(target, None)
            yield NameChange(MOVED, name, text, target)
        else:
            yield NameChange(REMOVED, name, text, "")
    yield from (NameChange(ADDED, name, "", text) for name, text in appeared.items())


def _compared(text: str) -> str:
    """Return a signature without what only its layout makes different."""
    return _LAYOUT.sub("", text)


def _end(name: str) -> str:
    """Return a name without the module that it is in."""
    return name.rpartition(":")[2]


def with_uses(changes: list[NameChange], reader: IndexReader) -> list[NameChange]:
    """Return changes with the places of a project that name what is gone or different."""
    found = []
    for number, change in enumerate(changes):
        bare = _end(change.name).rpartition(".")[2]
        if change.kind == ADDED or number >= _MOST_LOOKED_UP or not bare.isidentifier():
            found.append(change)
            continue
        query = Query(rf"\b{re.escape(bare)}\b", mode=Mode.REGEX, limit=_MOST_USES)
        uses = tuple(f"{hit.path}:{hit.focus or hit.span.start}" for hit in reader.search(query).hits)
        found.append(NameChange(change.kind, change.name, change.before, change.after, uses))
    return found
