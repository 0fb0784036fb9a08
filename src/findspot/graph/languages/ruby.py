"""Ruby: files by path, names shared by the project, calls without brackets."""

from __future__ import annotations

from findspot.graph.languages.c_family import ModulesByPath
from findspot.graph.languages.language import Language


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
