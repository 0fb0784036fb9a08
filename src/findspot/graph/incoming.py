"""Edges that lead to a definition or a file, as the index has stored them."""

from __future__ import annotations

from itertools import islice

from findspot.core.facts import Relation
from findspot.graph.edges import Edge, Node
from findspot.graph.outgoing import Outgoing, in_order
from findspot.graph.resolve import Target
from findspot.graph.source_view import HEADERS, Def, is_top
from findspot.graph.stored_edges import StoredEdges
from findspot.graph.values import DISPATCHED, UNIQUE
from findspot.rank.roles import Role, role_of


class Incoming:
    """Finds who refers to a definition."""

    def __init__(self, outgoing: Outgoing, stored: StoredEdges) -> None:
        self.outgoing = outgoing
        self.stored = stored
        self.sources = outgoing.sources
        self.resolver = outgoing.resolver
        self.types = outgoing.types
        self._edges: dict[tuple[str, Relation], tuple[Edge, ...]] = {}

    def to(self, target: Target, relation: Relation) -> tuple[Edge, ...]:
        """Return the edges of one relation that lead to a definition or a file."""
        key = (target.id_of_node, relation)
        if key not in self._edges:
            self._edges[key] = tuple(self.stored.to(target.node, relation))
        return self._edges[key]

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
        if not self.resolver.is_stub(method):
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

    def _heirs(self, of: Def, constructor: Def) -> list[Def]:
        """Return the types built on a type that are made by its constructor, having none of their own."""
        below = (self.type_of(edge.source) for edge in self.implementers(of.node))
        types = dict.fromkeys(filter(None, below))
        return [each for each in types if self.types.constructor(each) is constructor]

    def called(self, node: Node) -> list[Def]:
        """Return what calls of it may lead to: of a constructor also its type, and those that inherit it."""
        target = self.definition(node)
        if target is None:
            return []
        if target.file.language.by_name and target.file.path.endswith(HEADERS) and is_top(target):
            defined = self.sources.tops(target.name, target.file.language.family)
            target = next((d for d in defined if not d.file.path.endswith(HEADERS)), target)
        around = self.types.around(target)
        if around is None or around is target:
            return [target]
        if target.makes_its_type or target is self.types.constructor(around):
            return [target, around, *self._heirs(around, target)]
        width = target.most - target.least
        others = (d for d in self.resolver.overloads(target) if d is not target)
        return [
            target,
            *(d for d in others if d.takes(target.least, target.most) and d.most - d.least <= width),
        ]
