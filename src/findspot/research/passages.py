"""The code that carries an answer: which definitions, around which line, and where they go on unseen."""

from __future__ import annotations

import re
from collections.abc import Sequence

from findspot.core.model import Hit, Span
from findspot.graph import Node, Relation
from findspot.research.connections import Connections, Found, Way, nodes_of
from findspot.research.graph_walks import TYPES
from findspot.research.research_view import ResearchView

MOST_PASSAGES = 6
"""Three carry the answer; more are shown where those are short."""

ON_CHAIN, ON_FLOW = 0.15, 0.4
"""Added to the value of a definition on the first chain when passages are chosen; more where a flow is
asked for."""

DECLARED, DELEGATES, TYPE = 0.4, 0.2, 0.3
"""Taken from that of a method that only declares what another one does, of one that hands over to another one
of its name, and of a type: its methods say more."""

SIZE, WHOLE = 0.1, 15
"""Added for a definition of so many lines, and less for a shorter one: three lines explain little."""

SHORT = 2
"""Lines below the first one, at most, of a method that may only declare something."""

_LEFT_OPEN = re.compile(r"NotImplemented|\babstract\b|UnsupportedOperation|not implemented", re.IGNORECASE)


def choose(connections: Connections, ways: Sequence[Way], end: Node | None, *, is_flow: bool) -> list[Found]:
    """Return the definitions that carry the answer, the best first: none inside another, none of a kind.

    `end` is where a flow leaves what can be read; that is always shown.
    """
    on_chain = {node.id for way in ways[:1] for node in nodes_of(way)}
    edges = connections.edges.values()
    declared = {e.source.id for e in edges if e.relation is Relation.OVERRIDE}
    delegates = {e.source.id for e in edges if e.source.name == e.target.name} - declared

    def order(one: Found) -> tuple[float, str]:
        node = one.node
        less = max(DELEGATES * (node.id in delegates), TYPE * (node.kind in TYPES))
        if node.id in declared and _is_empty(connections.view, node):
            less = DECLARED
        more = SIZE * min(1.0, (node.end_line - node.start_line) / WHOLE)
        if node.id in on_chain:
            more += ON_FLOW if is_flow else ON_CHAIN
        return less - more - one.value, node.id

    chosen = [connections.found.get(end.id) or Found(end, 1.0)] if end is not None else []
    ranked = sorted((one for one in connections.found.values() if connections.may_show(one.node)), key=order)
    for one in ranked:
        if len(chosen) < MOST_PASSAGES and not any(_alike(one.node, other.node) for other in chosen):
            chosen.append(one)
    return chosen


def _is_empty(view: ResearchView, node: Node) -> bool:
    """Return whether a method leaves what it does to those that override it."""
    return node.end_line - node.start_line <= SHORT or _LEFT_OPEN.search(view.text_of(node)) is not None


def _alike(one: Node, other: Node) -> bool:
    """Return whether two definitions share lines, or are the same method of two types."""
    if one.path == other.path and one.start_line <= other.end_line and other.start_line <= one.end_line:
        return True
    return one.name == other.name and one.kind == other.kind == "method"


def passage(view: ResearchView, found: Found, focus: int) -> Hit | None:
    """Return the code of a definition, to be cut around a line where there is no room for all of it."""
    node = found.node
    text = view.text_of(node)
    if not text.strip():
        return None
    span = Span(node.start_line, node.start_line + text.count("\n"))
    return Hit(
        path=node.path,
        span=span,
        text=text,
        score=min(1.0, found.value),
        kind=node.kind,
        language="",
        breadcrumb=node.qualified,
        focus=focus,
        definition=span,
        is_named=True,
    )


def call_lines(ways: Sequence[Way]) -> dict[str, int]:
    """Return the line at which each definition of a chain hands control on."""
    lines: dict[str, int] = {}
    for edge in (edge for way in ways for edge in way):
        if edge.path == edge.source.path and edge.source.start_line <= edge.line <= edge.source.end_line:
            lines.setdefault(edge.source.id, edge.line)
    return lines
