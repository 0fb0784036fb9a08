"""Under which names a definition may be referred to: its own, and those that imports give it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import islice

from findspot.core.facts import DEFAULT, WHOLE, Relation, module_name
from findspot.graph.edges import Edge, Node
from findspot.graph.modules import Modules
from findspot.graph.outgoing import Outgoing, in_order
from findspot.graph.resolve import Target
from findspot.graph.sources import Def, Sources, SourceView
from findspot.graph.values import DISPATCHED, IMPORTED, STRUCTURAL, UNIQUE
from findspot.rank.roles import Role, role_of

OWN_NAMES = frozenset({"cls", "super", "Self", "static", "self", "this", "parent", "base", "class"})
"""What a type and its subtypes are called by their own code."""

_INDEXES = frozenset({"__init__", "index", "mod", "lib", "main"})
_MAX_RENAMINGS = 3
"""Names after names that are followed; each is another import under another name."""


class Reach:
    """Finds the other names of definitions."""

    def __init__(self, sources: Sources, modules: Modules) -> None:
        self._sources = sources
        self._modules = modules
        self._renamed: dict[str, set[str]] = sources.tables.table("renamed")
        self._names: dict[Def, set[str]] = sources.tables.table("names")

    def names(self, target: Def) -> set[str]:
        """Return the name of a definition, and what files that import it call it."""
        if target not in self._names:
            self._names[target] = self._find_names(target)
        return self._names[target]

    def _find_names(self, target: Def) -> set[str]:
        known = {target.name}
        fresh = {target.name, target.name.removesuffix("Attribute")} | self._as_a_whole(target)
        for _ in range(_MAX_RENAMINGS):
            known |= fresh
            fresh = {other for name in fresh for other in self._renamings(name)} - known
            if not fresh:
                break
        return known

    def _renamings(self, name: str) -> set[str]:
        if name not in self._renamed:
            self._renamed[name] = self._find_renamings(name)
        return self._renamed[name]

    def _find_renamings(self, name: str) -> set[str]:
        found: set[str] = set()
        for view in self._sources.naming(name):
            found |= view.renamed.get(name, set())
        return found - {WHOLE, DEFAULT, ""}

    def _as_a_whole(self, target: Def) -> set[str]:
        """Return what the importers of a module call what it exports as a whole."""
        exported = target.file.bindings.get(DEFAULT, ())
        if target.name != DEFAULT and not any(value.split(".")[-1] == target.name for _, value in exported):
            return set()
        found = set()
        for stem in module_names(target.file.path):
            for view in self._sources.naming(stem):
                for fact in view.facts.imports:
                    if fact.original in (DEFAULT, WHOLE) and target.file.path in self._modules.resolve(
                        view, fact.module
                    ):
                        found.add(fact.local)
        return found - {WHOLE, ""}


def module_names(path: str) -> set[str]:
    """Return what imports call a file: its stem, or its folder where the stem is that of an index."""
    stem = module_name(f"/{path}").partition(".")[0]
    folder = posixpath.dirname(path).rpartition("/")[2]
    return {stem, folder} - {""} if stem in _INDEXES else {stem}


class Incoming:
    """Finds who refers to a definition; each answer is worked out once per generation."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing
        self.sources = outgoing.sources
        self.resolver = outgoing.resolver
        self.types = outgoing.types
        self.reach = Reach(self.sources, outgoing.evaluator.modules)
        table = self.sources.tables.table
        self._edges: dict[tuple[Def, Relation], tuple[Edge, ...]] = table("incoming edges")
        self._named_edges: dict[tuple[str, Relation, int], dict[Target, list[Edge]]] = table("named edges")
        self._files_with_own_names: dict[Def, dict[SourceView, frozenset[str]]] = table("own names")
        self._calling_paths: dict[Def, frozenset[str]] = table("calling paths")
        self._calls: dict[tuple[Def, int], tuple[Edge, ...]] = table("calls in files")

    def to(self, target: Def, relation: Relation) -> tuple[Edge, ...]:
        key = (target, relation)
        if key not in self._edges:
            self._edges[key] = tuple(self._find_incoming(target, relation))
        return self._edges[key]

    def _find_incoming(self, target: Def, relation: Relation) -> Iterator[Edge]:
        if relation is Relation.IMPORT:
            called = self.reach.names(target) | module_names(target.file.path)
            importing = {view.id: view for name in called for view in self.sources.naming(name)}
            for view in importing.values():
                yield from (edge for edge in self._outgoing.imports(view) if edge.target == target.node)
            return
        if relation is Relation.OVERRIDE:
            for edge in self.overridden_by(target):
                if edge.confidence == STRUCTURAL or self._overrides_first(edge, target):
                    yield edge
            return
        if relation is Relation.INHERIT:
            for of in self._outgoing.conformance.implementers(target):
                yield from (e for e in self._outgoing.structural(of) if e.target == target.node)
        for name in sorted(self.reach.names(target)):
            for view in self.sources.naming(name):
                if relation is not Relation.INHERIT or name in view.facts.bases:
                    yield from self._named(name, relation, view).get(target, ())
        if relation is Relation.CALL:
            for view in self._own_names(target):
                yield from self._calls_by_own_names(view, target)

    def paths_calling(self, target: Def) -> frozenset[str]:
        if target not in self._calling_paths:
            using = (path for name in self.reach.names(target) for path in self.sources.paths_using(name))
            own = (view.path for view in self._own_names(target))
            self._calling_paths[target] = frozenset(using).union(own)
        return self._calling_paths[target]

    def calls_in(self, view: SourceView, target: Def) -> tuple[Edge, ...]:
        key = (target, view.id)
        if key not in self._calls:
            names = sorted(self.reach.names(target))
            found = [e for name in names for e in self._named(name, Relation.CALL, view).get(target, ())]
            self._calls[key] = (*found, *self._calls_by_own_names(view, target))
        return self._calls[key]

    def _named(self, name: str, relation: Relation, view: SourceView) -> dict[Target, list[Edge]]:
        """Return a file's references to a name, by what they refer to: resolved once for all things of that
        name.
        """
        key = (name, relation, view.id)
        if key not in self._named_edges:
            table: dict[Target, list[Edge]] = {}
            for reference in view.references.to(name):
                if reference.relation == relation:
                    for target, edge in self._outgoing.resolved(view, reference):
                        table.setdefault(target, []).append(edge)
            self._named_edges[key] = table
        return self._named_edges[key]

    def _calls_by_own_names(self, view: SourceView, target: Def) -> Iterator[Edge]:
        for name in sorted(self._own_names(target).get(view, ())):
            for reference in view.references.to(name):
                if reference.relation == Relation.CALL:
                    yield from (e for e in self._outgoing.edges(view, reference) if e.target == target.node)

    def _own_names(self, target: Def) -> dict[SourceView, frozenset[str]]:
        """Return the files in which `cls`, `super` and their like may mean a definition."""
        if target not in self._files_with_own_names:
            self._files_with_own_names[target] = self._find_own_names(target)
        return self._files_with_own_names[target]

    def _find_own_names(self, target: Def) -> dict[SourceView, frozenset[str]]:
        if target.is_type:
            below = (self.sources.at(edge.source.path) for edge in self.to(target, Relation.INHERIT))
            return {view: OWN_NAMES for view in (target.file, *below) if view is not None}
        if target.file.language.super_calls_same_method:
            return dict.fromkeys(self._below(target), frozenset({"super"}))
        return {}

    def _below(self, method: Def) -> list[SourceView]:
        """Return the files of the types that inherit a method."""
        around = self.types.around(method)
        edges = self.implementers(around.node) if around is not None else []
        return [view for edge in edges if (view := self.sources.at(edge.path)) is not None]

    def implementers(self, node: Node, *, transitive: bool = True) -> list[Edge]:
        """Return the types that inherit from or conform to a type, subclasses of subclasses included."""
        start = self.type_of(node)
        if start is None:
            return []
        found: list[Edge] = []
        seen = {start}
        waiting = [start]
        while waiting:
            for edge in self.to(waiting.pop(), Relation.INHERIT):
                found.append(edge)
                below = self.type_of(edge.source)
                if transitive and below is not None and below not in seen:
                    seen.add(below)
                    waiting.append(below)
        return in_order(found)

    def _overrides_first(self, edge: Edge, method: Def) -> bool:
        """Return whether no other method stands between the two."""
        overriding = self.definition(edge.source)
        return overriding is not None and self.resolver.overridden(overriding)[:1] == [method]

    def overridden_by(self, method: Def) -> Iterator[Edge]:
        around = self.types.around(method)
        if around is None or method is around:
            return
        for edge in self.implementers(around.node):
            below = self.type_of(edge.source)
            own = self.types.own(below, method.name) if below is not None else None
            if own is None or own is method:
                continue
            if method in self.resolver.overridden(own):
                yield Edge(own.node, method.node, Relation.OVERRIDE, own.file.path, own.line, IMPORTED)
            elif method in self._outgoing.conformance.declared(own):
                yield Edge(own.node, method.node, Relation.OVERRIDE, own.file.path, own.line, STRUCTURAL)

    def dispatched(self, method: Def, overriding: Node) -> float:
        """Return how sure it is that a call of a method reaches one that overrides it.

        The only one that overrides a stub is reached; those that tests define do not count.
        """
        if not self.resolver.is_stub(method):
            return DISPATCHED
        defined = (edge for edge in self.overridden_by(method) if role_of(edge.path) is not Role.TEST)
        return UNIQUE if {edge.source for edge in islice(defined, 2)} == {overriding} else DISPATCHED

    def definition(self, node: Node) -> Def | None:
        view = self.sources.at(node.path)
        if view is None or node.id == view.path:
            return None
        return view.by_id.get(node.id)

    def type_of(self, node: Node) -> Def | None:
        definition = self.definition(node)
        return self.types.home(definition) if definition is not None and definition.is_type else None

    def called(self, node: Node) -> list[Def]:
        """Return what calls of it may lead to: of a constructor its type as well."""
        target = self.definition(node)
        around = self.types.around(target) if target is not None else None
        if target is None or around is None or around is target:
            return [] if target is None else [target]
        if target.makes_its_type or target is self.types.constructor(around):
            return [target, around]
        others = [d for d in self.resolver.overloads(target) if d is not target]
        fitting = [d for d in others if d.takes(target.least, target.most)]
        return [target, *(d for d in fitting if d.most - d.least <= target.most - target.least)]
