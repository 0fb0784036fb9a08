"""Flows between ends that are not both symbols: the chain, and where it leaves what can be read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from findspot.graph import Node, Relation
from findspot.rank.signals import coverage
from findspot.research.connections import FUNCTIONS, Connections, Way, nodes_of
from findspot.research.graph_walks import find_path, longest_path
from findspot.research.research_view import ResearchView
from findspot.text.tokens import tokens

MOST_BEFORE, MOST_AFTER = 4, 3
"""Steps that lead up to a flow and on from it: enough to see where it comes from and where it goes."""

MOST_LOOKED_AT = 40
"""Definitions, for a call that is decided at run time."""

MOST_OF_END = 0.5
"""Of the words that a flow should end with, in the name of an external function that is taken for its end."""

_SURE = 0.6
"""Of the best result's value: ends of a flow that are less likely would make it begin everywhere."""

_THROUGH_ELEMENT = re.compile(
    r"(?<![\w$])((?:[A-Za-z_$@][\w$]*(?:\.|::|->)){0,8}[A-Za-z_$@][\w$]*\[[^\]\n]{1,200}\])\)?\s*\("
)
"""A call of what a container holds: `handlers[name](…)`."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A question for a way whose ends are not both symbols."""

    start: str
    end: str
    starts: Sequence[Node] = ()
    """The definitions that the start names, if it is a symbol."""
    ends: Sequence[Node] = ()


@dataclass(frozen=True, slots=True)
class OpenEnd:
    """A call whose target is known only when the program runs, or lies in another project."""

    expression: str
    path: str
    line: int
    share: float
    """Of the question, that its words hold."""
    is_external: bool = False
    """Whether it leads to another project, under that name."""

    def told_after(self, way: str) -> str:
        """Return a sentence about the way to a definition, with where it goes on from there."""
        place = f"{self.path}:{self.line}"
        if self.is_external:
            then = ", which calls" if " calls " in way else " calls"
            return f"{way}{then} `{self.expression}` (external, at {place})"
        return f"{way}; dynamic from here: `{self.expression}` ({place})"


@dataclass
class FlowWays:
    """The ways that a flow takes, and where its first one leaves what can be read."""

    connections: Connections
    flow: Flow
    ways: list[Way] = field(default_factory=list)
    end: Node | None = None
    open_ends: dict[str, OpenEnd] = field(default_factory=dict)
    """Calls that nobody can follow, by the id of the definition that makes them."""

    @classmethod
    def of(cls, connections: Connections, flow: Flow) -> FlowWays:
        """Return the ways: by the symbol that the flow starts or ends with, else with what leads up to it."""
        found = cls(connections, flow)
        functions = [one.node for one in connections.ranked if one.node.kind in FUNCTIONS]
        for node in functions:
            found._read(node)
        found._find()
        external = max(
            (node for node in functions if found._is_external(node)), key=found._share, default=None
        )
        if external is not None and not flow.ends:
            found._lead_to(external)
        elif found.ways and found.ways[0][-1].target.id in found.open_ends:
            found.end = found.ways[0][-1].target
        return found

    @property
    def open_end(self) -> OpenEnd | None:
        return self.open_ends[self.end.id] if self.end is not None else None

    def _read(self, node: Node) -> None:
        weights = self.connections.near.question.term_weights
        of_end = {word: weight for word, weight in weights.items() if word in tokens(self.flow.end)}
        view = self.connections.view
        of_end = of_end or weights
        if (call := external_call(view, node, of_end) or dynamic_call(view, node, of_end)) is not None:
            self.open_ends[node.id] = call

    def _share(self, node: Node) -> float:
        return self.open_ends[node.id].share if node.id in self.open_ends else 0.0

    def _is_external(self, node: Node) -> bool:
        return node.id in self.open_ends and self.open_ends[node.id].is_external

    def _find(self) -> None:
        starts = self.flow.starts
        bonus = {key: call.share for key, call in self.open_ends.items()}
        ways = self.connections.chains(bonus, starts)
        way = self._between_symbols()
        if way and not (starts and ways and len(ways[0]) > len(way)):
            self.ways = [way, *(other for other in ways if not set(other) <= set(way))]
            return
        self.ways = [self._to_open_end(way) for way in ways]
        if not starts:
            self.ways.sort(key=lambda way: -self._share(way[-1].target))
            self.ways[:1] = map(self._led_up, self.ways[:1])

    def _between_symbols(self) -> Way:
        """Return the calls between the ends, where one is a symbol: the other is searched for."""
        flow = self.flow
        if not (flow.starts or flow.ends):
            return ()
        ends, starts = flow.ends or self._searched(flow.end), flow.starts or self._searched(flow.start)
        find = find_path if flow.starts else longest_path
        return (find(starts, ends, self.connections.view.trail) if starts and ends else None) or ()

    def _searched(self, phrase: str) -> list[Node]:
        """Return what an end in plain words may mean: results that are about as likely as the first."""
        view = self.connections.view
        likely = [node for node, hit in view.seeds(phrase, 5) if hit.relative >= _SURE]
        functions = (member for node in likely for member in view.functions(node))
        return [node for node in functions if node.kind in FUNCTIONS and self.connections.may_show(node)]

    def _lead_to(self, external: Node) -> None:
        """Let the first way end where the flow leaves the project."""
        trail = self.connections.view.trail
        starts = [node for node in self.flow.starts if node.id != external.id]
        way = find_path(starts, [external], trail) if starts else None
        way = way or self.connections.lead_up(external, MOST_BEFORE)
        self.ways, self.end = [*([way] if way else []), *self.ways][: max(1, len(self.ways))], external

    def _led_up(self, way: Way) -> Way:
        """Return a way with the calls that lead to it, in place of a first step that only passes it on."""
        if len(way) > 1 and way[0].relation is Relation.VALUE:
            called = self.connections.lead_up(way[0].target, MOST_BEFORE)
            if called and called[-1].relation is Relation.CALL:
                return (*called, *way[1:])
        return (*self.connections.lead_up(way[0].source, MOST_BEFORE), *way)

    def _to_open_end(self, way: Way) -> Way:
        """Return a way up to the definition that hands control on, which may lie beyond its end."""
        at = max(range(len(way)), key=lambda place: self._share(way[place].target))
        if self._share(way[at].target) > 0:
            return way[: at + 1]
        seen = {node.id for node in nodes_of(way)}
        ways: list[Way] = [()]
        for _ in range(MOST_AFTER):
            longer: list[Way] = []
            for before in ways:
                for edge in self.connections.onward(before[-1].target if before else way[-1].target):
                    if edge.target.id in seen or len(seen) >= MOST_LOOKED_AT:
                        continue
                    seen.add(edge.target.id)
                    longer.append((*before, edge))
                    self._read(edge.target)
                    if self._share(edge.target) > 0:
                        return (*way, *before, edge)
            ways = longer
        return way


def external_call(view: ResearchView, node: Node, weights: Mapping[str, float]) -> OpenEnd | None:
    """Return the call of another project's function that has most of the words of a flow's end."""
    calls = []
    for use in view.graph.unresolved(node):
        if use.relation is Relation.CALL and use.reason == "external":
            name = view.graph.leftovers.imported_name(use)
            call = _open_end(name or "", name or "", use.path, use.line, weights)
            if call.share >= MOST_OF_END:
                calls.append(replace(call, is_external=True))
    return max(calls, key=lambda call: (call.share, call.line), default=None)


def dynamic_call(view: ResearchView, node: Node, weights: Mapping[str, float]) -> OpenEnd | None:
    """Return the call of a definition that leads where no reader of the code can say.

    A call of an element or a parameter, or an unresolved one whose name the question holds.
    """
    text = view.text_of(node)
    calls = []
    for match in _THROUGH_ELEMENT.finditer(text):
        line = node.start_line + text.count("\n", 0, match.start(1))
        calls.append(_open_end(match[1], match[1].partition("[")[0], node.path, line, weights))
    parameters = text.partition("(")[2].partition(")")[0].split(",")
    for use in view.graph.unresolved(node):
        if use.relation is not Relation.CALL or use.candidates or use.name[:1].isupper():
            continue
        named = [] if use.receiver else [p for p in parameters if re.search(rf"\b{re.escape(use.name)}\b", p)]
        expression = f"{use.receiver}.{use.name}" if use.receiver else use.name
        call = _open_end(expression, " ".join([use.name, *named]), use.path, use.line, weights)
        if named or (call.share and use.reason != "external"):
            calls.append(call)
    return max(calls, key=lambda call: (call.share, -call.line), default=None)


def _open_end(expression: str, words: str, path: str, line: int, weights: Mapping[str, float]) -> OpenEnd:
    return OpenEnd(expression, path, line, coverage(weights, set(tokens(words))))
