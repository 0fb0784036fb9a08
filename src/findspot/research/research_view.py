"""One question's view of a project: its snapshot, graph and hits, and the walk outward from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from findspot.core.model import Hit, Query
from findspot.graph import Graph, Node, Outline
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
MAKERS = frozenset({"__init__", "__new__", "constructor", "init", "initialize", "__construct", "new"})
"""Names of constructors: making something is not yet doing anything with it."""


@dataclass
class ResearchView:
    """One question's view of a project."""

    reader: IndexReader
    trail: Trail
    _lines: dict[str, dict[int, str]] = field(default_factory=dict)
    _definitions: dict[str, list[Node]] = field(default_factory=dict)

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

    def text_of(self, node: Node) -> str:
        """Return the lines of a definition as the index has them."""
        self.cite(node.path, node.start_line)
        lines = self._lines[node.path]
        return "\n".join(
            lines.get(number, "") for number in range(node.start_line, node.end_line + 1)
        ).rstrip()

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
        if path not in self._definitions:
            outlines = self.graph.outline(path)
            self._definitions[path] = [node for outline in outlines for node in flat(outline)]
        return self._definitions[path]

    def functions(self, node: Node) -> list[Node]:
        """Return what of a definition can be called into: of a type its methods, its constructors last."""
        if node.kind not in TYPES | ADDITIONS:
            return [node]
        inside = [n for n in self.definitions(node.path) if n.id.startswith(f"{node.id}.")]
        return [n for n in inside if n.kind in _CALLED and n.name not in MAKERS] or [node, *inside]


def flat(outline: Outline) -> Iterator[Node]:
    """Yield a definition of an outline and all that it encloses."""
    yield outline.node
    for child in outline.children:
        yield from flat(child)


@dataclass
class Nearness:
    """How near code is to the root question: half by its words, half by its meaning."""

    snapshot: Snapshot
    question: Question
    _chunks: dict[str, list[StoredChunk]] = field(default_factory=dict)
    _known: dict[str, float] = field(default_factory=dict)

    @classmethod
    def to(cls, reader: IndexReader, text: str) -> Nearness:
        """Return the nearness to a question, read by the model of the index."""
        question = understand(reader.snapshot, reader.open_model(), Query(text=text))
        return cls(reader.snapshot, question)

    def of(self, node: Node) -> float:
        """0 to 1, by the nearest part of a definition; nothing for what the index no longer holds."""
        if node.id not in self._known:
            parts = (self._part(node, chunk) for chunk in self._chunks_of(node))
            self._known[node.id] = max(parts, default=0.0)
        return self._known[node.id]

    def _chunks_of(self, node: Node) -> list[StoredChunk]:
        if node.path not in self._chunks:
            found = self.snapshot.chunks.of_file(node.path)
            self._chunks[node.path] = [chunk for chunk in found if chunk.kind != "outline"]
        first, last = node.start_line, node.start_line if node.kind in TYPES else node.end_line
        return [c for c in self._chunks[node.path] if c.start_line <= last and c.end_line >= first]

    def _part(self, node: Node, chunk: StoredChunk) -> float:
        """Return how near the part of a definition is that lies in a chunk."""
        weights, query = self.question.term_weights, self.question.vector
        first = max(_described_from(node.start_line, chunk), chunk.start_line)
        own = chunk.text.split("\n")[first - chunk.start_line : node.end_line - chunk.start_line + 1]
        held = set(tokens(f"{node.qualified} {node.path}")).union(*map(tokens, own))
        likeness = self.snapshot.vectors.scores(query, [chunk.number]) if len(query) else {}
        cosine = likeness.get(chunk.number, 0.0) * self.question.scale
        return 0.5 * coverage(weights, held) + 0.5 * max(0.0, min(1.0, cosine))


_COMMENT = re.compile(r"\s*(?:/?\*|//|#|--|@)")


def _described_from(line: int, chunk: StoredChunk) -> int:
    """Return the first line of the comment and annotations right above a line of a chunk."""
    lines = chunk.text.split("\n")
    while chunk.start_line < line <= chunk.end_line and _COMMENT.match(lines[line - 1 - chunk.start_line]):
        line -= 1
    return line
