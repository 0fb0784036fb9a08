"""How the results of a search hang together: the definitions they show, and the chains that connect them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from findspot.core.model import Hit, IncludeTests, Query
from findspot.graph import Edge, Graph, Node, Relation
from findspot.graph.values import FLOOR
from findspot.rank.roles import ASKS_FOR_TESTS, Role, role_of
from findspot.research.findings import DEFAULT_DEPTH
from findspot.research.research_view import MAKERS, Nearness, ResearchView

MOST_HITS = 20
"""Results that a walk starts from."""

FUNCTIONS = frozenset({"function", "method", "constructor"})
BESIDE = 0.8
"""Of a result's value, for a function of its passage that does not hold the best line."""

NO_CODE = 0.5
"""Taken from the value of a result in a file that defines nothing: a template, a page, a setting."""

ENOUGH_LINES, LEAST_WEIGHT = 8, 0.45
"""A function of so many lines counts fully, and a shorter one less, but never less than this."""

MAKER = 0.85
"""What a short constructor counts: making something is not yet doing anything with it."""

PINNED = 1.0
"""The value of a definition that the question names."""

EXPANDED = 8
"""Of the best definitions, whose neighbours are looked at in each hop."""

MOST_PER_HOP = 12
MOST_CALLERS = 20
"""What is called from more places says nothing about the question by being called."""

INHERITED, OWN = 0.35, 0.45
"""A neighbour's value: a share of the value of where it was reached from, and of its own nearness."""

LINK, MOST_LINKED = 0.1, 0.2
"""Added for each result that a definition is linked with, as a share of that one's value; and at most."""

STEP_COST = 0.5
"""A definition on a chain has to be worth this much; one that is not may still connect two that are."""

LESS_SURE = {Relation.VALUE: 0.3, Relation.OVERRIDE: 0.2}
"""What a step costs in addition where it is no call."""

MOST_MEANT, DOUBTFUL = 2, 0.4
"""Definitions that a call of uncertain target may mean, to be followed; and the confidence they share."""

LEAST_GAIN = 0.4
"""Of a further chain, to be worth its line."""

MOST_CHAINS = 3
CLEAR = 2
"""Callers of a definition, at most, among which the nearest to the question is taken to lead there."""

LONGEST_CHAIN = 8
MOST_STEPS = 20_000
"""Looked at for one chain."""

_FOLLOWED = (Relation.CALL, Relation.VALUE)

_NOTHING: Mapping[str, float] = MappingProxyType({})

Way = tuple[Edge, ...]


@dataclass(slots=True)
class Found:
    """A definition that bears on the question."""

    node: Node
    value: float
    """0 to 1, or a little more for what several results are linked with."""
    hop: int = 0
    focus: int | None = None
    """The line that matches best."""


@dataclass
class Connections:
    """The definitions that bear on a question, and the references between them."""

    view: ResearchView
    near: Nearness
    with_tests: bool
    found: dict[str, Found] = field(default_factory=dict)
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)
    nearest: float = 0.0
    """Of the results to the question, 0 to 1."""
    _outgoing: dict[str, list[Edge]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        view: ResearchView,
        text: str,
        *,
        also: Mapping[str, float] = _NOTHING,
        pinned: Sequence[Node] = (),
        hops: int = DEFAULT_DEPTH,
    ) -> Connections:
        """Search for the question, and follow the code from the results.

        `also` are parts of the question to search for by themselves, with what they count; `pinned` are
        definitions that the question names.
        """
        asks_for_tests = view.trail.include_tests and ASKS_FOR_TESTS.search(text) is not None
        connections = cls(view, Nearness.to(view.reader, text), asks_for_tests)
        connections._add_results(text, 1.0)
        for part, share in also.items():
            connections._add_results(part, share)
        for node in pinned:
            connections.found[node.id] = Found(node, PINNED)
        for hop in range(1, hops + 1):
            view.trail.tick(hop)
            connections._expand(hop)
        connections._link()
        return connections

    @property
    def ranked(self) -> list[Found]:
        """The best first."""
        return sorted(self.found.values(), key=lambda one: (-one.value, one.node.id))

    def chains(self, bonus: Mapping[str, float] = _NOTHING, starts: Sequence[Node] = ()) -> list[Way]:
        """Return the ways through the code that connect most of what bears on the question.

        `bonus` is what single definitions are worth in addition; the first way begins at one of the starts.
        """
        onward: dict[str, list[Edge]] = {}
        for edge in self.edges.values():
            onward.setdefault(edge.source.id, []).append(edge)
        worth = {  # control passes through short functions as well as through long ones
            key: one.value / _weight(one.node) + bonus.get(key, 0.0) - STEP_COST
            for key, one in self.found.items()
        }
        ways: list[Way] = []
        begin = [node.id for node in starts if node.id in onward]
        while len(ways) < MOST_CHAINS:
            way, gain = _best_way(onward, worth, begin)
            begin = []
            if not way or (ways and gain < LEAST_GAIN):
                break
            ways.append(way)
            for node in nodes_of(way):
                worth[node.id] = min(worth[node.id], -STEP_COST)
        return ways

    def lead_up(self, node: Node, steps: int) -> Way:
        """Return the calls that lead to a definition, as long as it is clear which."""
        way: Way = ()
        seen = {node.id}
        while len(way) < steps:
            callers = [e for e in self._incoming(way[0].source if way else node) if e.source.id not in seen]
            callers = [e for e in callers if e.source.kind in FUNCTIONS]
            calls = [e for e in callers if e.relation is Relation.CALL] or callers
            if not calls or len({e.source.id for e in calls}) > CLEAR:
                break
            edge = max(calls, key=lambda e: (self.near.of(e.source), e.source.id))
            seen.add(edge.source.id)
            way = (edge, *way)
        return way

    def onward(self, node: Node) -> list[Edge]:
        """Return what a definition calls or passes on, and what overrides it, as far as it may be shown."""
        return [edge for edge in self._edges_from(node) if self.may_show(edge.target)]

    def callers(self, node: Node) -> list[Node]:
        """Return the functions that call a definition; none for what everybody calls."""
        calls = (edge for edge in self._incoming(node) if edge.relation is Relation.CALL)
        return list({edge.source.id: edge.source for edge in calls}.values())

    def may_show(self, node: Node) -> bool:
        """Return whether a definition belongs in the answer: tests only where they are asked for."""
        return self.with_tests or role_of(node.path) is Role.SOURCE

    def _add_results(self, text: str, share: float) -> None:
        hits = self._search(text)
        shown = [(node, hit) for hit in hits for node in self._definitions(hit)]
        own = {node.id: self.near.of(node) for node, _ in shown}
        self.nearest = self.nearest or max(own.values(), default=0.0)
        for node, hit in shown:
            focus = hit.focus if hit.focus and node.start_line <= hit.focus <= node.end_line else None
            sure = hit.relative if focus or _is_described(self.view, node, hit) else BESIDE * hit.relative
            value = share * _weight(node) * (0.5 * sure + 0.5 * self._share(own[node.id]))
            if not self.view.definitions(node.path):
                value -= NO_CODE
            if node.id not in self.found or value > self.found[node.id].value:
                self.found[node.id] = Found(node, value, 0, focus)

    def _search(self, text: str) -> Sequence[Hit]:
        """Return the results, those of production code alone as long as there are any."""
        under = self.view.trail.under
        wanted = [IncludeTests.AUTO] if self.with_tests else [IncludeTests.NO, IncludeTests.AUTO]
        for tests in wanted:
            query = Query(text=text, limit=MOST_HITS, under=under, include_tests=tests)
            hits = self.view.reader.search_indexed(query)
            source = [hit for hit in hits if role_of(hit.path) is Role.SOURCE]
            if source and not self.with_tests:
                return source
            if hits:
                self.with_tests = self.with_tests or tests is IncludeTests.AUTO
                return hits
        return ()

    def _definitions(self, hit: Hit) -> list[Node]:
        """Return the functions that a result shows, the innermost; without any, what it is about."""
        inside = [
            node
            for node in self.view.definitions(hit.path)
            if node.kind in FUNCTIONS and node.start_line <= hit.span.end and node.end_line >= hit.span.start
        ]
        outer = {n.id for n in inside for other in inside if other.id.startswith(f"{n.id}.")}
        kept = [node for node in inside if node.id not in outer or _holds_alone(node, inside, hit)]
        return kept or [self.view.node_of(hit)]

    def _share(self, nearness: float) -> float:
        return min(1.0, nearness / self.nearest) if self.nearest else 0.0

    def _expand(self, hop: int) -> None:
        best: dict[str, tuple[float, Node]] = {}
        distinct = {
            one.node.name: one for one in reversed(self.ranked)
        }  # of a method of many types, the best
        for one in sorted(distinct.values(), key=lambda one: (-one.value, one.node.id))[:EXPANDED]:
            self.view.trail.cancel.check()
            onward, back = self.onward(one.node), self._incoming(one.node)
            for far in (*(edge.target for edge in onward), *(edge.source for edge in back)):
                if far.id not in self.found and one.value > best.get(far.id, (0.0, far))[0]:
                    best[far.id] = (one.value, far)
        valued = [
            (_weight(n) * (INHERITED * v + OWN * self._share(self.near.of(n))), n) for v, n in best.values()
        ]
        for value, node in sorted(valued, key=lambda item: (-item[0], item[1].id))[:MOST_PER_HOP]:
            self.found[node.id] = Found(node, value, hop)

    def _edges_from(self, node: Node) -> list[Edge]:
        """Return what a definition leads to, resolved once: a long function has thousands of calls."""
        if node.id not in self._outgoing:
            self._outgoing[node.id] = list(_outgoing(self.view.graph, node))
        return self._outgoing[node.id]

    def _incoming(self, node: Node) -> list[Edge]:
        """Return who calls it or passes it on, and what it overrides; nothing for what everybody calls."""
        graph = self.view.graph
        edges = [*graph.references_to(node, _FOLLOWED), *_dispatched(graph, node, onward=False)]
        callers = [edge for edge in edges if self.may_show(edge.source) and edge.source.id != node.id]
        return callers if len(callers) <= MOST_CALLERS else []

    def _link(self) -> None:
        """Collect the references between the definitions, and count them for both ends."""
        results = {key: one.value for key, one in self.found.items() if one.hop == 0}
        for one in list(self.found.values()):
            if one.node.kind not in FUNCTIONS:
                continue
            for edge in self._edges_from(one.node):
                if edge.target.id in self.found and edge.target.id != one.node.id:
                    self.edges.setdefault((one.node.id, edge.target.id), edge)
        linked: dict[str, float] = {}
        for source, target in self.edges:
            for near, far in ((source, target), (target, source)):
                linked[near] = linked.get(near, 0.0) + LINK * results.get(far, 0.0)
        for key, value in results.items():
            if (outer := key.rpartition(".")[0]) in results:  # a function whose inner one matches, too
                linked[outer] = linked.get(outer, 0.0) + LINK * value
        for key, extra in linked.items():
            self.found[key].value += min(MOST_LINKED if key in results else MOST_LINKED / 2, extra)


def _is_described(view: ResearchView, node: Node, hit: Hit) -> bool:
    """Return whether the best line of a result stands right above a definition, where it is described."""
    after = (n for n in view.definitions(hit.path) if hit.focus and n.end_line >= hit.focus)
    first = min(after, key=lambda n: (max(n.start_line, hit.focus or 0), -n.start_line), default=None)
    return first is not None and first.id == node.id


def _holds_alone(node: Node, inside: Sequence[Node], hit: Hit) -> bool:
    """Return whether the best line is the function's own, and not that of a function inside it."""
    holding = [n for n in inside if hit.focus and n.start_line <= hit.focus <= n.end_line]
    return bool(holding) and max(holding, key=lambda n: n.start_line).id == node.id


def _weight(node: Node) -> float:
    """Return how much a definition can explain: a line or two hardly anything, a short constructor less."""
    lines = node.end_line - node.start_line + 1
    if node.kind not in FUNCTIONS or lines >= ENOUGH_LINES:
        return 1.0
    weight = LEAST_WEIGHT + (1 - LEAST_WEIGHT) * lines / ENOUGH_LINES
    return weight * MAKER if node.name in MAKERS or node.kind == "constructor" else weight


def nodes_of(way: Way) -> list[Node]:
    """Return the definitions that a way passes, in their order."""
    return [*(edge.source for edge in way[:1]), *(edge.target for edge in way)]


def _outgoing(graph: Graph, node: Node) -> Iterator[Edge]:
    """Yield what a definition calls, may call or passes on, and what overrides it; functions alone."""
    certain = [edge for edge in graph.edges_of(node, _FOLLOWED) if edge.source.id == node.id]
    edges = (*certain, *_doubtful(graph, node), *_dispatched(graph, node, onward=True))
    yield from (edge for edge in edges if edge.target.kind in FUNCTIONS)


def _doubtful(graph: Graph, node: Node) -> Iterator[Edge]:
    """Yield the calls of which one of a few definitions is meant, with a confidence below that of others."""
    for use in graph.unresolved(node):
        if use.relation is Relation.CALL and 0 < len(use.candidates) <= MOST_MEANT:
            for target in use.candidates:
                yield Edge(
                    node, target, Relation.CALL, use.path, use.line, round(DOUBTFUL / len(use.candidates), 2)
                )


def _dispatched(graph: Graph, node: Node, *, onward: bool) -> Iterator[Edge]:
    """Yield the steps from a declared method to one that overrides it, in the order of control."""
    for edge in graph.overrides(node):
        if (edge.target.id == node.id) is onward:
            yield replace(edge, source=edge.target, target=edge.source)


def _doubt(edge: Edge) -> float:
    return max(LESS_SURE.get(edge.relation, 0.0), 0.3 if edge.confidence < FLOOR else 0.0)


def _best_way(
    onward: Mapping[str, Sequence[Edge]], worth: Mapping[str, float], starts: Sequence[str] = ()
) -> tuple[Way, float]:
    """Return the way whose steps are worth most together, from one of the starts if given, and its worth."""
    best: tuple[Way, float] = ((), 0.0)
    steps = 0

    def extend(way: Way, seen: frozenset[str], gain: float) -> None:
        nonlocal best, steps
        steps += 1
        if way and gain > best[1] + 1e-9:
            best = (way, gain)
        if len(way) + 1 >= LONGEST_CHAIN or steps > MOST_STEPS:
            return
        for edge in onward.get(way[-1].target.id, ()):
            if edge.target.id not in seen:
                more = worth[edge.target.id] - _doubt(edge)
                extend((*way, edge), seen | {edge.target.id}, gain + more)

    for start in sorted(starts or onward, key=lambda key: (-worth[key], key)):
        for edge in onward[start]:
            gain = worth[start] + worth[edge.target.id] - _doubt(edge)
            extend((edge,), frozenset({start, edge.target.id}), gain)
    return best
