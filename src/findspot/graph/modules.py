"""From the module that an import names to the files of the project that it is."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import cached_property

from findspot.core.facts import WHOLE, ImportFact
from findspot.graph.sources import Sources, SourceView
from findspot.graph.workspaces import Workspaces

_PYTHON_ENDS = (".py", "/__init__.py", ".pyi", "/__init__.pyi")
_JS_SUFFIXES = (".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs")
_JS_ENDS = ("", *_JS_SUFFIXES, *(f"/index{suffix}" for suffix in _JS_SUFFIXES))
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""TypeScript imports name what its files are compiled to."""


class Modules:
    """The modules of one generation of a project."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._paths = sources.files.by_path
        self._found: dict[tuple[str, str, str], tuple[str, ...]] = {}
        self._workspaces = Workspaces(sources)

    def resolve(self, view: SourceView, module: str) -> tuple[str, ...]:
        """The paths of a module as a file names it; none where it is not of the project."""
        folder = posixpath.dirname(view.path)
        key = (view.traits.family, folder, module)
        if key not in self._found:
            self._found[key] = tuple(dict.fromkeys(self._resolve(view, folder, module)))
        return self._found[key]

    def _resolve(self, view: SourceView, folder: str, module: str) -> Iterator[str]:
        family = view.traits.family
        if family == "python":
            yield from self._python(folder, module)
        elif family == "js":
            yield from self._javascript(folder, module)

    def submodule(self, path: str, name: str) -> str | None:
        """A module inside of a Python package, given the path of its `__init__`."""
        if path.rpartition("/")[2].partition(".")[0] != "__init__":
            return None
        return next(self._first(posixpath.join(posixpath.dirname(path), name), _PYTHON_ENDS), None)

    def package(self, folder: str, name: str) -> str | None:
        """The same of a folder without `__init__`."""
        return next(self._first(posixpath.join(folder, name), _PYTHON_ENDS), None)

    def _first(self, stem: str, ends: tuple[str, ...]) -> Iterator[str]:
        for end in ends:
            if stem + end in self._paths:
                yield stem + end
                return

    def _python(self, folder: str, module: str) -> Iterator[str]:
        if module.startswith("/"):
            stem = module[1:]
            yield from self._first(stem, _PYTHON_ENDS) if stem else self._first("__init__", (".py",))
            return
        below = module.replace(".", "/")
        for root in self._roots(folder):
            found = list(self._first(posixpath.join(root, below), _PYTHON_ENDS))
            if found:
                yield from found
                return

    def _roots(self, folder: str) -> Iterator[str]:
        """Where modules may start: roots around the importing file first, then all others."""
        around = [folder]
        while folder:
            folder = posixpath.dirname(folder)
            around.append(folder)
        yield from around
        yield from self._python_roots

    @cached_property
    def _python_roots(self) -> list[str]:
        """The folders that hold a package or module that is in no package."""
        inits = ("/__init__.py", "/__init__.pyi")
        packages = {posixpath.dirname(path) for path in self._paths if path.endswith(inits)}
        roots = set()
        for path in self._paths:
            if path.endswith((".py", ".pyi")):
                folder = posixpath.dirname(path)
                while folder in packages and folder:
                    folder = posixpath.dirname(folder)
                roots.add(folder)
        return sorted(roots, key=lambda root: (root.count("/"), root))

    def _javascript(self, folder: str, module: str) -> Iterator[str]:
        stems = [module[1:]] if module.startswith("/") else self._workspaces.places(folder, module)
        for stem in stems:
            found = list(self._javascript_file(stem))
            if found:
                yield from found
                return

    def _javascript_file(self, stem: str) -> Iterator[str]:
        base, suffix = posixpath.splitext(stem)
        for compiled in _COMPILED.get(suffix, ()):
            if base + compiled in self._paths:
                yield base + compiled
                return
        ends = _JS_ENDS if stem else tuple(end.lstrip("/") for end in _JS_ENDS if end.startswith("/"))
        yield from self._first(stem, ends)

    def inner(self, view: SourceView, fact: ImportFact) -> str | None:
        """The module that an import names in a folder without `__init__`."""
        if view.traits.family != "python":
            return None
        mark = "/" if fact.module.startswith("/") else "."
        return next(iter(self.resolve(view, f"{fact.module}{mark}{fact.original}")), None)

    def folder(self, view: SourceView, fact: ImportFact) -> str | None:
        """The folder that a module without a file of its own is."""
        if view.traits.family != "python":
            return None
        module = fact.module if fact.original == WHOLE else f"{fact.module}.{fact.original}"
        below = module.replace(".", "/").lstrip("/")
        return below if self.is_folder(below) else None

    def is_folder(self, path: str) -> bool:
        return path in self._folders

    @cached_property
    def _folders(self) -> set[str]:
        found = set()
        for path in self._paths:
            folder = posixpath.dirname(path)
            while folder and folder not in found:
                found.add(folder)
                folder = posixpath.dirname(folder)
        return found
