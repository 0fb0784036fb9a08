"""One question's view of a project: its snapshot, graph and hits, and the walk outward from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from findspot.core.model import Hit, Query
from findspot.graph import Edge, Graph, Node, Outline, Relation
from findspot.rank.signals import coverage
from findspot.research.findings import Citation
from findspot.research.graph_walks import ADDITIONS, TYPES, Trail
from findspot.research.module_map import code_files
from findspot.search.questions import Question, understand
from findspot.search.reader import IndexReader
from findspot.store.records import StoredChunk
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import tokens

SEED_HITS = 10
_LINE_CHARS = 200
_CALLED = frozenset({"function", "method"})
_MAKERS = frozenset({"__init__", "__new__", "constructor", "init", "initialize", "__construct", "new"})
"""Names of constructors: making something is not yet doing anything with it."""


@dataclass
class ResearchView:
    """One question's view of a project."""

    reader: IndexReader
    trail: Trail
    _lines: dict[str, dict[int, str]] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        return self.trail.graph

    @cached_property
    def paths(self) -> list[str]:
        """The code files that the question may be answered from."""
        return [path for path in code_files(self.reader.snapshot) if self.trail.covers(path)]

    def cite(self, path: str, line: int) -> Citation:
        """Return a line as the index has it."""
        if path not in self._lines:
            self._lines[path] = dict(self._numbered(path))
        return Citation(path, line, self._lines[path].get(line, "").strip()[:_LINE_CHARS])

    def _numbered(self, path: str) -> Iterator[tuple[int, str]]:
        for chunk in reversed(
            self.reader.snapshot.chunks.of_file(path)
        ):  # of a long line the first piece counts
            if chunk.kind != "outline":  # which is generated, and has no lines of the file's
                yield from enumerate(chunk.text.split("\n"), chunk.start_line)

    def seeds(self, text: str, limit: int = SEED_HITS) -> list[tuple[Node, Hit]]:
        """Return where to begin with a question in plain words, best first."""
        query = Query(text=text, limit=limit, under=self.trail.under)
        found = ((self.node_of(hit), hit) for hit in self.reader.search_indexed(query))
        first: dict[str, tuple[Node, Hit]] = {}
        for node, hit in found:
            first.setdefault(node.id, (node, hit))
        return list(first.values())

    def node_of(self, hit: Hit) -> Node:
        """Return the definition that a hit shows; of what the graph does not know, the passage itself."""
        line = hit.focus or hit.span.start
        inside = [node for node in self.definitions(hit.path) if node.start_line <= line <= node.end_line]
        if inside:
            return max(inside, key=lambda node: (node.start_line, -node.end_line))
        begun = [n for n in self.definitions(hit.path) if hit.span.start <= n.start_line <= hit.span.end]
        if begun:
            return begun[0]
        name = hit.breadcrumb or hit.path.rpartition("/")[2]
        place = f"{hit.path}:{hit.span.start}-{hit.span.end}"
        return Node(hit.path, hit.span.start, hit.span.end, name, name, hit.kind, place)

    def definitions(self, path: str) -> list[Node]:
        """Return everything that a file defines, in the order of its lines."""
        return [node for outline in self.graph.outline(path) for node in flat(outline)]

    def functions(self, node: Node) -> list[Node]:
        """Return what of a definition can be called into: of a type its methods, its constructors last."""
        if node.kind not in TYPES | ADDITIONS:
            return [node]
        inside = [n for n in self.definitions(node.path) if n.id.startswith(f"{node.id}.")]
        return [n for n in inside if n.kind in _CALLED and n.name not in _MAKERS] or [node, *inside]


def flat(outline: Outline) -> Iterator[Node]:
    """Yield a definition of an outline and all that it encloses."""
    yield outline.node
    for child in outline.children:
        yield from flat(child)


INHERITED = 0.4
"""Of a node's score comes from where it was reached from, the rest from its own likeness to the question."""

MAX_PER_HOP = 15
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
    """Names that were reached and left out at the elbow, best first."""


def walk_outward(view: ResearchView, text: str) -> Reached:
    """search → cut at the elbow → hop by hop: neighbours, scored against the question, cut again."""
    trail = view.trail
    found = view.seeds(text)
    found = found[: elbow([found[0][1].score * hit.relative for _, hit in found])]
    scores = {node.id: found[0][1].score * hit.relative for node, hit in found}
    for node, _ in found:
        trail.add(node, 0)
    near = Nearness.to(view.reader, text) if found else None
    frontier, left = [node for node, _ in found], []
    for hop in range(1, trail.depth + 1):
        if not frontier or near is None:
            break
        trail.tick(hop)
        ranked = _ranked(view, frontier, scores, near)
        kept = ranked[: min(MAX_PER_HOP, elbow([score for score, _ in ranked]))]
        left += [(score, node.qualified) for score, node in ranked[len(kept) :]]
        scores.update({node.id: score for score, node in kept})
        frontier = [node for _, node in kept if trail.add(node, hop)]
    _link_all(view)
    names = [name for _, name in sorted(left, key=lambda item: (-item[0], item[1]))]
    return Reached(tuple(node for node, _ in found), tuple(dict.fromkeys(names)))


def _ranked(
    view: ResearchView, frontier: Sequence[Node], scores: dict[str, float], near: Nearness
) -> list[tuple[float, Node]]:
    """Return what lies next to the frontier, the best first."""
    best: dict[str, tuple[float, Node]] = {}
    for node in frontier:
        view.trail.cancel.check()
        for edge in _around(view.graph, node):
            far = edge.target if edge.source.id == node.id else edge.source
            if far.id in view.trail.nodes or not view.trail.covers(far.path):
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


def _link_all(view: ResearchView) -> None:
    """Link the nodes that were kept by the edges between them."""
    for node, _ in list(view.trail.nodes.values()):
        for edge in view.graph.edges_of(node, _OUT):
            if edge.source.id != edge.target.id:
                view.trail.link(edge)


def elbow(scores: Sequence[float]) -> int:
    """Return how many to keep of falling scores: those before they fall furthest below their even decline."""
    last = len(scores) - 1
    if last < MIN_KEPT or scores[0] <= scores[-1]:
        return len(scores)
    step = (scores[-1] - scores[0]) / last
    gaps = [scores[0] + step * place - score for place, score in enumerate(scores)]
    place = gaps.index(max(gaps))
    return len(scores) if gaps[place] < _FLAT else max(MIN_KEPT, place)
