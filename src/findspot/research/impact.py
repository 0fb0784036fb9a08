"""What depends on a symbol, a file or a diff: by distance and confidence, production code before tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

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

MOST_SUBJECTS = 200
"""Changed definitions that are followed."""

MOST_LEFTOVERS = 100

_CARRIES = frozenset({Relation.CALL, Relation.DECORATE, Relation.INHERIT, Relation.OVERRIDE, Relation.VALUE})
"""Relations by which a change reaches further than to the next definition. A function that is registered is
called by whoever it was given to.
"""

_ENDS = frozenset({Relation.IMPORT, Relation.TYPE_USE})


class Certainty(StrEnum):
    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


def certainty_of(confidence: float) -> Certainty:
    """Return what the confidence of an edge is worth, in a word."""
    if confidence >= CERTAIN:
        return Certainty.CERTAIN
    return Certainty.LIKELY if confidence >= FLOOR else Certainty.POSSIBLE


@dataclass(frozen=True, slots=True)
class Affected:
    """A definition or file that a change reaches, with the references by which it does."""

    edges: tuple[Edge, ...]
    distance: int
    confidence: float
    """Of the weakest reference on the way."""

    @property
    def node(self) -> Node:
        return self.edges[0].source

    @property
    def in_test(self) -> bool:
        return role_of(self.node.path) is Role.TEST


@dataclass(frozen=True, slots=True)
class Impact:
    """Everything that depends on some definitions, as far as it is known."""

    subjects: tuple[Node, ...]
    affected: tuple[Affected, ...] = ()
    leftovers: tuple[Leftover, ...] = ()
    left_out: int = 0
    """Reached, and not reported."""


@dataclass(slots=True)
class _Walk:
    graph: Graph
    found: dict[str, Affected] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    room: dict[bool, int] = field(default_factory=lambda: {True: MOST_AFFECTED, False: MOST_AFFECTED})

    def reach(self, edge: Edge, distance: int, confidence: float) -> bool:
        """Record what a reference reaches; return whether the change may go on from there."""
        node = edge.source
        if (known := self.found.get(node.id)) is not None and known.distance == distance:
            best = max(known.confidence, confidence)
            self.found[node.id] = replace(known, edges=(*known.edges, edge), confidence=best)
            return False
        if node.id in self.known:
            return False
        reached = Affected((edge,), distance, confidence)
        if not self.room[reached.in_test]:
            self.left_out.add(node.id)
            return False
        self.room[reached.in_test] -= 1
        self.known.add(node.id)
        self.found[node.id] = reached
        return edge.relation not in _ENDS and node.kind != FILE_KIND


def impact_of(
    graph: Graph,
    subjects: Sequence[Node],
    depth: int,
    gone: Iterable[Node] = (),
    cancel: CancelToken | None = None,
) -> Impact:
    """Return what depends on definitions, and the uses that removed ones leave behind."""
    cancel = cancel or CancelToken()
    walk = _Walk(graph, known={node.id for node in subjects})
    frontier = [(node, 1.0) for node in subjects[:MOST_SUBJECTS]]
    for distance in range(1, depth + 1):
        reached: list[tuple[Node, float]] = []
        for node, confidence in frontier:
            cancel.check()
            for edge in _dependents(graph, node, first=distance == 1):
                weakest = min(confidence, edge.confidence)
                if walk.reach(edge, distance, weakest):
                    reached.append((edge.source, weakest))
        frontier = reached
    uses = (leftover for node in gone for leftover in graph.leftovers.of(node))
    left = {(each.use.path, each.use.line, each.use.name): each for each in uses}
    return Impact(
        tuple(subjects),
        tuple(sorted(walk.found.values(), key=_order)),
        tuple(sorted(left.values(), key=lambda leftover: not leftover.certain))[:MOST_LEFTOVERS],
        len(walk.left_out) + max(0, len(subjects) - MOST_SUBJECTS),
    )


def _order(affected: Affected) -> tuple[bool, bool, int, float, int, int, str, int]:
    """Production code before tests, certain before likely, near before far, also by folders."""
    unsure = affected.confidence < CERTAIN
    edge = affected.edges[0]
    apart = folders_apart(edge.path, edge.target.path)
    place = reading_order(edge.path), apart, edge.path, edge.line
    return affected.in_test, unsure, affected.distance, -affected.confidence, *place


def _dependents(graph: Graph, node: Node, *, first: bool) -> list[Edge]:
    """Return the references to a definition or file, those of production code first."""
    if node.kind == FILE_KIND:
        edges = graph.importers(node.path)
    else:
        relations = [relation for relation in Relation if first or relation in _CARRIES]
        edges = list(_references(graph, node, relations))
    own = node.id
    others = (e for e in edges if e.source.id != own)
    return sorted(others, key=lambda e: (reading_order(e.path), folders_apart(e.path, node.path)))


def _references(graph: Graph, node: Node, relations: Sequence[Relation]) -> Iterator[Edge]:
    yield from graph.callers(node, DISPATCHED)
    yield from graph.references_to(node, [r for r in relations if r is not Relation.CALL])
