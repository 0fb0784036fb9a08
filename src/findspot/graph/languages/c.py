"""C and C++: all files of a project see each other, and definitions go before what headers declare."""

from __future__ import annotations

from findspot.graph.languages.language import Language, ModulesByPath


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
