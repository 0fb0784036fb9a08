"""Questions that no single relation answers: search, connect the results, show the code that carries them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from findspot.core.model import Hit
from findspot.graph import Edge, Node, Relation
from findspot.research.connections import FUNCTIONS, Connections, Found, Way, nodes_of
from findspot.research.graph_walks import Chain, find_path, longest_path, record_path
from findspot.research.passages import Dynamic, call_lines, choose, dynamic_call, passage
from findspot.research.research_view import ResearchView
from findspot.research.sentences import named, placed

MOST_LISTED = 14
"""Definitions that an answer lists, those with code included."""

MOST_BEFORE = 4
"""Steps that lead up to a flow: enough to see where it comes from."""

_PART = 0.7
"""What a result for one end of a flow counts, against one for the whole question."""

_SURE = 0.6
"""Of the best result's value: ends of a flow that are less likely would make it begin everywhere."""

_VERBS = {Relation.CALL: "calls", Relation.VALUE: "passes on", Relation.OVERRIDE: "is overridden by"}


@dataclass(frozen=True, slots=True)
class OpenAnswer:
    """What was found, in addition to the nodes and edges of the trail."""

    summary: str
    chains: tuple[Chain, ...] = ()
    passages: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """A question for a way whose ends are not both symbols."""

    start: str
    end: str
    starts: Sequence[Node] = ()
    """The definitions that the start names, if it is a symbol."""
    ends: Sequence[Node] = ()


def answer_open(view: ResearchView, text: str, flow: Flow | None = None) -> OpenAnswer:
    """Answer a question from what search finds for it and the graph around that."""
    parts = {part: _PART for part in (flow.start, flow.end) if part} if flow else {}
    connections = Connections.of(view, text, parts)
    dynamic = None
    if flow is None:
        ways = connections.chains()
    else:
        ways, dynamic = _along(connections, flow)
    chosen = choose(connections, ways)
    if not chosen:
        return OpenAnswer("Nothing in the index answers this.")
    if flow is not None and ways:
        record_path(ways[0], view.trail)
    _record(connections, ways, chosen)
    chains = tuple(tuple(node.id for node in nodes_of(way)) for way in ways)
    lines = call_lines(ways)
    if dynamic is not None:
        lines |= {one.node.id: dynamic.line for one in chosen if _holds(one.node, dynamic)}
    shown = (passage(view, one, lines.get(one.node.id)) for one in chosen)
    return OpenAnswer(_summary(ways, chosen, dynamic), chains, tuple(filter(None, shown)))


def _along(connections: Connections, flow: Flow) -> tuple[list[Way], Dynamic | None]:
    """Return the ways of a flow, and where the first one goes on at run time.

    By the symbol that it starts or ends with, if one is named; else with the calls that lead up to it.
    """
    view, ranked = connections.view, connections.ranked
    weights = connections.near.question.term_weights
    calls = {
        one.node.id: dynamic_call(view, one.node, weights) for one in ranked if one.node.kind in FUNCTIONS
    }
    dynamic = {key: call for key, call in calls.items() if call is not None}
    ways = connections.chains({key: call.share for key, call in dynamic.items()})
    hits = [one.node for one in ranked if one.hop == 0 and one.value >= _SURE * ranked[0].value]
    if flow.starts or flow.ends:
        ends = flow.ends or [node for node in hits if node.id not in {start.id for start in flow.starts}]
        starts = flow.starts or [node for node in hits if node.id not in {end.id for end in ends}]
        find = find_path if flow.starts else longest_path
        way = find(starts, ends, view.trail) if starts and ends else None
        if way is not None:
            ways = [way, *(other for other in ways if not set(other) <= set(way))]
            return ways, dynamic.get(way[-1].target.id)
    if not ways:
        return [], None
    first = ways[0]
    at = max(range(len(first)), key=lambda place: _share(dynamic.get(first[place].target.id)))
    last = first[at].target.id
    if _share(dynamic.get(last)) > 0:
        first = first[: at + 1]
    first = (*connections.lead_up(first[0].source, MOST_BEFORE), *first)
    return [first, *ways[1:]], dynamic.get(first[-1].target.id)


def _share(dynamic: Dynamic | None) -> float:
    return dynamic.share if dynamic is not None else 0.0


def _holds(node: Node, dynamic: Dynamic) -> bool:
    return node.path == dynamic.path and node.start_line <= dynamic.line <= node.end_line


def _record(connections: Connections, ways: Sequence[Way], chosen: Sequence[Found]) -> None:
    """Put the definitions of the answer on the trail, with the references between them."""
    trail, found = connections.view.trail, connections.found
    for node in (node for way in ways for node in nodes_of(way)):
        trail.add(node, found[node.id].hop if node.id in found else 0)
    ranked = [one for one in connections.ranked if connections.may_show(one.node)]
    for one in (*chosen, *ranked[: max(0, MOST_LISTED - len(trail.nodes))]):
        trail.add(one.node, one.hop)
    for edge in (*(edge for way in ways for edge in way), *connections.edges.values()):
        trail.link(edge)


def _summary(ways: Sequence[Way], chosen: Sequence[Found], dynamic: Dynamic | None) -> str:
    said = [_told(way) for way in ways[:1]]
    on_way = {node.id for way in ways[:1] for node in nodes_of(way)}
    others = [one.node for one in chosen if one.node.id not in on_way]
    if others:
        said.append(f"{'See also' if ways else 'Best in'} {named(others)}.")
    if dynamic is not None:
        said.append(f"Dynamic from here: `{dynamic.expression}` ({dynamic.path}:{dynamic.line}).")
    return " ".join(said)


def _told(way: Way) -> str:
    """Return a way as a sentence: `A (a.py:1) calls B (b.py:2), which calls C (c.py:3).`"""
    return f"{placed(way[0].source)} {', which '.join(map(_step, way))}."


def _step(edge: Edge) -> str:
    return f"{_VERBS.get(edge.relation, 'uses')} {placed(edge.target)}"
