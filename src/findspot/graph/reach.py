"""Under which names a definition may be referred to: its own, and those that imports give it."""

from __future__ import annotations

import posixpath

from findspot.core.facts import DEFAULT, WHOLE, module_name
from findspot.graph.modules import Modules
from findspot.graph.sources import Def, Sources

OWN_NAMES = frozenset({"cls", "super", "Self", "static", "self", "parent", "base", "class"})
"""What a type and its subtypes are called by their own code."""

_INDEXES = frozenset({"__init__", "index", "mod", "lib", "main"})
_MAX_RENAMINGS = 3
"""Names after names that are followed; each is another import under another name."""


class Reach:
    """Finds the other names of definitions."""

    def __init__(self, sources: Sources, modules: Modules) -> None:
        self._sources = sources
        self._modules = modules
        self._renamed: dict[str, set[str]] = sources.tables.table("renamed")
        self._names: dict[Def, set[str]] = sources.tables.table("names")

    def names(self, target: Def) -> set[str]:
        """Return the name of a definition, and what files that import it call it."""
        if target not in self._names:
            self._names[target] = self._find_names(target)
        return self._names[target]

    def _find_names(self, target: Def) -> set[str]:
        known = {target.name}
        fresh = {target.name, target.name.removesuffix("Attribute")} | self._as_a_whole(target)
        for _ in range(_MAX_RENAMINGS):
            known |= fresh
            fresh = {other for name in fresh for other in self._renamings(name)} - known
            if not fresh:
                break
        return known

    def _renamings(self, name: str) -> set[str]:
        if name not in self._renamed:
            self._renamed[name] = self._find_renamings(name)
        return self._renamed[name]

    def _find_renamings(self, name: str) -> set[str]:
        found: set[str] = set()
        for view in self._sources.naming(name):
            found |= view.renamed.get(name, set())
        return found - {WHOLE, DEFAULT, ""}

    def _as_a_whole(self, target: Def) -> set[str]:
        """Return what the importers of a module call what it exports as a whole."""
        exported = target.file.bindings.get(DEFAULT, ())
        if not any(value.split(".")[-1] == target.name for _, value in exported):
            return set()
        found = set()
        for stem in module_names(target.file.path):
            for view in self._sources.naming(stem):
                for fact in view.facts.imports:
                    if fact.original in (DEFAULT, WHOLE) and target.file.path in self._modules.resolve(
                        view, fact.module
                    ):
                        found.add(fact.local)
        return found - {WHOLE, ""}


def module_names(path: str) -> set[str]:
    """Return what imports call a file: its stem, or its folder where the stem is that of an index."""
    stem = module_name(f"/{path}").partition(".")[0]
    folder = posixpath.dirname(path).rpartition("/")[2]
    return {stem, folder} - {""} if stem in _INDEXES else {stem}
