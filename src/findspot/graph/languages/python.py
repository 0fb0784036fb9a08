"""Python: modules by dotted path from any root, packages with and without `__init__`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from findspot.core.facts import WHOLE, ImportFact
from findspot.graph.languages.language import Language, ModuleFinder, lasting
from findspot.graph.project_paths import grouped

_SOURCES = ("/src", "/lib")
"""Folders of packages, with `__init__` or without."""
_ENDS = (".py", "/__init__.py", ".pyi", "/__init__.pyi")


class PythonModules(ModuleFinder):
    """Finds Python modules: relative ones by path, others from the roots around the importing file."""

    def files(self, path: str, module: str) -> Iterator[str]:
        if module.startswith("/"):
            stem = module[1:]
            yield from self.first(stem, _ENDS) if stem else self.first("__init__", (".py",))
            return
        found = self._nearest(module.replace(".", "/"), self._stems, posixpath.dirname(path))
        yield from self.first(found, _ENDS) if found is not None else ()

    def folder(self, path: str, fact: ImportFact) -> str | None:
        module = fact.module if fact.original == WHOLE else f"{fact.module}.{fact.original}"
        below = module.replace(".", "/")
        if module.startswith("/"):
            return below[1:] if below[1:] in self._folders else None
        return self._nearest(below, self._folders_by_name, posixpath.dirname(path))

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

    def _nearest(self, below: str, by_name: dict[str, list[str]], folder: str) -> str | None:
        """Return the path that ends as a module is called: from a root around a folder, or the first root."""
        kind = "modules" if by_name is self._stems else "folders"
        by_root = self._below.get((kind, below))
        if by_root is None:
            by_root = self._below[kind, below] = _by_root(below, by_name)
        while by_root:
            if folder in by_root and folder not in self._packages:
                return by_root[folder]
            if not folder:
                break
            folder = posixpath.dirname(folder)
        ranked = [(self._roots[root], path) for root, path in by_root.items() if root in self._roots]
        ranked = ranked or [(0, path) for root, path in by_root.items() if f"/{root}".endswith(_SOURCES)]
        return min(ranked)[1] if ranked else None

    @lasting
    def _below(self) -> dict[tuple[str, str], dict[str, str]]:
        """Return what `_nearest` has found so far."""
        return {}

    @lasting
    def _stems(self) -> dict[str, list[str]]:
        """Return the paths of modules without their endings, by the last part."""
        ended = (path for path in self.paths if path.endswith((".py", ".pyi")))
        stems = (path.rpartition(".")[0].removesuffix("/__init__") for path in ended)
        return grouped(stems, posixpath.basename)

    @lasting
    def _folders_by_name(self) -> dict[str, list[str]]:
        return grouped(self._folders, posixpath.basename)

    @lasting
    def _packages(self) -> set[str]:
        inits = ("/__init__.py", "/__init__.pyi")
        paths = (*self.paths, *self.project.empty)
        return {path.rpartition("/")[0] for path in paths if path.endswith(inits)}

    @lasting
    def _roots(self) -> dict[str, int]:
        """Return the folders that hold a package or module that is in no package, and their order."""
        roots = set()
        for start in {path.rpartition("/")[0] for path in self.paths if path.endswith((".py", ".pyi"))}:
            folder = start
            while folder in self._packages and folder:
                folder = folder.rpartition("/")[0]
            roots.add(folder)
        ordered = sorted(roots, key=lambda root: (root.count("/"), root))
        return {root: rank for rank, root in enumerate(ordered)}

    @lasting
    def _folders(self) -> set[str]:
        folders = set()
        for start in {path.rpartition("/")[0] for path in self.paths}:
            folder = start
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return folders


def _by_root(below: str, by_name: dict[str, list[str]]) -> dict[str, str]:
    """Return the paths that end as a module is called, by what stands before."""
    paths, end = by_name.get(below.rpartition("/")[2], ()), f"/{below}"
    return {path[: -len(below)].rstrip("/"): path for path in paths if path == below or path.endswith(end)}


class Python(Language):
    """Python, with pytest's fixtures."""

    family = "python"
    finder = PythonModules
    constructors = frozenset({"__init__", "__new__"})
    class_scope = True
    mixins = True
    last_definition_wins = True
    super_is_callable = False
    fixtures = True
