"""Languages whose calls lead to the only definition of their name: nothing is read of what values are."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from findspot.graph.languages.language import Language, ModuleFinder, lasting, listed
from findspot.graph.project_paths import grouped


class ModulesByPath(ModuleFinder):
    """Finds a file beside the importing one, or the nearest whose path ends in what is named."""

    ends = ("", ".rb")

    def files(self, path: str, module: str) -> Iterator[str]:
        beside = list(self.first(module.lstrip("/"), self.ends))
        if beside:
            yield from beside
            return
        folder = posixpath.dirname(path)
        wanted = f"/{posixpath.basename(module)}" if module.startswith("/") else f"/{module}"
        endings = tuple(wanted + end for end in self.ends)
        named = {ending.rpartition("/")[2] for ending in endings}
        others = (other for name in named for other in self._by_name.get(name, ()))
        alike = [other for other in others if f"/{other}".endswith(endings)]
        yield from sorted(alike, key=lambda other: (-len(posixpath.commonprefix([other, folder])), other))[:1]

    @lasting
    def _by_name(self) -> dict[str, list[str]]:
        """Return the files of the project by name: looking through all for each import takes too long."""
        return grouped(self.paths, posixpath.basename)


class RustModules(ModuleFinder):
    """Finds the file of a module path, below the folder of the crate."""

    def files(self, path: str, module: str) -> Iterator[str]:
        ends = (".rs", "/mod.rs", "/lib.rs", "/main.rs")
        folder, name = posixpath.split(path)
        here = folder if name in ("main.rs", "lib.rs", "mod.rs") else path.removesuffix(".rs")
        crate = path[: path.rfind("src/") + 3] if "src/" in path else folder
        starts = [here, posixpath.dirname(here), crate]
        parts = module.split("::")
        if module.startswith("/"):
            starts, parts = [""], [module[1:]]
        elif parts[0] == "crate":
            starts, parts = [crate], parts[1:]
        elif parts[0] in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                here = posixpath.dirname(here) if parts[0] == "super" else here
                parts = parts[1:]
            starts = [here]
        found = (list(self.first("/".join([start, *parts]).strip("/"), ends)) for start in starts)
        yield from next(filter(None, found), ())


class ByName(Language):
    """A language whose files all see each other."""

    by_name = True
    shares = "project"
    bare_members = True
    satellites = True
    common_methods = listed("library_methods.txt")


class C(ByName):
    """C and C++."""

    family = "c"
    finder = ModulesByPath


class Ruby(ByName):
    """Ruby."""

    family = "ruby"
    finder = ModulesByPath
    constructors = frozenset({"initialize"})
    functions = listed("ruby_functions.txt")
    common_methods = ByName.common_methods | functions | listed("ruby_methods.txt")
    capitals_are_constants = True


class Rust(ByName):
    """Rust."""

    family = "rust"
    finder = RustModules
    shares = "file"
    bare_members = False
    constructors = frozenset({"new"})

    def module_scope(self, path: str) -> str:
        return path


class Swift(ByName):
    """Swift."""

    family = "swift"
    constructors = frozenset({"init"})
