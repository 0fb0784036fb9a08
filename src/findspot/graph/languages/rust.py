"""Rust: modules by path from the crate's root, from the module around, or from here."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from findspot.graph.languages.language import Language, ModuleFinder

_ENDS = (".rs", "/mod.rs", "/lib.rs", "/main.rs")
_ROOTS = ("main.rs", "lib.rs", "mod.rs")


class RustModules(ModuleFinder):
    """Finds the file of a module path."""

    def files(self, path: str, module: str) -> Iterator[str]:
        if module.startswith("/"):
            yield from self.first(module[1:], _ENDS)
            return
        parts = module.split("::")
        here = posixpath.dirname(path) if posixpath.basename(path) in _ROOTS else path.removesuffix(".rs")
        crate = path[: path.rfind("src/") + 3] if "src/" in path else posixpath.dirname(path)
        if parts[0] == "crate":
            starts, parts = [crate], parts[1:]
        elif parts[0] in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                here = posixpath.dirname(here) if parts[0] == "super" else here
                parts = parts[1:]
            starts = [here]
        else:
            starts = [here, posixpath.dirname(here), crate]
        for start in starts:
            files = list(self.first("/".join([start, *parts]).strip("/"), _ENDS))
            if files:
                yield from files
                return


class Rust(Language):
    """Rust."""

    family = "rust"
    finder = RustModules
    satellites = True
    constructors = frozenset({"new"})

    def module_scope(self, path: str) -> str:
        return path

    def module_roots(self, name: str) -> bool:
        return name in ("crate", "super")
