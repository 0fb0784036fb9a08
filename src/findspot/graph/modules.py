"""From the module that an import names to the files of the project that it is."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import cached_property

from findspot.core.facts import WHOLE, ImportFact
from findspot.graph.sources import Sources, SourceView
from findspot.graph.workspaces import Workspaces

_PYTHON_ENDS = (".py", "/__init__.py", ".pyi", "/__init__.pyi")
_RUST_ENDS = (".rs", "/mod.rs", "/lib.rs", "/main.rs")
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
        elif family == "rust":
            yield from self._rust(view.path, module)
        elif family in ("c", "ruby"):
            yield from self._by_path(folder, module, (".rb",) if family == "ruby" else ("",))

    def _by_path(self, folder: str, module: str, ends: tuple[str, ...]) -> Iterator[str]:
        """A file beside the importing one, or the nearest whose path ends in what is named."""
        found = list(self._first(module.lstrip("/"), ("", *ends)))
        wanted = f"/{posixpath.basename(module)}" if module.startswith("/") else f"/{module}"
        if not found:
            alike = [path for path in self._paths if f"/{path}".endswith(tuple(wanted + end for end in ends))]
            found = sorted(alike, key=lambda path: (-len(posixpath.commonprefix([path, folder])), path))[:1]
        yield from found

    def _rust(self, path: str, module: str) -> Iterator[str]:
        """The file of a module path: from the crate's root, from the module around, or from here."""
        if module.startswith("/"):
            yield from self._first(module[1:], _RUST_ENDS)
            return
        parts = module.split("::")
        stem = path.removesuffix(".rs")
        is_root = posixpath.basename(path) in ("main.rs", "lib.rs", "mod.rs")
        here = posixpath.dirname(path) if is_root else stem
        crate = path[: path.rfind("src/") + 3] if "src/" in path else posixpath.dirname(path)
        if parts[0] == "crate":
            starts = [crate]
        elif parts[0] in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                here = posixpath.dirname(here) if parts[0] == "super" else here
                parts = parts[1:]
            starts, parts = [here], ["", *parts]
        else:
            starts, parts = [here, posixpath.dirname(here), crate], ["", *parts]
        for start in starts:
            found = list(self._first("/".join([start, *parts[1:]]).strip("/"), _RUST_ENDS))
            if found:
                yield from found
                return

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
        yield from (place for place in around if place not in self._python_packages)
        yield from self._python_roots

    @cached_property
    def _python_packages(self) -> set[str]:
        inits = ("/__init__.py", "/__init__.pyi")
        paths = (*self._paths, *self._sources.empty)
        return {path.rpartition("/")[0] for path in paths if path.endswith(inits)}

    @cached_property
    def _python_roots(self) -> list[str]:
        """The folders that hold a package or module that is in no package."""
        roots = set()
        for place in {path.rpartition("/")[0] for path in self._paths if path.endswith((".py", ".pyi"))}:
            folder = place
            while folder in self._python_packages and folder:
                folder = folder.rpartition("/")[0]
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
        if view.traits.family == "go":
            return self._go_folder(fact.module)
        if view.traits.family != "python":
            return None
        module = fact.module if fact.original == WHOLE else f"{fact.module}.{fact.original}"
        below = module.replace(".", "/")
        if module.startswith("/"):
            return below[1:] if self.is_folder(below[1:]) else None
        places = (posixpath.join(root, below) for root in self._roots(posixpath.dirname(view.path)))
        return next((place for place in places if self.is_folder(place)), None)

    def _go_folder(self, module: str) -> str | None:
        """The folder that the path of a Go package ends in; the longest such folder."""
        parts = module.split("/")
        for first in range(len(parts)):
            below = "/".join(parts[first:])
            if below in self._go_folders:
                return below
        return "" if "" in self._go_folders and module.rpartition("/")[2] == self._go_root else None

    @cached_property
    def _go_folders(self) -> set[str]:
        return {posixpath.dirname(path) for path in self._paths if path.endswith(".go")}

    @cached_property
    def _go_root(self) -> str:
        """The last part of the module's own path: what imports of the root folder end in."""
        text = self._sources.text("go.mod") if "go.mod" in self._paths else ""
        return text.partition("module ")[2].split("\n")[0].strip().rpartition("/")[2]

    def has_python(self, folder: str) -> bool:
        return folder not in self._go_folders

    def is_folder(self, path: str) -> bool:
        return path in self._folders

    @cached_property
    def _folders(self) -> set[str]:
        found = set()
        for place in {path.rpartition("/")[0] for path in self._paths}:
            folder = place
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return found
