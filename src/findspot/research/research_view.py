"""One question's view of a project: its snapshot, graph and hits, and the walk outward from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from findspot.core.model import Hit
from findspot.graph import Graph, Node, Outline, Unresolved
from findspot.graph.possible_uses import PossibleUse
from findspot.research.findings import Citation, PossiblePlace
from findspot.research.graph_walks import Trail
from findspot.research.module_map import code_files
from findspot.search.reader import IndexReader

_LINE_CHARS = 200


@dataclass
class ResearchView:
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
        if path not in self._lines:
            self._lines[path] = dict(self._numbered(path))
        return Citation(path, line, self._lines[path].get(line, "").strip()[:_LINE_CHARS])

    def possible(self, use: PossibleUse | Unresolved, reason: str, confidence: float) -> PossiblePlace:
        text = self.cite(use.path, use.line).text
        return PossiblePlace(use.path, use.line, use.source.qualified, reason, confidence, text)

    def has_line(self, path: str, line: int) -> bool:
        """Return whether a file is that long, as far as the index has its text."""
        self.cite(path, line)
        return not self._lines[path] or line <= max(self._lines[path]) + 1

    def text_of(self, node: Node, most: int) -> str:
        """Return the first lines of a definition as the index has them."""
        self.cite(node.path, node.start_line)
        lines = self._lines[node.path]
        return "\n".join(
            lines.get(number, "")
            for number in range(node.start_line, min(node.end_line + 1, node.start_line + most))
        ).rstrip()

    def _numbered(self, path: str) -> Iterator[tuple[int, str]]:
        for chunk in reversed(
            self.reader.snapshot.chunks.of_file(path)
        ):  # of a long line the first piece counts
            if chunk.kind != "outline":  # which is generated, and has no lines of the file's
                yield from enumerate(chunk.text.split("\n"), chunk.start_line)

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
        if path not in self._definitions:
            outlines = self.graph.outline(path)
            self._definitions[path] = [node for outline in outlines for node in flat(outline)]
        return self._definitions[path]

    def node_at(self, path: str, line: int) -> Node | None:
        """Return the innermost definition around a line; the file where it lies in none."""
        inside = [node for node in self.definitions(path) if node.start_line <= line <= node.end_line]
        return max(inside, key=lambda n: (n.start_line, -n.end_line), default=self.graph.node(path))

    def path_named(self, name: str) -> str | None:
        """Return the indexed file that a path means, as a trace writes it; None if that is unclear."""
        known = self.reader.snapshot.files
        parts = name.replace("\\", "/").split("/")
        for first in range(len(parts)):
            tail = "/".join(parts[first:])
            if known.find(tail) is not None:
                return tail
            if first or len(parts) == 1:
                ends = [file.path for file in known.files if file.path.endswith(f"/{tail}")]
                if ends:
                    return ends[0] if len(ends) == 1 else None
        return None


def flat(outline: Outline) -> Iterator[Node]:
    """Yield a definition of an outline and all that it encloses."""
    yield outline.node
    for child in outline.children:
        yield from flat(child)
