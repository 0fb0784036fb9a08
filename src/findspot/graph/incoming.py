"""Edges that lead to a definition or a file, and the names under which they may be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from findspot.core.facts import DEFAULT, WHOLE, Relation, importable_names
from findspot.graph.edges import Edge, Node
from findspot.graph.modules import Modules
from findspot.graph.outgoing import Doubtful, Outgoing, doubt_about, in_order
from findspot.graph.resolve import Target
from findspot.graph.source_view import Def, SourceView, is_top
from findspot.graph.sources import Sources
from findspot.graph.stored_edges import StoredEdges
from findspot.graph.values import DISPATCHED, UNIQUE
from findspot.rank.roles import Role, role_of

OWN_NAMES = frozenset({"cls", "super", "Self", "static", "self", "this", "parent", "base", "class"})
"""What a type and its subtypes are called by their own code."""

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
        for stem in importable_names(target.file.path):
            for view in self._sources.naming(stem):
                for fact in view.facts.imports:
                    if fact.original in (DEFAULT, WHOLE) and target.file.path in self._modules.resolve(
                        view, fact.module
                    ):
                        found.add(fact.local)
        return found - {WHOLE, ""}


class Incoming:
    """Finds who refers to a definition: stored edges, and those of files that are not resolved yet."""

    def __init__(self, outgoing: Outgoing, stored: StoredEdges) -> None:
        self._outgoing = outgoing
        self._stored = stored
        self.sources = outgoing.sources
        self.resolver = outgoing.resolver
        self.types = outgoing.types
        self.reach = Reach(self.sources, outgoing.evaluator.modules)
        table = self.sources.tables.table
        self._edges: dict[tuple[str, Relation], tuple[Edge, ...]] = table("incoming edges")
        self._named_edges: dict[tuple[str, Relation, int], dict[Target, list[Edge]]] = table("named edges")

    def to(self, target: Target, relation: Relation) -> tuple[Edge, ...]:
        """Return the edges of one relation that lead to a definition or a file."""
        key = (target.id_of_node, relation)
        if key not in self._edges:
            return self._outgoing.evaluator.memo.gather(self._edges, key, self._to, target, relation)
        return self._edges[key]

    def _to(self, target: Target, relation: Relation) -> tuple[Edge, ...]:
        fresh = self._of_pending(target, relation) if self._stored.pending else ()
        return (*self._stored.to(target.node, relation), *fresh)

    def _of_pending(self, target: Target, relation: Relation) -> Iterator[Edge]:
        """Resolve what may lead to a target in the files that are pending."""
        if relation is Relation.IMPORT:
            yield from self._pending_imports(target)
        elif isinstance(target, Def):
            if relation is Relation.OVERRIDE:
                yield from self._pending_overrides(target)
            else:
                yield from self._pending_references(target, relation)

    def _pending_imports(self, target: Target) -> Iterator[Edge]:
        if isinstance(target, Def):
            views = self._pending_naming(self.reach.names(target) | importable_names(target.file.path))
        else:  # imports need not name a file: `from . import x`, `use super::x`
            found = map(self.sources.view, sorted(self._stored.pending))
            views = (view for view in found if view is not None)
        for view in views:
            yield from (edge for edge in self._outgoing.imports(view) if edge.target == target.node)

    def _pending_overrides(self, target: Def) -> Iterator[Edge]:
        for view in self._pending_naming({target.name}):
            for method in (d for d in view.definitions if d.name == target.name):
                edges = self._outgoing.all_overridden(method)
                yield from (edge for edge in edges if edge.target == target.node)

    def _pending_references(self, target: Def, relation: Relation) -> Iterator[Edge]:
        if relation is Relation.INHERIT:
            for of in self._outgoing.conformance.implementers(target):
                if of.file.id in self._stored.pending:
                    yield from (e for e in self._outgoing.structural(of) if e.target == target.node)
        for name in sorted(self.reach.names(target)):
            for view in self._pending_naming({name}):
                if relation is not Relation.INHERIT or name in view.facts.bases:
                    yield from self._named(name, relation, view).get(target, ())
        if relation is Relation.CALL:
            for view, names in self._own_names(target).items():
                yield from (
                    e for name in sorted(names) for e in self._named(name, relation, view).get(target, ())
                )

    def _pending_naming(self, names: Iterable[str]) -> Iterator[SourceView]:
        views = (view for name in names for view in self.sources.naming(name, self._stored.pending))
        yield from {view.id: view for view in views}.values()

    def doubtful(self, name: str) -> list[Doubtful]:
        """Return the references to a name that lead nowhere known."""
        found = list(self._stored.doubtful(name))
        for view in self._pending_naming({name}):
            for reference in view.references.to(name):
                resolution = self.resolver.resolve(view, reference)
                doubt = doubt_about(self._outgoing, view, reference, resolution)
                if doubt is not None:
                    source, relation = view.node_at(reference.owner), Relation(reference.relation)
                    found.append(Doubtful(source, relation, reference.line, doubt))
        return found

    def _named(self, name: str, relation: Relation, view: SourceView) -> dict[Target, list[Edge]]:
        """Return a file's references to a name by what they refer to, resolved once for all of that name."""
        key = (name, relation, view.id)
        if key not in self._named_edges:
            return self._outgoing.evaluator.memo.gather(
                self._named_edges, key, self._find_named, *key[:2], view
            )
        return self._named_edges[key]

    def _find_named(self, name: str, relation: Relation, view: SourceView) -> dict[Target, list[Edge]]:
        table: dict[Target, list[Edge]] = {}
        for reference in view.references.to(name):
            if reference.relation == relation:
                for target, edge in self._outgoing.resolved(view, reference):
                    table.setdefault(target, []).append(edge)
        return table

    def _own_names(self, target: Def) -> dict[SourceView, frozenset[str]]:
        """Return the pending files in which `cls`, `super` and their like may mean a definition."""
        if target.is_type:
            below = (self.sources.at(edge.source.path) for edge in self.to(target, Relation.INHERIT))
            views, names = [target.file, *below], OWN_NAMES
        elif target.file.language.super_calls_same_method:
            around = self.types.around(target)
            edges = self.implementers(around.node) if around is not None else []
            views, names = [self.sources.at(edge.path) for edge in edges], frozenset({"super"})
        else:
            return {}
        return {view: names for view in views if view is not None and view.id in self._stored.pending}

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

    def dispatched(self, method: Def, overriding: Node) -> float:
        """Return how sure it is that a call of a method reaches one that overrides it.

        The only one that overrides a stub is reached; those that tests define do not count.
        """
        if not self.resolver.methods.is_stub(method):
            return DISPATCHED
        defined = (edge for edge in self.to(method, Relation.OVERRIDE) if role_of(edge.path) is not Role.TEST)
        return UNIQUE if {edge.source for edge in islice(defined, 2)} == {overriding} else DISPATCHED

    def definition(self, node: Node) -> Def | None:
        view = self.sources.at(node.path)
        if view is None or node.id == view.path:
            return None
        return view.by_id.get(node.id)

    def type_of(self, node: Node) -> Def | None:
        definition = self.definition(node)
        return self.types.home(definition) if definition is not None and definition.is_type else None

    def heirs(self, of: Def, constructor: Def | None) -> list[Def]:
        """Return the types built on a type that are made by its constructor, having none of their own."""
        if constructor is None:
            return []
        below = (self.type_of(edge.source) for edge in self.implementers(of.node))
        types = dict.fromkeys(each for each in below if each is not None)
        return [each for each in types if self.types.constructor(each) is constructor]

    def called(self, node: Node) -> list[Def]:
        """Return what calls of it may lead to: of a constructor also its type, and those that inherit it."""
        target = self.definition(node)
        if target is not None and target.is_declaration and not target.scope and is_top(target):
            target = self._outgoing.evaluator.packages.definition_of(target)
        around = self.types.around(target) if target is not None else None
        if target is None or around is None or around is target:
            return [] if target is None else [target]
        if target.makes_its_type or target is self.types.constructor(around):
            return [target, around, *self.heirs(around, target)]
        others = [d for d in self.resolver.methods.overloads(target) if d is not target]
        fitting = [d for d in others if d.takes(target.least, target.most)]
        return [target, *(d for d in fitting if d.most - d.least <= target.most - target.least)]
