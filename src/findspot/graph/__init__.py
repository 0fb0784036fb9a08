"""The reference graph: who calls, uses, imports, inherits, overrides and decorates what."""

from findspot.core.facts import Relation
from findspot.graph.graph import Graph
from findspot.graph.model import Edge, Node, Outline, Unresolved

__all__ = ["Edge", "Graph", "Node", "Outline", "Relation", "Unresolved"]
