"""C#, PHP, Ruby and Swift: little is special about them."""

from __future__ import annotations

from findspot.graph.languages.c_family import ModulesByPath
from findspot.graph.languages.language import Language


class Php(Language):
    """PHP."""

    family = "php"
    shares = "package"
    imports_packages = True
    constructors = frozenset({"__construct"})
    own_type_names = Language.own_type_names | {"self"}


class Swift(Language):
    """Swift."""

    family = "swift"
    shares = "project"
    bare_members = True
    satellites = True
    constructors = frozenset({"init"})


class CSharp(Language):
    """C#."""

    family = "csharp"
    shares = "project"
    bare_members = True
    imports_packages = True
    imports_whole_packages = True
    own_type_names = frozenset()
    self_names = frozenset({"this"})
    parent_names = frozenset({"base"})
    attribute_suffix = "Attribute"


class RubyModules(ModulesByPath):
    """Finds required files."""

    ends = (".rb",)


class Ruby(Language):
    """Ruby."""

    family = "ruby"
    finder = RubyModules
    shares = "project"
    bare_members = True
    calls_bare = True
    constructors = frozenset({"initialize"})
    own_type_names = Language.own_type_names | {"new"}
    super_calls_same_method = True
    new_makes_instances = True
