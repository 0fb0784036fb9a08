"""Java, C# and PHP: packages of many files, which imports name."""

from __future__ import annotations

from findspot.graph.languages.language import Language

_ELEMENT_METHODS = """
get getFirst getLast removeFirst removeLast poll pollFirst pollLast peek peekFirst peekLast element pop remove
take next previous first last nextElement elementAt firstElement lastElement orElse orElseGet orElseThrow join
call getNow getValue getOrDefault put putIfAbsent computeIfAbsent computeIfPresent compute merge floor ceiling
lower higher getAndSet set
"""
_CONTAINER_METHODS = """
stream parallelStream filter sorted distinct limit skip iterator listIterator values subList headSet tailSet
toArray collect toList findFirst findAny min max or reversed spliterator elements descendingIterator takeWhile
dropWhile sequential parallel unordered boxed whenComplete
"""


class Java(Language):
    """Java, where variables and methods have names of their own."""

    family = "jvm"
    shares = "package"
    bare_members = True
    imports_packages = True
    imports_whole_packages = True
    methods_apart = True
    element_methods = frozenset(_ELEMENT_METHODS.split())
    container_methods = frozenset(_CONTAINER_METHODS.split())
    own_type_names = frozenset()
    self_names = frozenset({"this"})
    parent_names = frozenset({"super"})


class Kotlin(Java):
    """Kotlin, which shares its packages with Java; calls are found by name."""

    methods_apart = False
    satellites = True
    by_name = True


class CSharp(Language):
    """C#, whose namespaces are brought in whole."""

    family = "csharp"
    shares = "project"
    bare_members = True
    imports_packages = True
    imports_whole_packages = True
    own_type_names = frozenset()
    self_names = frozenset({"this"})
    parent_names = frozenset({"base"})
    attribute_suffix = "Attribute"


class Php(Language):
    """PHP."""

    family = "php"
    shares = "package"
    imports_packages = True
    constructors = frozenset({"__construct"})
    own_type_names = Language.own_type_names | {"self"}
