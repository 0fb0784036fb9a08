"""What the graph answers with: plain values that outlive the snapshot they were read from."""

from __future__ import annotations

from dataclasses import dataclass

from findspot.core.facts import Relation

FILE_KIND = "file"
"""The kind of the node that stands for a file, and runs what stands outside of any definition."""


PACKAGE = "package"
"""Mark of an import of a package that hands a name on: what defines the name is an edge of its own."""

FAR = "far"
"""The mark of an edge from a method to one that it overrides beyond the nearest."""


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """A definition, or a file; the id stays the same as long as its path and name do."""

    path: str
    start_line: int
    end_line: int
    name: str
    qualified: str
    """With the names of what encloses it: `Class.method`."""
    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Edge:
    """One reference, resolved: `source` refers to `target` at a line of `path`."""

    source: Node
    target: Node
    relation: Relation
    path: str
    line: int
    confidence: float
    mark: str = ""
    """Of an import: `typing`, `local` (`core.facts`), `package`, or nothing where it runs with its file. Of
    an override: `far`, or nothing where it is the nearest."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A reference whose target is outside of the project or in doubt, and the candidates if any."""

    source: Node
    name: str
    receiver: str
    relation: Relation
    path: str
    line: int
    reason: str
    """`external`, `unknown`, `ambiguous` or `given up`."""
    candidates: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """A definition of a file with the definitions inside of it."""

    node: Node
    children: tuple[Outline, ...] = ()
