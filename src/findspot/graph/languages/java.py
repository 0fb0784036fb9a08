"""Java: packages of many files, and members without `this`."""

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
    """Java."""

    family = "jvm"
    partial = False
    shares = "package"
    bare_members = True
    imports_packages = True
    imports_whole_packages = True
    methods_apart = True
    knows_all_members = True
    element_methods = frozenset(_ELEMENT_METHODS.split())
    container_methods = frozenset(_CONTAINER_METHODS.split())
    own_type_names = frozenset()
    self_names = frozenset({"this"})
    parent_names = frozenset({"super"})
