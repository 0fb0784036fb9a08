"""Walks over the graph: how far they go, what they reach, and the ways they record_path."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from findspot.core.progress import CancelToken
from findspot.graph import Edge, Graph, Node, Relation
from findspot.graph.source_view import SATELLITE_KINDS, TYPE_KINDS, VALUE_KINDS
from findspot.graph.values import FLOOR
from findspot.rank.roles import folders_apart, is_test, reading_order
from findspot.research.findings import DEFAULT_DEPTH, FORWARD, Aim

MOST_NODES = 200
"""A walk that finds more has left the question behind; the answer says that it stopped."""

MOST_CHAINS = 30
_EDGE = 2
"""Nodes of a way that is a single step."""

Chain = tuple[str, ...]


@dataclass(slots=True)
class Trail:
    """Nodes with the hop that found them, and the edges between them."""

    graph: Graph
    depth: int = DEFAULT_DEPTH
    under: str | None = None
    """The folder where the question starts; what it leads to may be anywhere."""
    floor: float = FLOOR
    """The least confidence of edges that are followed."""
    include_tests: bool = True
    tick: Callable[[int], None] = lambda _hop: None
    """Called with the number of each hop before it is taken."""
    cancel: CancelToken = field(default_factory=CancelToken)
    nodes: dict[str, tuple[Node, int]] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    full: bool = False
    tests_left_out: set[str] = field(default_factory=set)

    def add(self, node: Node, hop: int) -> bool:
        """Return whether it is new and there is room for it."""
        if node.id in self.nodes:
            return False
        if hop and not self.include_tests and is_test(node.path):
            self.tests_left_out.add(node.id)
            return False
        if len(self.nodes) >= MOST_NODES:
            self.full = True
            return False
        self.nodes[node.id] = (node, hop)
        return True

    def covers(self, path: str) -> bool:
        return self.under is None or path.startswith(f"{self.under}/")

    def link(self, edge: Edge) -> None:
        """Keep an edge whose two ends are here."""
        if edge.source.id in self.nodes and edge.target.id in self.nodes:
            self.edges[edge] = None

    def reach(self, edges: Iterable[Edge], hop: int, *, backwards: bool) -> Iterator[Node]:
        """Keep edges, and yield what is new at their other ends."""
        self.cancel.check()
        for edge in edges:
            far = edge.source if backwards else edge.target
            if self.add(far, hop):
                yield far
            self.link(edge)

    def chains(self, starts: Iterable[Node], *, backwards: bool = False) -> list[Chain]:
        """Return the longest ways from the starts, each step one hop further.

        A way has two steps at least: one of a single step is an edge.
        """
        onward: dict[str, list[str]] = {}
        for edge in self.edges:
            near, far = (edge.target, edge.source) if backwards else (edge.source, edge.target)
            further = self.nodes[far.id][1] == self.nodes[near.id][1] + 1
            if further and far.id not in onward.setdefault(near.id, []):
                onward[near.id].append(far.id)
        for reached in onward.values():
            reached.sort(key=lambda node: reading_order(self.nodes[node][0].path))
        ways = (way for start in starts for way in _ways((start.id,), onward) if len(way) > _EDGE)
        found = list(islice(ways, MOST_CHAINS))
        return [way[::-1] for way in found] if backwards else found


def _ways(way: Chain, onward: dict[str, list[str]]) -> Iterator[Chain]:
    if not onward.get(way[-1]):
        yield way
    for node in onward.get(way[-1], ()):
        yield from _ways((*way, node), onward)


TYPES = TYPE_KINDS - SATELLITE_KINDS
_FAMILY = (Aim.IMPLEMENTATIONS, Aim.SUPERTYPES)


def definitions_of(graph: Graph, name: str, aim: Aim) -> list[Node]:
    """Return the definitions that a name means in a question of that aim."""
    if aim in (Aim.IMPORTERS, Aim.IMPORTS):
        return _files_of(graph, name)
    found = graph.find(name)
    if aim in _FAMILY:
        return [node for node in found if node.kind in TYPES] or [
            n for n in found if n.kind in SATELLITE_KINDS
        ]
    plain = [node for node in found if node.kind not in VALUE_KINDS | SATELLITE_KINDS]
    return plain or found


def _files_of(graph: Graph, name: str) -> list[Node]:
    """Return a file by its path, a module by its name, or the files that define a name."""
    if (node := graph.node(name)) is not None:
        return [node]
    places = dict.fromkeys((name, name.replace(".", "/")))  # a folder may be meant by its dotted name
    imported = (edge.target.path for place in places for edge in graph.importers(place))
    targets = set(imported) or set(graph.symbols.modules(name)) or {node.path for node in graph.find(name)}
    files = (graph.node(path) for path in sorted(targets))
    return [node for node in files if node is not None]


def follow(aim: Aim, starts: Sequence[Node], trail: Trail) -> list[Chain]:
    """Follow one relation from the starts; return the ways that it went."""
    neighbours, backwards = _NEIGHBOURS[aim], aim not in FORWARD
    levels = math.inf if aim in _FAMILY else trail.depth  # who asks for all implementations means all

    def next_to(node: Node) -> Iterable[Edge]:
        edges = [edge for edge in neighbours(trail.graph, node) if edge.confidence >= trail.floor]
        if aim is Aim.CALLERS:  # a call of its type or of an overload is one of it
            edges = [e if e.target.id in trail.nodes else replace(e, target=node) for e in edges]
        paths = ((edge, (edge.source if backwards else edge.target).path) for edge in edges)
        ordered = sorted(paths, key=lambda each: (reading_order(each[1]), folders_apart(each[1], node.path)))
        return [edge for edge, _ in ordered]

    frontier, hop = [node for node in starts if trail.add(node, 0)], 0
    while frontier and hop < levels:
        hop += 1
        trail.tick(hop)
        frontier = [far for node in frontier for far in trail.reach(next_to(node), hop, backwards=backwards)]
    return trail.chains(starts, backwards=backwards)


def _of_type(graph: Graph, edge: Edge) -> Edge:
    """Return an extension's conformance as its type's; where it was declared stays as it is."""
    if edge.source.kind not in SATELLITE_KINDS:
        return edge
    homes = [node for node in graph.find(edge.source.name) if node.kind in TYPES]
    return replace(edge, source=homes[0]) if homes else edge


def _between_files(graph: Graph, edge: Edge) -> Edge:
    """Return an import of a name, as one of the file that defines it."""
    file = graph.node(edge.target.path)
    return replace(edge, target=file) if file is not None else edge


_BUT_IMPORTS = tuple(relation for relation in Relation if relation is not Relation.IMPORT)
"""A file's import of what it then uses says nothing more."""

_NEIGHBOURS: dict[Aim, Callable[[Graph, Node], Iterable[Edge]]] = {
    Aim.CALLERS: lambda g, node: [*g.callers(node, 0), *g.references_to(node, (Relation.DECORATE,), 0)],
    Aim.CALLEES: lambda g, node: g.callees(node, 0),
    Aim.IMPLEMENTATIONS: lambda g, node: [_of_type(g, e) for e in g.implementers(node, transitive=False)],
    Aim.SUPERTYPES: lambda g, node: [_of_type(g, edge) for edge in g.supertypes(node)],
    Aim.IMPORTERS: lambda g, node: [_between_files(g, edge) for edge in g.importers(node.path)],
    Aim.IMPORTS: lambda g, node: [_between_files(g, edge) for edge in g.imports_of(node.path)],
    Aim.USES: lambda g, node: g.references_to(node, _BUT_IMPORTS, 0),
    Aim.OVERRIDES: lambda g, node: [edge for edge in g.overrides(node) if edge.target.id == node.id],
}


STEPS_PER_LEVEL = 3
"""A way may have this many steps for each level of depth: it is one line through the code, no tree."""

MOST_SEEN = 20 * MOST_NODES
"""Nodes looked at on the way; more is a search through all of a large project."""


CallPath = tuple[Edge, ...]


def record_path(way: CallPath, trail: Trail) -> Chain:
    trail.add(way[0].source, 0)
    for hop, step in enumerate(way, 1):
        trail.add(step.target, hop)
        trail.link(step)
    return (way[0].source.id, *(step.target.id for step in way))


def find_path(starts: Sequence[Node], ends: Sequence[Node], trail: Trail) -> CallPath | None:
    """Return the shortest way by calls, what overrides the called, and functions that are passed on."""
    wanted = {node.id for node in ends}
    came_by: dict[str, Edge | None] = {node.id: None for node in starts}
    frontier = list(starts)
    for step in range(trail.depth * STEPS_PER_LEVEL):
        if step % STEPS_PER_LEVEL == 0:
            trail.tick(step // STEPS_PER_LEVEL + 1)
        reached: list[Node] = []
        for edge in (edge for node in frontier for edge in _onward(trail.graph, node)):
            trail.cancel.check()
            if edge.target.id in came_by or edge.confidence < trail.floor:
                continue
            came_by[edge.target.id] = edge
            reached.append(edge.target)
            if edge.target.id in wanted:
                return _trace_back(edge.target, came_by)
        frontier = reached
        if not frontier or len(came_by) > MOST_SEEN:
            break
    return None


def _onward(graph: Graph, node: Node) -> Iterator[Edge]:
    """Yield calls in the order of their lines, a declared method to those that override it, then values."""
    yield from graph.callees(node)
    for edge in graph.overrides(node):
        if edge.target.id == node.id:
            yield replace(edge, source=node, target=edge.source)
    yield from graph.edges_of(node, (Relation.VALUE,))


def _trace_back(end: Node, came_by: dict[str, Edge | None]) -> CallPath:
    way: CallPath = ()
    edge = came_by[end.id]
    while edge is not None:
        way = (edge, *way)
        edge = came_by[edge.source.id]
    return way
