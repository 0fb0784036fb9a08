"""Java and Kotlin: packages of many files, members without `this`, companion objects."""

from __future__ import annotations

from findspot.graph.languages.language import Language


class Java(Language):
    """Java."""

    family = "jvm"
    partial = False
    shares = "package"
    bare_members = True
    imports_packages = True
    imports_whole_packages = True
    companions = True
    own_type_names = frozenset()
    self_names = frozenset({"this"})
    parent_names = frozenset({"super"})


class Kotlin(Java):
    """Kotlin, with extension functions."""

    partial = True
    satellites = True
    extension_functions = True
