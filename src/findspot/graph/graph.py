"""The questions that the graph answers, over one snapshot of the index."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from findspot.core.facts import LOCAL, TYPING, Relation
from findspot.graph.edges import FAR, PACKAGE, Edge, Node, Outline, Unresolved
from findspot.graph.incoming import Incoming
from findspot.graph.outgoing import Outgoing, in_order
from findspot.graph.possible_uses import Doubts, Leftovers, unresolved_use
from findspot.graph.resolve import Target
from findspot.graph.source_view import Def, SourceView
from findspot.graph.sources import Sources
from findspot.graph.stored_edges import StoredEdges
from findspot.graph.symbol_lookup import Symbols
from findspot.graph.values import FLOOR
from findspot.store.snapshot import Snapshot

ALL = tuple(Relation)


class Graph:
    """Definitions and the references between them; everything is read when it is asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._sources = Sources(snapshot)
        self._outgoing = Outgoing(self._sources)
        self._incoming = Incoming(self._outgoing, StoredEdges(snapshot))
        self._types = self._outgoing.types
        self.symbols = Symbols(self._sources, self._outgoing.evaluator)
        self.doubts, self.leftovers = Doubts(self._incoming), Leftovers(self._outgoing)

    @property
    def given_up(self) -> int:
        """How many references were too involved to follow, of those that questions so far had to resolve."""
        return self._outgoing.evaluator.memo.given_up

    def find(self, name: str) -> list[Node]:
        """Return the definitions of a name, see `Symbols.find`."""
        return self.symbols.find(name)

    def node(self, node_id: str) -> Node | None:
        """Return the node of an id, or of the path of a file."""
        path, mark, _ = node_id.partition("#")
        view = self._sources.at(path)
        if view is None or not mark:
            return view.node if view is not None else None
        found = view.by_id.get(node_id)
        return found.node if found is not None else None

    def callers(self, node: Node, floor: float = FLOOR) -> list[Edge]:
        """Return who calls it; calls of a type are those of its constructor."""
        targets = self._incoming.called(node)
        edges = [edge for t in targets for edge in self._incoming.to(t, Relation.CALL)]
        for method in self._outgoing.dispatching(targets[0]) if targets else ():
            confidence = self._incoming.dispatched(method, targets[0].node)
            reached = self._incoming.to(method, Relation.CALL) if confidence >= floor else ()
            edges += [replace(edge, target=node, confidence=confidence) for edge in reached]
        return in_order(edge for edge in edges if edge.confidence >= floor)

    def callees(self, node: Node, floor: float = FLOOR) -> list[Edge]:
        """Return what it calls, in the order of the lines."""
        return [e for e in self.edges_of(node, (Relation.CALL,)) if e.confidence >= floor]

    def references_to(
        self, node: Node, relations: Iterable[Relation] = ALL, floor: float = FLOOR
    ) -> list[Edge]:
        """Return every edge that ends at a node."""
        target = self._incoming.definition(node)
        if target is None:
            return []
        edges = [edge for relation in relations for edge in self._incoming.to(target, relation)]
        return in_order(edge for edge in edges if edge.confidence >= floor and edge.mark != FAR)

    def edges_of(self, node: Node, relations: Iterable[Relation] = ALL) -> list[Edge]:
        """Return every edge that starts at a node."""
        view = self._sources.at(node.path)
        if view is None:
            return []
        definition = self._incoming.definition(node)
        place = definition.place if definition is not None else -1
        return in_order(self._outgoing.edges(view, place, frozenset(relations)))

    def unresolved(self, node: Node) -> list[Unresolved]:
        """Return the references of a node that lead out of the project, or are in doubt."""
        view = self._sources.at(node.path)
        if view is None:
            return []
        definition = self._incoming.definition(node)
        found = []
        for reference in view.references.inside(definition.place if definition is not None else -1):
            resolution = self._outgoing.resolver.resolve(view, reference)
            if not resolution.targets:
                found.append(unresolved_use(view, reference, resolution))
        return found

    def exported(self, path: str, names: Sequence[str]) -> Node | None:
        """Return what other files get when they import a chain of names from a file; follows re-exports.

        A name may end in a call: `connect()`.
        """
        evaluator = self._outgoing.evaluator
        first, mark, steps = names[0].partition("(")
        values = evaluator.exported(path, first) or []
        held = evaluator.definition(self._sources.at(path), first)
        for step in ([f"{mark}{steps}"] if mark else []) + [f".{name}" for name in names[1:]]:
            held = evaluator.held(values, step[1:]) if step[0] == "." else None
            values = evaluator.follow(values, step)
        found = (value.of for value in values)
        defined = next((of for of in found if isinstance(of, Def | SourceView)), held)
        return defined.node if defined is not None else None

    def supertypes(self, node: Node, *, transitive: bool = False) -> list[Edge]:
        """Return what a type inherits from or conforms to, by its extensions as well."""
        start = self._incoming.type_of(node)
        if start is None:
            return []
        types = [start, *(self._types.ancestors(start) if transitive else ())]
        return in_order(edge for each in types for edge in self._outgoing.inheriting(each))

    def implementers(self, node: Node, *, transitive: bool = True) -> list[Edge]:
        """Return the types that inherit from or conform to a type, subclasses of subclasses included."""
        return self._incoming.implementers(node, transitive=transitive)

    def overrides(self, node: Node) -> list[Edge]:
        """Return the edges from a method to those that it overrides, and to it from those that override
        it.
        """
        definition = self._incoming.definition(node)
        if definition is None:
            return []
        overriding = self._incoming.to(definition, Relation.OVERRIDE)
        return in_order([*self.edges_of(node, (Relation.OVERRIDE,)), *overriding])

    def imports_of(self, path: str) -> list[Edge]:
        """Return what a file imports from the project: files, and names where they are known."""
        view = self._sources.at(path)
        return self.edges_of(view.node, (Relation.IMPORT,)) if view is not None else []

    def importers(self, path: str) -> list[Edge]:
        """Return the files that import a file (or, given a module or a folder, any file of it)."""
        views = [view for each in _paths(self._sources, path) if (view := self._sources.at(each)) is not None]
        targets: list[Target] = [*views]
        targets += [definition for view in views for definition in view.definitions]
        return in_order(edge for target in targets for edge in self._incoming.to(target, Relation.IMPORT))

    def outline(self, path: str) -> list[Outline]:
        """Return the definitions of a file, nested as they are written."""
        view = self._sources.at(path)
        return [_outline(d) for d in view.definitions if d.parent is None] if view is not None else []

    def dependencies(self, *, when_loaded: bool = False) -> Counter[tuple[str, str]]:
        """Return how often each file imports each other one.

        Imports for type checkers do not count, nor do packages that only hand names on. Imports inside of
        functions can be left out too: they do not run when a file is loaded.
        """
        left_out = (TYPING, PACKAGE, LOCAL) if when_loaded else (TYPING, PACKAGE)
        found: Counter[tuple[str, str]] = Counter()
        for view in self._sources.all_views():
            edges = self._outgoing.edges(view, -1, (Relation.IMPORT,))
            for path, _ in {(edge.target.path, edge.line) for edge in edges if edge.mark not in left_out}:
                if path != view.path:
                    found[view.path, path] += 1
        return found


def _outline(definition: Def) -> Outline:
    children = sorted((d for group in definition.children.values() for d in group), key=lambda d: d.place)
    return Outline(definition.node, tuple(_outline(child) for child in children))


def _paths(sources: Sources, place: str) -> set[str]:
    """Return the paths of a file, a folder, or a module by its dotted name."""
    files = sources.files
    if place in files.by_path:
        return {place}
    below = place.strip("/").replace(".", "/")
    return {
        file.path
        for file in files.files
        if file.path.startswith(f"{place.rstrip('/')}/")
        or f"/{posixpath.splitext(file.path)[0].removesuffix('/__init__')}".endswith(f"/{below}")
    }
