"""Questions that no single relation answers: search, connect the results, show the code that carries them."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from findspot.core.model import Hit
from findspot.graph import Edge, Node, Relation
from findspot.research.connections import FUNCTIONS, Connections, Found, Way, nodes_of
from findspot.research.findings import Aim
from findspot.research.graph_walks import Chain, definitions_of, find_path, longest_path, record_path
from findspot.research.passages import Dynamic, call_lines, choose, dynamic_call, passage
from findspot.research.relations import MOST_STARTS
from findspot.research.research_view import ResearchView
from findspot.research.sentences import named, placed

MOST_LISTED = 24
"""Definitions that an answer lists, those with code included."""

MOST_BEFORE, MOST_AFTER = 4, 3
"""Steps that lead up to a flow and on from it: enough to see where it comes from and where it goes."""

MOST_LOOKED_AT = 40
"""Definitions, for a call that is decided at run time."""

MOST_CALLED = 8
"""Names of what a definition calls, in the summary."""

_PART = 0.7
"""What a result for one end of a flow counts, against one for the whole question."""

_SURE = 0.6
"""Of the best result's value: ends of a flow that are less likely would make it begin everywhere."""

MOST_TOLD, MOST_CALLERS = 3, 2
"""Definitions whose calls are told, and callers of each."""

MOST_PINNED = 6

_CODE_NAME = re.compile(r"\b(?:\w+(?:(?:\.|::|#)\w+)+|\w*[a-z\d]_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z\d]+[A-Z]\w*)\b")
"""A name in the spelling of code."""

_FROM_TO = re.compile(r"\bfrom\s+`?([\w.:#]+)`?\s+(?:in)?to\s+(?:the\s+)?([^?]+)")

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
    flow = flow or _flow_from(view, text)
    parts = {part: _PART for part in (flow.start, flow.end) if part} if flow else {}
    pinned = [node for name in _CODE_NAME.findall(text) for node in symbol(view, text, name)][:MOST_PINNED]
    hops = view.trail.depth * (2 if flow else 1)
    connections = Connections.of(view, text, also=parts, pinned=pinned, hops=hops)
    dynamic = None
    if flow is None:
        ways = connections.chains()
    else:
        ways, dynamic = _along(connections, flow)
    end = ways[0][-1].target if dynamic else None
    chosen = choose(connections, ways, end, is_flow=flow is not None)
    if not chosen:
        return OpenAnswer("Nothing in the index answers this.")
    if flow is not None and ways:
        record_path(ways[0], view.trail)
    _record(connections, ways, chosen)
    chains = tuple(tuple(node.id for node in nodes_of(way)) for way in ways)
    lines = call_lines(ways[:1])
    if dynamic is not None:
        lines |= {one.node.id: dynamic.line for one in chosen if _holds(one.node, dynamic)}
    focus = {one.node.id: one.focus or connections.near.line(one.node) for one in chosen} | lines
    shown = (passage(view, one, focus[one.node.id]) for one in chosen)
    return OpenAnswer(_summary(connections, ways, chosen, dynamic), chains, tuple(filter(None, shown)))


def symbol(view: ResearchView, text: str, phrase: str) -> list[Node]:
    """Return the functions that a phrase of a question names; a plain word with an article names none."""
    with_article = re.search(rf"\b(?:an?|the)\s+{re.escape(phrase)}\b", text, re.IGNORECASE)
    if " " in phrase or (phrase.islower() and with_article):
        return []
    found = definitions_of(view.graph, phrase, Aim.CALLEES)[:MOST_STARTS]
    return [member for node in found for member in view.functions(node) if member.kind in FUNCTIONS]


def _flow_from(view: ResearchView, text: str) -> Flow | None:
    """Return the flow from a symbol to something in plain words, where a question has one."""
    way = _FROM_TO.search(text)
    starts = symbol(view, text, way[1]) if way else []
    return Flow(way[1], way[2], starts) if way and starts else None


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
    ways = connections.chains({key: call.share for key, call in dynamic.items()}, flow.starts)
    if flow.starts or flow.ends:
        ends = flow.ends or _searched(connections, flow.end)
        starts = flow.starts or _searched(connections, flow.start)
        find = find_path if flow.starts else longest_path
        way = find(starts, ends, view.trail) if starts and ends else None
        if way is not None and not (flow.starts and ways and len(ways[0]) > len(way)):
            ways = [way, *(other for other in ways if not set(other) <= set(way))]
            return ways, dynamic.get(way[-1].target.id)
    if not ways:
        return [], None
    ways = [_to_dynamic(connections, way, dynamic) for way in ways]
    if flow.starts:
        return ways, dynamic.get(ways[0][-1].target.id)
    ways.sort(key=lambda way: -_share(dynamic.get(way[-1].target.id)))
    first = _led_up(connections, ways[0])
    return [first, *ways[1:]], dynamic.get(first[-1].target.id)


def _led_up(connections: Connections, way: Way) -> Way:
    """Return a way with the calls that lead to it, in place of a first step that only passes it on."""
    if len(way) > 1 and way[0].relation is Relation.VALUE:
        called = connections.lead_up(way[0].target, MOST_BEFORE)
        if called and called[-1].relation is Relation.CALL:
            return (*called, *way[1:])
    return (*connections.lead_up(way[0].source, MOST_BEFORE), *way)


def _to_dynamic(connections: Connections, way: Way, dynamic: dict[str, Dynamic]) -> Way:
    """Return a way up to the definition that hands control on at run time, which may lie beyond its end."""
    at = max(range(len(way)), key=lambda place: _share(dynamic.get(way[place].target.id)))
    if _share(dynamic.get(way[at].target.id)) > 0:
        return way[: at + 1]
    view, weights = connections.view, connections.near.question.term_weights
    ways: list[Way] = [()]
    seen = {node.id for node in nodes_of(way)}
    for _ in range(MOST_AFTER):
        longer: list[Way] = []
        for before in ways:
            for edge in connections.onward(before[-1].target if before else way[-1].target):
                if edge.target.id not in seen and len(seen) < MOST_LOOKED_AT:
                    seen.add(edge.target.id)
                    longer.append((*before, edge))
                    call = dynamic_call(view, edge.target, weights)
                    if call is not None and call.share > 0:
                        dynamic[edge.target.id] = call
                        return (*way, *before, edge)
        ways = longer
    return way


def _searched(connections: Connections, phrase: str) -> list[Node]:
    """Return what an end in plain words may mean: results that are about as likely as the first."""
    found = connections.view.seeds(phrase, 5)
    likely = [node for node, hit in found if hit.relative >= _SURE and connections.may_show(node)]
    functions = (member for node in likely for member in connections.view.functions(node))
    return [node for node in functions if node.kind in FUNCTIONS]


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


def _summary(
    connections: Connections, ways: Sequence[Way], chosen: Sequence[Found], dynamic: Dynamic | None
) -> str:
    said = [_told(way, dynamic) for way in ways[:1]]
    on_way = {node.id for way in ways[:1] for node in nodes_of(way)}
    others = [one.node for one in chosen[:MOST_TOLD] if one.node.id not in on_way]
    if others:
        said.append(f"{'See also' if ways else 'Best in'} {named(others)}.")
    calls = filter(None, (_calls(connections, one.node, on_way) for one in chosen[:MOST_TOLD]))
    return "\n".join((" ".join(said), *calls))


def _calls(connections: Connections, node: Node, but: Set[str]) -> str | None:
    """Return what else a definition calls that is near to the question, and what else calls it."""
    if node.kind not in FUNCTIONS:
        return None
    edges = [edge for edge in connections.onward(node) if edge.relation is Relation.CALL]
    called = list({e.target.name: e.target for e in edges if e.target.id not in {*but, node.id}}.values())
    nearest = sorted(called, key=lambda target: (-connections.near.of(target), target.id))[:MOST_CALLED]
    more = f" and {len(called) - MOST_CALLED} more" if len(called) > MOST_CALLED else ""
    onward = f" → {', '.join(target.name for target in called if target in nearest)}{more}" if called else ""
    callers = [caller for caller in connections.callers(node) if caller.id not in but][:MOST_CALLERS]
    by = f", called by {', '.join(map(placed, callers))}" if callers else ""
    return f"{node.qualified}{onward}{by}" if onward or by else None


def _told(way: Way, dynamic: Dynamic | None) -> str:
    """Return a way as a sentence: `A (a.py:1) calls B (:9), which calls C (c.py:3).`"""
    steps = [f"{_VERBS.get(edge.relation, 'uses')} {_placed_after(edge)}" for edge in way]
    end = f"; dynamic from here: `{dynamic.expression}` ({dynamic.path}:{dynamic.line})" if dynamic else ""
    return f"{placed(way[0].source)} {', which '.join(steps)}{end}."


def _placed_after(edge: Edge) -> str:
    """Return a definition with its line, and with its file where that is another one."""
    if edge.target.path != edge.source.path or edge.target.id == edge.target.path:
        return placed(edge.target)
    return f"{edge.target.qualified} (:{edge.target.start_line})"
