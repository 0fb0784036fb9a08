"""Python: modules by dotted path from any root, packages with and without `__init__`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from findspot.core.facts import WHOLE, ImportFact
from findspot.graph.languages.language import Language, ModuleFinder

if TYPE_CHECKING:
    from findspot.graph.sources import SourceView

_ENDS = (".py", "/__init__.py", ".pyi", "/__init__.pyi")


class PythonModules(ModuleFinder):
    """Finds Python modules: relative ones by path, others from the roots around the importing file."""

    def files(self, path: str, module: str) -> Iterator[str]:
        if module.startswith("/"):
            stem = module[1:]
            yield from self.first(stem, _ENDS) if stem else self.first("__init__", (".py",))
            return
        if module.partition(".")[0] not in self._segments:
            return
        below = module.replace(".", "/")
        for root in self._roots_around(posixpath.dirname(path)):
            files = list(self.first(posixpath.join(root, below), _ENDS))
            if files:
                yield from files
                return

    def folder(self, view: SourceView, fact: ImportFact) -> str | None:
        module = fact.module if fact.original == WHOLE else f"{fact.module}.{fact.original}"
        below = module.replace(".", "/")
        if module.startswith("/"):
            return below[1:] if below[1:] in self._folders else None
        if module.partition(".")[0] not in self._segments:
            return None
        folders = (posixpath.join(root, below) for root in self._roots_around(posixpath.dirname(view.path)))
        return next((folder for folder in folders if folder in self._folders), None)

    def inner_module(self, fact: ImportFact) -> str | None:
        mark = "/" if fact.module.startswith("/") else "."
        return f"{fact.module}{mark}{fact.original}"

    def submodule(self, path: str, name: str) -> str | None:
        if path.rpartition("/")[2].partition(".")[0] != "__init__":
            return None
        return next(self.first(posixpath.join(posixpath.dirname(path), name), _ENDS), None)

    def member(self, folder: str, name: str) -> tuple[str | None, str | None]:
        below = posixpath.join(folder, name)
        return next(self.first(below, _ENDS), None), (below if below in self._folders else None)

    def _roots_around(self, folder: str) -> Iterator[str]:
        """Yield where modules may start: roots around the importing file first, then all others."""
        around = [folder]
        while folder:
            folder = posixpath.dirname(folder)
            around.append(folder)
        yield from (outer for outer in around if outer not in self._packages)
        yield from self._roots

    @property
    def _segments(self) -> set[str]:
        """The names of all folders and files: a module that begins with another one is not of the project."""
        return self.sources.once("python_segments", self._find_segments)

    def _find_segments(self) -> set[str]:
        paths = (*self.paths, *self.sources.empty)
        return {segment.partition(".")[0] for path in paths for segment in path.split("/")}

    @property
    def _packages(self) -> set[str]:
        return self.sources.once("python_packages", self._find_packages)

    def _find_packages(self) -> set[str]:
        inits = ("/__init__.py", "/__init__.pyi")
        paths = (*self.paths, *self.sources.empty)
        return {path.rpartition("/")[0] for path in paths if path.endswith(inits)}

    @property
    def _roots(self) -> list[str]:
        return self.sources.once("python_roots", self._find_roots)

    def _find_roots(self) -> list[str]:
        """Return the folders that hold a package or module that is in no package."""
        roots = set()
        for start in {path.rpartition("/")[0] for path in self.paths if path.endswith((".py", ".pyi"))}:
            folder = start
            while folder in self._packages and folder:
                folder = folder.rpartition("/")[0]
            roots.add(folder)
        return sorted(roots, key=lambda root: (root.count("/"), root))

    @property
    def _folders(self) -> set[str]:
        return self.sources.once("python_folders", self._find_folders)

    def _find_folders(self) -> set[str]:
        folders = set()
        for start in {path.rpartition("/")[0] for path in self.paths}:
            folder = start
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return folders


class Python(Language):
    """Python, with pytest's fixtures."""

    family = "python"
    partial = False
    finder = PythonModules
    constructors = frozenset({"__init__", "__new__"})
    class_scope = True
    mixins = True
    last_definition_wins = True
    super_is_callable = False
    fixtures = True
