"""A walk over the graph: how far it may go, what it has come to, and the ways it went."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from findspot.core.progress import CancelToken
from findspot.graph import Edge, Graph, Node
from findspot.research.findings import DEFAULT_DEPTH

MOST_NODES = 200
"""A walk that finds more has left the question behind; the answer says that it stopped."""

MOST_CHAINS = 30

Chain = tuple[str, ...]


def _unheard(_hop: int) -> None:
    """For walks that nobody watches."""


@dataclass(slots=True)
class Trail:
    """Nodes with the hop that found them, and the edges between them."""

    graph: Graph
    depth: int = DEFAULT_DEPTH
    under: str | None = None
    """The folder that the question is limited to."""
    tick: Callable[[int], None] = _unheard
    """Told the number of each hop before it is taken."""
    cancel: CancelToken = field(default_factory=CancelToken)
    nodes: dict[str, tuple[Node, int]] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    full: bool = False
    _paths: set[str] = field(default_factory=set)

    def add(self, node: Node, hop: int) -> bool:
        """Return whether it is new and there is room for it."""
        if node.id in self.nodes or not self.covers(node.path):
            return False
        if len(self.nodes) >= MOST_NODES:
            self.full = True
            return False
        self.nodes[node.id] = (node, hop)
        return True

    def covers(self, path: str) -> bool:
        return self.under is None or path.startswith(f"{self.under}/")

    def reaches_into(self, path: str) -> bool:
        """Return whether a file may still hold something for it: once full, those of its own nodes only."""
        if not self.full:
            return True
        self._paths = self._paths or {node.path for node, _ in self.nodes.values()}
        return path in self._paths

    def link(self, edge: Edge) -> None:
        """Keep an edge whose two ends are here."""
        if edge.source.id in self.nodes and edge.target.id in self.nodes:
            self.edges[edge] = None

    def spread(
        self,
        starts: Sequence[Node],
        neighbours: Callable[[Node], Iterable[Edge]],
        depth: int | None,
        *,
        backwards: bool = False,
    ) -> None:
        """Follow edges from the starts, hop by hop; backwards from their targets to their sources."""
        frontier = [node for node in starts if self.add(node, 0)]
        hop = 0
        while frontier and (depth is None or hop < depth):
            hop += 1
            self.tick(hop)
            reached = []
            for node in frontier:
                self.cancel.check()
                for edge in neighbours(node):
                    far = edge.source if backwards else edge.target
                    if self.add(far, hop):
                        reached.append(far)
                    self.link(edge)
            frontier = reached

    def chains(self, starts: Iterable[Node], *, backwards: bool = False) -> list[Chain]:
        """Return the longest ways from the starts that do not cross themselves, told from first to last."""
        onward: dict[str, list[str]] = {}
        for edge in self.edges:
            near, far = (edge.target, edge.source) if backwards else (edge.source, edge.target)
            if far.id not in onward.setdefault(near.id, []):
                onward[near.id].append(far.id)
        found: list[Chain] = []
        for start in starts:
            _extend((start.id,), onward, found)
        return [way[::-1] for way in found] if backwards else found


def _extend(way: Chain, onward: dict[str, list[str]], found: list[Chain]) -> None:
    if len(found) >= MOST_CHAINS:
        return
    further = [node for node in onward.get(way[-1], ()) if node not in way]
    if not further and len(way) > 1:
        found.append(way)
    for node in further:
        _extend((*way, node), onward, found)
