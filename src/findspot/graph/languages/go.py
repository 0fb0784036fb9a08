"""Go: a package is a folder, a type conforms to an interface by having its methods."""

from __future__ import annotations

import posixpath
import re
from importlib import resources

from findspot.core.facts import ImportFact
from findspot.graph.languages.language import Language, ModuleFinder, lasting

_SYSTEM = re.compile(
    r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|netbsd|openbsd|plan9|solaris|wasip1|windows)"
    r"(?:_\w+)?\.go\Z|_(?:386|arm|mips\w*|ppc64\w*|riscv64|s390x|wasm)(?:_test)?\.go\Z"
)
"""Names of files that only some systems build."""
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)


class GoModules(ModuleFinder):
    """Finds the folder of a package: below the module that `go.mod` names, or by how its path ends."""

    def folder(self, path: str, fact: ImportFact) -> str | None:
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

    @lasting
    def _folders(self) -> dict[str, tuple[str, ...]]:
        """Return the folders that have Go files, each with those that are no tests."""
        found: dict[str, tuple[str, ...]] = {}
        for folder, paths in self.project.by_folder.items():
            if files := sorted(path for path in paths if path.endswith(".go")):
                found[folder] = tuple(path for path in files if not path.endswith("_test.go"))
        return found

    @lasting
    def _modules(self) -> list[tuple[str, str]]:
        """Return the path and folder of each module, longest path first."""
        found = []
        for path in self.paths:
            if posixpath.basename(path) == "go.mod":
                name = _MODULE.search(self.project.text(path))
                if name is not None:
                    found.append((name[1], posixpath.dirname(path)))
        return sorted(found, key=lambda item: (-len(item[0]), item))


def _standard_interfaces() -> dict[str, dict[str, str]]:
    """Return interfaces by name, with parameters and results as `chunk.go_expressions` writes them."""
    text = resources.files(__package__).joinpath("go_interfaces.txt").read_text("utf-8")
    rows = (line.split() for line in text.splitlines())
    return {name: dict(method.split("=", 1) for method in methods) for name, *methods in rows}


STANDARD_INTERFACES = _standard_interfaces()


class Go(Language):
    """Go."""

    family = "go"
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
