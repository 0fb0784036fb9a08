"""Ruby: a bare name may be a call, and types are opened again anywhere."""

from __future__ import annotations

from findspot.graph.languages.language import Language, ModulesByPath


class RubyModules(ModulesByPath):
    """Finds required files."""

    ends = (".rb",)


_RUBY_METHODS = """
alive? between? block_given? call chomp class clear delete_if detect each each_key each_pair each_value
each_with_index each_with_object eql? equal? extend flatten freeze frozen? gsub gsub! include include? inject
inspect instance_of? is_a? key key? kind_of? lambda map! message method nil? empty? none? one? any? all? puts
raise rescue respond_to? reject! send shift size sort_by start_with? end_with? sub! sum tap to_a to_ary to_h
to_i to_proc to_str to_sym trace uniq unshift zero?
"""


class Ruby(Language):
    """Ruby."""

    common_methods = frozenset(_RUBY_METHODS.split())
    reopens = True
    family = "ruby"
    finder = RubyModules
    shares = "project"
    bare_members = True
    constructors = frozenset({"initialize"})
    own_type_names = Language.own_type_names | {"new"}
    super_calls_same_method = True
    new_makes_instances = True
