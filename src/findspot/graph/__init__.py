"""The reference graph: who calls, uses, imports, inherits, overrides and decorates what."""

from findspot.core.facts import Relation
from findspot.graph.edges import Edge, Node, Outline, Unresolved
from findspot.graph.graph import Graph

__all__ = ["Edge", "Graph", "Node", "Outline", "Relation", "Unresolved"]
