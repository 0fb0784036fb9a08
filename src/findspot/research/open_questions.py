"""Questions that no single relation answers: search, connect the results, show the code that carries them."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from math import sqrt

from findspot.core.model import Query, Span
from findspot.graph import Edge, Node, Relation
from findspot.graph.values import FLOOR
from findspot.research.connections import FUNCTIONS, Connections, Found, Way, nodes_of
from findspot.research.findings import Aim, Passage
from findspot.research.flows import Flow, FlowWays
from findspot.research.graph_walks import TYPES, Chain, definitions_of, record_path
from findspot.research.relations import MOST_STARTS
from findspot.research.research_view import ResearchView
from findspot.research.sentences import named, placed
from findspot.text.tokens import tokens

MOST_LISTED = 24
"""Definitions that an answer lists, those with code included."""

MOST_CALLED = 8
"""Names of what a definition calls, in the summary."""

_PART = 0.7
"""What a result for one end of a flow counts, against one for the whole question."""

MOST_TOLD, MOST_CALLERS = 3, 2
"""Definitions whose calls are told, and callers of each."""

MOST_PINNED = 6

MOST_PASSAGES = 8

SAME_FILE = 0.05
"""Taken from the value of a definition for each passage of its file that is shown already."""

CALLS, BEST_LINE, GOES_ON = 0.2, 0.2, 1.0
"""Added to what a line says: if it calls a definition of the answer, as a share of that one's value; if it is
the best line of a result; if the first chain goes on there."""

ON_CHAIN, ON_FLOW = 0.15, 0.4
"""Added to the value of a definition on the first chain when passages are chosen; more where a flow is
asked for."""

DECLARED, DELEGATES, TYPE, NO_FUNCTION = 0.4, 0.2, 0.5, 0.2
"""Taken from that of a method that only declares what another one does, of one that hands over to another one
of its name, of a type (its methods say more), and of what is no definition at all."""

SIZE, WHOLE = 0.5, 60
"""Added for a definition of so many lines, and less for a shorter one: three lines explain little. Of a long
one only the lines that matter are shown, so that it costs no more."""

SHORT = 2
"""Lines below the first one, at most, of a method that may only declare something."""

_LEFT_OPEN = re.compile(r"NotImplemented|\babstract\b|UnsupportedOperation|not implemented", re.IGNORECASE)

_CODE_NAME = re.compile(r"\b(?:\w+(?:(?:\.|::|#)\w+)+|\w*[a-z\d]_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z\d]+[A-Z]\w*)\b")
"""A name in the spelling of code."""

_FROM_TO = re.compile(r"\bfrom\s+`?([\w.:#]+)`?\s+(?:in)?to\s+(?:the\s+)?([^?]+)")

_VERBS = {Relation.CALL: "calls", Relation.VALUE: "passes on", Relation.OVERRIDE: "is overridden by"}


NOTHING_FITS = "Nothing in this project fits the question."

NEAR = 0.28
"""The nearness of the best result, below which a question that search calls off-topic gets no answer: ten
questions about flask were at 0.44 and more, or off-topic and at 0.25 and less.
"""


@dataclass(frozen=True, slots=True)
class OpenAnswer:
    """What was found, in addition to the nodes and edges of the trail."""

    summary: str
    chains: tuple[Chain, ...] = ()
    passages: tuple[Passage, ...] = ()


def answer_open(view: ResearchView, text: str, flow: Flow | None = None) -> OpenAnswer:
    """Answer a question from what search finds for it and the graph around that."""
    flow = flow or _flow_from(view, text)
    parts = {part: _PART for part in (flow.start, flow.end) if part} if flow else {}
    pinned = [node for name in _CODE_NAME.findall(text) for node in symbol(view, text, name)][:MOST_PINNED]
    hops = view.trail.depth + (2 if flow else 1)
    connections = Connections.of(view, text, also=parts, pinned=pinned, hops=hops)
    names_code = bool(pinned or (flow and (flow.starts or flow.ends)))
    if not names_code and connections.nearest < NEAR and _nothing_fits(view, text):
        return OpenAnswer(NOTHING_FITS)
    flowing = FlowWays.of(connections, flow) if flow else None
    ways = flowing.ways if flowing else connections.chains()
    chosen = _choose(connections, ways, flowing.end if flowing else None, is_flow=flow is not None)
    if not chosen:
        return OpenAnswer(NOTHING_FITS)
    if flowing and ways:
        record_path(ways[0], view.trail)
    _record(connections, ways, chosen)
    lines = _call_lines(ways[:1])
    if flowing and flowing.end and flowing.open_end:
        lines[flowing.end.id] = flowing.open_end.line
    shown = (_passage(connections, one, lines.get(one.node.id)) for one in chosen)
    chains = tuple(tuple(node.id for node in nodes_of(way)) for way in ways)
    return OpenAnswer(_summary(connections, ways, chosen, flowing), chains, tuple(filter(None, shown)))


def _nothing_fits(view: ResearchView, text: str) -> bool:
    query = Query(text=text, limit=1, under=view.trail.under)
    return view.reader.search(query).nothing_fits


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


def _choose(connections: Connections, ways: Sequence[Way], end: Node | None, *, is_flow: bool) -> list[Found]:
    """Return the definitions that carry the answer, the best first: none inside another, none of a kind.

    `end` is where a flow leaves what can be read; that is always shown.
    """
    on_chain = {node.id for way in ways[:1] for node in nodes_of(way)}
    edges = connections.edges.values()
    declared = {e.source.id for e in edges if e.relation is Relation.OVERRIDE}
    delegates = {e.source.id for e in edges if e.source.name == e.target.name} - declared

    def cost(one: Found) -> float:
        node = one.node
        less = DELEGATES * (node.id in delegates)
        if node.kind not in FUNCTIONS:
            less = TYPE if node.kind in TYPES else NO_FUNCTION
        if node.id in declared and _is_empty(connections.view, node):
            less = DECLARED
        more = SIZE * sqrt(min(1.0, (node.end_line - node.start_line) / WHOLE))
        if node.id in on_chain:
            more += ON_FLOW if is_flow else ON_CHAIN
        return less - more - one.value

    chosen = [connections.found.get(end.id) or Found(end, 1.0)] if end is not None else []
    found = {node.id: Found(node, connections.near.of(node)) for way in ways[:1] for node in nodes_of(way)}
    found |= connections.found
    ranked = [one for one in found.values() if connections.may_show(one.node)]
    while len(chosen) < MOST_PASSAGES:
        ranked = [one for one in ranked if not any(_alike(one.node, other.node) for other in chosen)]
        if not ranked:
            break
        files = Counter(one.node.path for one in chosen)
        costs = {one.node.id: cost(one) + SAME_FILE * files[one.node.path] for one in ranked}
        chosen.append(min(ranked, key=lambda one: (costs[one.node.id], one.node.id)))
    return chosen


def _is_empty(view: ResearchView, node: Node) -> bool:
    """Return whether a method leaves what it does to those that override it."""
    return node.end_line - node.start_line <= SHORT or _LEFT_OPEN.search(view.text_of(node)) is not None


def _alike(one: Node, other: Node) -> bool:
    """Return whether two definitions share lines, or are the same method of two types."""
    if one.path == other.path and one.start_line <= other.end_line and other.start_line <= one.end_line:
        return True
    return one.name == other.name and one.kind == other.kind == "method"


def _passage(connections: Connections, found: Found, line: int | None = None) -> Passage | None:
    """Return the code of a definition, with how much its lines say; `line` is where a chain goes on."""
    node = found.node
    text = connections.view.text_of(node)
    if not text.strip():
        return None
    worth = _of_words(text, connections.near.question.term_weights)
    for (source, target), edge in connections.edges.items():
        if source == node.id and 0 <= edge.line - node.start_line < len(worth):
            worth[edge.line - node.start_line] += CALLS * min(1.0, connections.found[target].value)
    for place, more in ((line, GOES_ON), (found.focus, BEST_LINE)):
        if place is not None and 0 <= place - node.start_line < len(worth):
            worth[place - node.start_line] += more
    span = Span(node.start_line, node.start_line + len(worth) - 1)
    return Passage(node.path, node.qualified, span, textwrap.dedent(text), tuple(worth))


def _of_words(text: str, weights: Mapping[str, float]) -> list[float]:
    """Return the share of the question that each line holds; a word of many lines counts less."""
    lines = [weights.keys() & tokens(line) for line in text.split("\n")]
    count = Counter(word for words in lines for word in words)
    total = sum(weights.values()) or 1.0
    return [sum(weights[word] / count[word] ** 0.5 for word in words) / total for words in lines]


def _call_lines(ways: Sequence[Way]) -> dict[str, int]:
    """Return the line at which each definition of a chain hands control on."""
    lines: dict[str, int] = {}
    for edge in (edge for way in ways for edge in way):
        if edge.path == edge.source.path and edge.source.start_line <= edge.line <= edge.source.end_line:
            lines.setdefault(edge.source.id, edge.line)
    return lines


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
    connections: Connections, ways: Sequence[Way], chosen: Sequence[Found], flowing: FlowWays | None
) -> str:
    told = [_told(way) for way in ways[:1]]
    on_way = {node.id for way in ways[:1] for node in nodes_of(way)}
    if flowing and flowing.end and flowing.open_end:
        ends_there = bool(ways) and ways[0][-1].target.id == flowing.end.id
        told[:1] = [flowing.open_end.told_after(told[0] if ends_there else placed(flowing.end))]
    said = [f"Best in {named([one.node for one in chosen[:MOST_TOLD]])}"]
    said += [f"Calls near the question: {way}" for way in told]  # facts, and maybe not what was asked for
    calls = filter(None, (_calls(connections, one.node, on_way) for one in chosen[:MOST_TOLD]))
    return "\n".join((" ".join(f"{sentence}." for sentence in said), *calls))


def _calls(connections: Connections, node: Node, but: Set[str]) -> str | None:
    """Return what else a definition calls that is near to the question, and what else calls it."""
    if node.kind not in FUNCTIONS:
        return None
    edges = [e for e in connections.onward(node) if e.relation is Relation.CALL and e.confidence >= FLOOR]
    called = list({e.target.name: e.target for e in edges if e.target.id not in {*but, node.id}}.values())
    nearest = sorted(called, key=lambda target: (-connections.near.of(target), target.id))[:MOST_CALLED]
    more = f" and {len(called) - MOST_CALLED} more" if len(called) > MOST_CALLED else ""
    onward = f" → {', '.join(target.name for target in called if target in nearest)}{more}" if called else ""
    callers = [caller for caller in connections.callers(node) if caller.id not in but][:MOST_CALLERS]
    by = f", called by {', '.join(map(placed, callers))}" if callers else ""
    return f"{node.qualified}{onward}{by}" if onward or by else None


def _told(way: Way) -> str:
    """Return a way as a sentence: `A (a.py:1) calls B (:9), which calls C (c.py:3)`."""
    steps = [f"{_verb(edge)} {_placed_after(edge)}" for edge in way]
    return f"{placed(way[0].source)} {', which '.join(steps)}"


def _verb(edge: Edge) -> str:
    return "may call" if edge.confidence < FLOOR else _VERBS.get(edge.relation, "uses")


def _placed_after(edge: Edge) -> str:
    """Return a definition with its line, and with its file where that is another one."""
    if edge.target.path != edge.source.path or edge.target.id == edge.target.path:
        return placed(edge.target)
    return f"{edge.target.qualified} (:{edge.target.start_line})"
