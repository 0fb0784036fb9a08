"""The way from one place to another: the shortest chain of calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from findspot.graph import Edge, Graph, Node, Relation
from findspot.research.trail import MOST_NODES, Chain, Trail

STEPS_A_LEVEL = 3
"""A way may have this many steps for each level of depth: it is one line through the code, no tree."""

MOST_SEEN = 20 * MOST_NODES
"""Nodes looked at on the way; more is a search through all of a large project."""


Way = tuple[Edge, ...]


def take(way: Way, trail: Trail) -> Chain:
    """Write a way down from its beginning."""
    trail.add(way[0].source, 0)
    for hop, step in enumerate(way, 1):
        trail.add(step.target, hop)
        trail.link(step)
    return (way[0].source.id, *(step.target.id for step in way))


def longest_way(starts: Sequence[Node], ends: Sequence[Node], trail: Trail) -> Way | None:
    """Of the shortest ways from each start, the longest: the others begin somewhere along it.

    For starts that search found; of ways of the same length, one without overrides is surer.
    """
    found = [way for node in starts if (way := find_way([node], ends, trail)) is not None]
    return max(found, key=lambda way: (len(way), -_dispatches(way)), default=None)


def _dispatches(way: Way) -> int:
    return sum(step.relation is Relation.OVERRIDE for step in way)


def find_way(starts: Sequence[Node], ends: Sequence[Node], trail: Trail) -> Way | None:
    """The shortest way by calls and by what overrides the called; None when there is none."""
    wanted = {node.id for node in ends}
    came_by: dict[str, Edge | None] = {node.id: None for node in starts}
    frontier = list(starts)
    for step in range(trail.depth * STEPS_A_LEVEL):
        if step % STEPS_A_LEVEL == 0:
            trail.tick(step // STEPS_A_LEVEL + 1)
        reached: list[Node] = []
        for edge in (edge for node in frontier for edge in _onward(trail.graph, node)):
            trail.cancel.check()
            if edge.target.id in came_by or not trail.covers(edge.target.path):
                continue
            came_by[edge.target.id] = edge
            reached.append(edge.target)
            if edge.target.id in wanted:
                return _back_from(edge.target, came_by)
        frontier = reached
        if not frontier or len(came_by) > MOST_SEEN:
            break
    return None


def _onward(graph: Graph, node: Node) -> Iterator[Edge]:
    """Calls in the order of their lines; a call of a declared method goes on in those that override it."""
    yield from graph.callees(node)
    for edge in graph.overrides(node):
        if edge.target.id == node.id:
            yield replace(edge, source=node, target=edge.source)


def _back_from(end: Node, came_by: dict[str, Edge | None]) -> Way:
    edges: list[Edge] = []
    edge = came_by[end.id]
    while edge is not None:
        edges.append(edge)
        edge = came_by[edge.source.id]
    return tuple(reversed(edges))
