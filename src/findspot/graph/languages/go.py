"""Go: a package is a folder, a type conforms to an interface by having its methods."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from findspot.core.facts import ImportFact
from findspot.graph.languages.language import Language, ModuleFinder

if TYPE_CHECKING:
    from findspot.graph.sources import SourceView


class GoModules(ModuleFinder):
    """Finds the folder that the path of a package ends in."""

    def folder(self, view: SourceView, fact: ImportFact) -> str | None:
        parts = fact.module.split("/")
        for start in range(len(parts)):
            below = "/".join(parts[start:])
            if below in self._folders:
                return below
        return "" if "" in self._folders and parts[-1] == self._module_name else None

    @property
    def _folders(self) -> set[str]:
        return self.sources.once("go_folders", self._find_folders)

    def _find_folders(self) -> set[str]:
        return {posixpath.dirname(path) for path in self.paths if path.endswith(".go")}

    @property
    def _module_name(self) -> str:
        return self.sources.once("go_module_name", self._find_module_name)

    def _find_module_name(self) -> str:
        """Return the last part of the module's own path: what imports of the root folder end in."""
        text = self.sources.text("go.mod") if "go.mod" in self.paths else ""
        return text.partition("module ")[2].split("\n")[0].strip().rpartition("/")[2]


class Go(Language):
    """Go."""

    family = "go"
    partial = False
    finder = GoModules
    shares = "folder"
    satellites = True
    imports_whole_packages = True
    folders_are_packages = True
    structural_interfaces = True
