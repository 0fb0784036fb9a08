"""C#: namespaces of many files, which are brought in whole."""

from __future__ import annotations

from findspot.graph.languages.language import Language


class CSharp(Language):
    """C#."""

    family = "csharp"
    partial = False
    shares = "project"
    bare_members = True
    imports_packages = True
    imports_whole_packages = True
    own_type_names = frozenset()
    self_names = frozenset({"this"})
    parent_names = frozenset({"base"})
    attribute_suffix = "Attribute"
