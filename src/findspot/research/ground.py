"""What research stands on: one snapshot, its graph, and hybrid search for questions in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from findspot.core.model import Hit, Query
from findspot.graph import Graph, Node, Outline
from findspot.research.findings import Citation
from findspot.research.module_map import code_files
from findspot.research.trail import Trail
from findspot.research.walks import ADDITIONS, TYPES
from findspot.search.reader import IndexReader

SEED_HITS = 10
_LINE_CHARS = 200
_CALLED = frozenset({"function", "method"})
_MAKERS = frozenset({"__init__", "__new__", "constructor", "init", "initialize", "__construct", "new"})
"""Names of constructors: making something is not yet doing anything with it."""


@dataclass
class Ground:
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
