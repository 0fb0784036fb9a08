"""C and C++: headers beside the including file or anywhere their path ends alike."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from findspot.graph.languages.language import Language, ModuleFinder


class ModulesByPath(ModuleFinder):
    """Finds a file beside the importing one, or the nearest whose path ends in what is named."""

    ends: tuple[str, ...] = ("",)

    def files(self, path: str, module: str) -> Iterator[str]:
        beside = list(self.first(module.lstrip("/"), ("", *self.ends)))
        if beside:
            yield from beside
            return
        folder = posixpath.dirname(path)
        wanted = f"/{posixpath.basename(module)}" if module.startswith("/") else f"/{module}"
        endings = tuple(wanted + end for end in self.ends)
        alike = [other for other in self.paths if f"/{other}".endswith(endings)]
        yield from sorted(alike, key=lambda other: (-len(posixpath.commonprefix([other, folder])), other))[:1]


class C(Language):
    """C."""

    family = "c"
    finder = ModulesByPath
    shares = "project"
    defined_outside = True


class Cpp(C):
    """C++."""

    bare_members = True
    satellites = True
