"""What depends on a symbol, a file or a diff: by distance and confidence, production code before tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from findspot.core.progress import CancelToken
from findspot.graph import Edge, Graph, Node, Relation
from findspot.graph.edges import FILE_KIND
from findspot.graph.possible_uses import Leftover
from findspot.graph.values import DISPATCHED, FLOOR, STRUCTURAL
from findspot.rank.roles import Role, folders_apart, reading_order, role_of

CERTAIN = STRUCTURAL
"""From this confidence on, a dependent is called certain."""

MOST_AFFECTED = 200
"""Definitions that are reported, production code and tests each; the rest is counted."""

MOST_FOLLOWED = 200
"""Changed definitions, and those at each further distance, whose dependents are looked for."""

MOST_LEFTOVERS = 100

_CARRIES = frozenset({Relation.CALL, Relation.DECORATE, Relation.INHERIT, Relation.OVERRIDE, Relation.VALUE})
"""Relations by which a change reaches further than to the next definition. A function that is registered is
called by whoever it was given to.
"""


def certainty_of(confidence: float) -> str:
    """Return what the confidence of an edge is worth, in a word."""
    if confidence >= CERTAIN:
        return "certain"
    return "likely" if confidence >= FLOOR else "possible"


@dataclass(frozen=True, slots=True)
class Affected:
    """A definition or file that a change reaches, with the references by which it does."""

    edges: tuple[Edge, ...]
    distance: int
    confidence: float
    """Of the weakest reference on the best way."""

    @property
    def node(self) -> Node:
        return self.edges[0].source

    @property
    def in_test(self) -> bool:
        return role_of(self.node.path) is Role.TEST


@dataclass(frozen=True, slots=True)
class Impact:
    """Everything that depends on some definitions, as far as it is known."""

    affected: tuple[Affected, ...]
    leftovers: tuple[Leftover, ...]
    left_out: int
    """Reached, and not reported; or changed, and not followed."""


def impact_of(
    graph: Graph,
    subjects: Sequence[Node],
    depth: int,
    gone: Iterable[Node] = (),
    cancel: CancelToken | None = None,
) -> Impact:
    """Return what depends on definitions, and the uses that removed ones leave behind."""
    cancel = cancel or CancelToken()
    found = {node.id: 1.0 for node in subjects}
    affected: list[Affected] = []
    frontier = list(subjects)
    left_out = max(0, len(subjects) - MOST_FOLLOWED)
    for distance in range(1, depth + 1):
        reached: dict[str, list[tuple[Edge, float]]] = {}
        for node in frontier[:MOST_FOLLOWED]:
            cancel.check()
            for edge in _dependents(graph, node, first=distance == 1):
                if edge.source.id not in found:
                    weakest = min(found[node.id], edge.confidence)
                    reached.setdefault(edge.source.id, []).append((edge, weakest))
        found |= {name: max(sure for _, sure in ways) for name, ways in reached.items()}
        affected += [
            Affected(tuple(edge for edge, _ in ways), distance, found[name]) for name, ways in reached.items()
        ]
        carried = (ways[0][0] for ways in reached.values())
        frontier = [e.source for e in carried if e.relation in _CARRIES and e.source.kind != FILE_KIND]
    affected.sort(key=_order)
    tests = [each for each in affected if each.in_test]
    production = [each for each in affected if not each.in_test]
    shown = (*production[:MOST_AFFECTED], *tests[:MOST_AFFECTED])
    uses = (leftover for node in gone for leftover in graph.leftovers.of(node))
    left = {(each.use.path, each.use.line, each.use.name): each for each in uses}
    certain_first = sorted(left.values(), key=lambda leftover: not leftover.certain)
    return Impact(shown, tuple(certain_first[:MOST_LEFTOVERS]), left_out + len(affected) - len(shown))


def _order(affected: Affected) -> tuple[bool, int, float, int, int, str, int]:
    """Certain before likely, near before far, also by folders."""
    unsure = affected.confidence < CERTAIN
    edge = affected.edges[0]
    apart = folders_apart(edge.path, edge.target.path)
    place = reading_order(edge.path), apart, edge.path, edge.line
    return unsure, affected.distance, -affected.confidence, *place


def _dependents(graph: Graph, node: Node, *, first: bool) -> list[Edge]:
    """Return the references to a definition or file, those of production code first."""
    if node.kind == FILE_KIND:
        edges = graph.importers(node.path)
    else:
        relations = set(Relation if first else _CARRIES) - {Relation.CALL}
        edges = [*graph.callers(node, DISPATCHED), *graph.references_to(node, sorted(relations))]
    others = (edge for edge in edges if edge.source.id != node.id)
    return sorted(others, key=lambda e: (reading_order(e.path), folders_apart(e.path, node.path)))
