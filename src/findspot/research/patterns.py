"""What a project does again and again: bases with several implementers, decorators, endings of names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from findspot.graph import Edge, Node, Relation
from findspot.rank.roles import Role, role_of
from findspot.research.graph_walks import TYPES
from findspot.research.research_view import ResearchView
from findspot.text.tokens import stem, word_parts

MIN_TIMES = 3
"""Twice may be chance."""

MIN_IMPLEMENTERS = 2
"""But a base with two implementers was made for them."""

MOST_PATTERNS = 8
MOST_MEMBERS = 12


@dataclass(slots=True)
class Pattern:
    """Something that recurs, and where."""

    what: str
    words: tuple[str, ...]
    base: Node | None = None
    members: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def add(self, node: Node, edge: Edge | None = None) -> None:
        self.members.setdefault(node.id, node)
        if edge is not None:
            self.edges.append(edge)


def find_patterns(view: ResearchView, wanted: Sequence[str]) -> list[Pattern]:
    """Return the patterns that the question's words name first, then the most frequent."""
    gathered: dict[str, Pattern] = {}
    for path in view.paths:
        view.trail.cancel.check()
        if role_of(path) is Role.SOURCE:
            for node in view.definitions(path):
                _read(view, node, gathered)
    stems = {stem(word) for word in wanted}
    frequent = [pattern for key, pattern in gathered.items() if len(pattern.members) >= _least(key)]
    frequent = [p for p in frequent if not _is_part_of_another(p, frequent)]

    def order(pattern: Pattern) -> tuple[int, bool, int, str]:
        named = len(stems.intersection(stem(word) for word in pattern.words))
        return -named, pattern.base is None, -len(pattern.members), pattern.what

    return sorted(frequent, key=order)[:MOST_PATTERNS]


def _least(key: str) -> int:
    return MIN_IMPLEMENTERS if key.startswith(Relation.INHERIT) else MIN_TIMES


def _is_part_of_another(pattern: Pattern, others: Sequence[Pattern]) -> bool:
    """Return an ending that is the name of a base says nothing more than the base does."""
    bases = (other.words[-1:] for other in others if other.base is not None)
    return pattern.base is None and not pattern.edges and pattern.words in bases


def _read(view: ResearchView, node: Node, gathered: dict[str, Pattern]) -> None:
    for edge in view.graph.edges_of(node, (Relation.INHERIT, Relation.DECORATE)):
        if edge.source.id == node.id:
            verb = "decorated with" if edge.relation is Relation.DECORATE else "built on"
            key = f"{edge.relation}:{edge.target.id}"
            what = f"{verb} {edge.target.qualified}"
            gathered.setdefault(key, _pattern(what, edge.target.name, edge.target)).add(node, edge)
    for unknown in view.graph.unresolved(node):
        if unknown.relation in (Relation.INHERIT, Relation.DECORATE):
            verb = "decorated with" if unknown.relation is Relation.DECORATE else "built on"
            key = f"{unknown.relation}:{unknown.name}"
            gathered.setdefault(key, _pattern(f"{verb} {unknown.name}", unknown.name)).add(node)
    ending = word_parts(node.name)[-1:]
    if node.kind in TYPES and ending and len(word_parts(node.name)) > 1:
        gathered.setdefault(
            f"ending:{ending[0]}", _pattern(f"named …{ending[0].capitalize()}", ending[0])
        ).add(node)


def _pattern(what: str, name: str, base: Node | None = None) -> Pattern:
    return Pattern(what, word_parts(name), base)
