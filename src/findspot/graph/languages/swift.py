"""Swift: all files of a project see each other, extensions add to types; calls are found by name."""

from __future__ import annotations

from findspot.graph.languages.language import Language


class Swift(Language):
    """Swift."""

    family = "swift"
    shares = "project"
    bare_members = True
    satellites = True
    calls_by_name = True
    constructors = frozenset({"init"})
