"""Go: a package is a folder, a type conforms to an interface by having its methods."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from findspot.core.facts import ImportFact
from findspot.graph.languages.go_library import STANDARD_INTERFACES
from findspot.graph.languages.language import Language, ModuleFinder

if TYPE_CHECKING:
    from findspot.graph.sources import SourceView

_SYSTEM = re.compile(
    r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|netbsd|openbsd|plan9|solaris|wasip1|windows)"
    r"(?:_\w+)?\.go\Z|_(?:386|arm|mips\w*|ppc64\w*|riscv64|s390x|wasm)(?:_test)?\.go\Z"
)
"""Names of files that only some systems build."""
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)


class GoModules(ModuleFinder):
    """Finds the folder of a package: below the module that `go.mod` names, or by how its path ends."""

    def folder(self, view: SourceView, fact: ImportFact) -> str | None:
        for module, folder in self._modules:
            if fact.module == module or fact.module.startswith(f"{module}/"):
                below = posixpath.join(folder, fact.module[len(module) + 1 :]).rstrip("/")
                return below if below in self._folders else None
        return None if self._modules else self._ending(fact.module)

    def _ending(self, module: str) -> str | None:
        """Return the longest folder that a path ends in, of a project without `go.mod`."""
        parts = module.split("/")
        tails = ("/".join(parts[start:]) for start in range(len(parts)))
        return next((tail for tail in tails if tail in self._folders), None)

    def files_in(self, folder: str) -> tuple[str, ...]:
        return self._folders.get(folder, ())

    def imports_called(self, view: SourceView, name: str) -> list[ImportFact]:
        table: dict[int, dict[str, list[ImportFact]]] = self.sources.tables.table("go packages")
        if view.id not in table:
            table[view.id] = {}
            for fact in view.facts.imports:
                folder = self.folder(view, fact)
                for path in self.files_in(folder)[:1] if folder is not None else ():
                    package = self.sources.at(path)
                    if package is not None:
                        table[view.id].setdefault(package.package, []).append(fact)
        return table[view.id].get(name, [])

    @property
    def _folders(self) -> dict[str, tuple[str, ...]]:
        return self.sources.once("go_folders", self._find_folders)

    def _find_folders(self) -> dict[str, tuple[str, ...]]:
        """Return the folders that have Go files, each with those that are no tests."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            if path.endswith(".go"):
                files = found.setdefault(posixpath.dirname(path), [])
                files += [] if path.endswith("_test.go") else [path]
        return {folder: tuple(files) for folder, files in found.items()}

    @property
    def _modules(self) -> list[tuple[str, str]]:
        return self.sources.once("go_modules", self._find_modules)

    def _find_modules(self) -> list[tuple[str, str]]:
        """Return the path and folder of each module, longest path first."""
        found = []
        for path in self.paths:
            if posixpath.basename(path) == "go.mod":
                name = _MODULE.search(self.sources.text(path))
                if name is not None:
                    found.append((name[1], posixpath.dirname(path)))
        return sorted(found, key=lambda item: (-len(item[0]), item))


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
    constructors_have_type_names = False
    common_methods = frozenset(name for methods in STANDARD_INTERFACES.values() for name in methods)

    def is_variant(self, path: str) -> bool:
        return _SYSTEM.search(path) is not None
