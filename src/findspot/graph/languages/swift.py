"""Swift: names shared by the project, extensions."""

from __future__ import annotations

from findspot.graph.languages.language import Language


class Swift(Language):
    """Swift."""

    family = "swift"
    shares = "project"
    bare_members = True
    satellites = True
    constructors = frozenset({"init"})
