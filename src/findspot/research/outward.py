"""Questions in plain words: begin at what search finds, and walk outward to what matters for the question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from findspot.core.model import Query
from findspot.graph import Edge, Graph, Node, Relation
from findspot.rank.calibrate import coverage
from findspot.research.ground import Ground
from findspot.search.questions import Question, understand
from findspot.search.reader import IndexReader
from findspot.store.records import StoredChunk
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import tokens

INHERITED = 0.4
"""Of a node's score comes from where it was reached from, the rest from its own likeness to the question."""

KEPT_A_HOP = 15
MIN_KEPT = 3
_FLAT = 0.02
"""Scores that fall so evenly have no elbow."""

_OUT = (Relation.CALL, Relation.INHERIT, Relation.TYPE_USE, Relation.DECORATE)
_IN = (Relation.CALL, Relation.INHERIT)


@dataclass
class Nearness:
    """How near code is to the root question: half by its words, half by its meaning."""

    snapshot: Snapshot
    question: Question
    _chunks: dict[str, list[StoredChunk]] = field(default_factory=dict)

    @classmethod
    def to(cls, reader: IndexReader, text: str) -> Nearness:
        """Return the nearness to a question, read by the model of the index."""
        question = understand(reader.snapshot, reader.models.open_first(), Query(text=text))
        return cls(reader.snapshot, question)

    def of(self, node: Node) -> float:
        """0 to 1; nothing for what the index no longer holds."""
        if node.path not in self._chunks:
            found = self.snapshot.chunks.of_file(node.path)
            self._chunks[node.path] = [chunk for chunk in found if chunk.kind != "outline"]
        chunks = self._chunks[node.path]
        chunk = next((c for c in chunks if c.start_line <= node.start_line <= c.end_line), None)
        if chunk is None:
            return 0.0
        lines = chunk.text.split("\n")
        own = lines[node.start_line - chunk.start_line : node.end_line - chunk.start_line + 1]
        held = set(tokens(" ".join((node.qualified, node.path, *own))))
        query = self.question.vector
        likeness = self.snapshot.vectors.scores(query, [chunk.number]) if len(query) else {}
        cosine = likeness.get(chunk.number, 0.0) * self.question.scale
        return 0.5 * coverage(self.question.term_weights, held) + 0.5 * max(0.0, min(1.0, cosine))


@dataclass(frozen=True, slots=True)
class Reached:
    """How an outward walk went."""

    seeds: tuple[Node, ...]
    cut: tuple[str, ...]
    """Names that were come to and left out at the elbow, best first."""


def walk_outward(ground: Ground, text: str) -> Reached:
    """search → cut at the elbow → hop by hop: neighbours, scored against the question, cut again."""
    trail = ground.trail
    found = ground.seeds(text)
    found = found[: elbow([hit.score for _, hit in found])]
    scores = {node.id: hit.score for node, hit in found}
    for node, _ in found:
        trail.add(node, 0)
    near = Nearness.to(ground.reader, text) if found else None
    frontier, left = [node for node, _ in found], []
    for hop in range(1, trail.depth + 1):
        if not frontier or near is None:
            break
        trail.tick(hop)
        ranked = _ranked(ground, frontier, scores, near)
        kept = ranked[: min(KEPT_A_HOP, elbow([score for score, _ in ranked]))]
        left += [(score, node.qualified) for score, node in ranked[len(kept) :]]
        scores.update({node.id: score for score, node in kept})
        frontier = [node for _, node in kept if trail.add(node, hop)]
    _link_all(ground)
    names = [name for _, name in sorted(left, key=lambda item: (-item[0], item[1]))]
    return Reached(tuple(node for node, _ in found), tuple(dict.fromkeys(names)))


def _ranked(
    ground: Ground, frontier: Sequence[Node], scores: dict[str, float], near: Nearness
) -> list[tuple[float, Node]]:
    """Return what lies next to the frontier, the best first."""
    best: dict[str, tuple[float, Node]] = {}
    for node in frontier:
        ground.trail.cancel.check()
        for edge in _around(ground.graph, node):
            far = edge.target if edge.source.id == node.id else edge.source
            if far.id in ground.trail.nodes or not ground.trail.covers(far.path):
                continue
            inherited = scores[node.id] * edge.confidence
            if far.id not in best or inherited > best[far.id][0]:
                best[far.id] = (inherited, far)
    own = 1 - INHERITED
    ranked = [(INHERITED * inherited + own * near.of(node), node) for inherited, node in best.values()]
    return sorted(ranked, key=lambda item: (-item[0], item[1].id))


def _around(graph: Graph, node: Node) -> Iterator[Edge]:
    yield from graph.edges_of(node, _OUT)
    yield from graph.references_to(node, _IN)


def _link_all(ground: Ground) -> None:
    """Link the nodes that were kept by the edges between them."""
    for node, _ in list(ground.trail.nodes.values()):
        for edge in ground.graph.edges_of(node, _OUT):
            if edge.source.id != edge.target.id:
                ground.trail.link(edge)


def elbow(scores: Sequence[float]) -> int:
    """Return how many to keep of falling scores: those before they fall furthest below their even decline."""
    last = len(scores) - 1
    if last < MIN_KEPT or scores[0] <= scores[-1]:
        return len(scores)
    step = (scores[-1] - scores[0]) / last
    gaps = [scores[0] + step * place - score for place, score in enumerate(scores)]
    place = gaps.index(max(gaps))
    return len(scores) if gaps[place] < _FLAT else max(MIN_KEPT, place)
