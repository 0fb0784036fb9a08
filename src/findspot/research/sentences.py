"""What was found, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from findspot.graph import Node
from findspot.research.findings import Aim, Focus
from findspot.research.graph_walks import Chain, Trail, is_backwards
from findspot.research.module_map import ModuleMap
from findspot.research.patterns import Pattern

MOST_NAMED = 8

_SAID = {
    Aim.CALLERS: ("is called by", "are called by", "called by"),
    Aim.CALLEES: ("calls", "call", "calling"),
    Aim.IMPLEMENTATIONS: ("is implemented by", "are implemented by", "implemented in turn by"),
    Aim.SUPERTYPES: ("is built on", "are built on", "built in turn on"),
    Aim.IMPORTERS: ("is imported by", "are imported by", "imported by"),
    Aim.IMPORTS: ("imports", "import", "importing"),
    Aim.USES: ("is used by", "are used by", "used by"),
    Aim.OVERRIDES: ("is overridden by", "are overridden by", "overridden in turn by"),
    Aim.IMPACT: ("is used by", "are used by", "used by"),
    Aim.TESTS: ("is used by", "are used by", "used by"),
}
"""Of one, of several, and at the hops after the first."""

_NONE = {
    Aim.CALLERS: "Nothing in this project calls it.",
    Aim.CALLEES: "It calls nothing in this project.",
    Aim.IMPLEMENTATIONS: "No type in this project implements it.",
    Aim.SUPERTYPES: "It is built on no type of this project.",
    Aim.IMPORTERS: "Nothing in this project imports it.",
    Aim.IMPORTS: "It imports nothing of this project.",
    Aim.USES: "Nothing in this project uses it.",
    Aim.OVERRIDES: "Nothing in this project overrides it.",
    Aim.IMPACT: "Nothing in this project uses it.",
    Aim.TESTS: "Nothing in this project uses it.",
}


def placed(node: Node) -> str:
    """`Session.open (src/session.py:12)`."""
    if node.id == node.path:
        return node.path
    return f"{node.qualified} ({node.path}:{node.start_line})"


def named(nodes: Sequence[Node]) -> str:
    """Return the first of them with their places, and how many more there are."""
    shown = ", ".join(map(placed, nodes[:MOST_NAMED]))
    return f"{shown} and {len(nodes) - MOST_NAMED} more" if len(nodes) > MOST_NAMED else shown


def of_relation(aim: Aim, starts: Sequence[Node], trail: Trail) -> str:
    """Return what is related to the starts, hop by hop."""
    by_hop: dict[int, list[Node]] = {1: _next_to(aim, starts, trail)}
    for node, hop in trail.nodes.values():
        if hop > 1:
            by_hop.setdefault(hop, []).append(node)
    if not by_hop[1]:
        return f"{named(starts)}: {_NONE[aim]}"
    one, several, then = _SAID[aim]
    first = one if len(starts) == 1 else several
    said = [f"{named(starts)} {first} {len(by_hop[1])}: {named(by_hop.pop(1))}."]
    said += [f"Hop {hop}, {then} {len(nodes)}: {named(nodes)}." for hop, nodes in sorted(by_hop.items())]
    return " ".join(said)


def _next_to(aim: Aim, starts: Sequence[Node], trail: Trail) -> list[Node]:
    """Return the far ends of the edges at the starts; one start may be next to another."""
    begun = {node.id for node in starts}
    ends = ((e.target, e.source) if is_backwards(aim) else (e.source, e.target) for e in trail.edges)
    return list({far.id: far for near, far in ends if near.id in begun}.values())


def of_path(chains: Sequence[Chain], ends: tuple[str, str], steps: int, trail: Trail) -> str:
    """Return how control passes from one end to the other."""
    if not chains:
        return f"No chain of calls leads from {ends[0]} to {ends[1]} within {steps} steps."
    way = chains[0]
    passed = " → ".join(placed(trail.nodes[node][0]) for node in way)
    return f"{ends[0]} reaches {ends[1]} in {_count(len(way) - 1, 'step')}: {passed}."


def of_map(focus: Focus, modules: ModuleMap, entries: Sequence[str]) -> str:
    """Return the shape of a project."""
    if not modules.files:
        return "No file of this project imports another, as far as the graph knows its languages."
    size = f"{_count(len(modules.files), 'module')}, {_count(len(modules.dependences), 'dependency')}"
    cycles = (f"In a cycle: {', '.join(cycle)}." for cycle in modules.cycles)
    if focus is Focus.ARCHITECTURE:
        layers = (f"Layer {n}: {_listed(layer)}." for n, layer in enumerate(modules.layers, 1))
        begins = f"It begins in {_listed(entries)}." if entries else "No entry point was found."
        late = [f"{d.source} → {d.target}" for d in modules.dependences if d.late]
        lately = [f"Imported inside functions only: {_listed(late)}."] if late else []
        whole = f"{size}, {_count(len(modules.layers), 'layer')}."
        return " ".join((whole, begins, *layers, *cycles, *lately))
    most = sorted(modules.dependences, key=lambda d: (-d.count, d.source, d.target))[:MOST_NAMED]
    pairs = "; ".join(f"{d.source} → {d.target} ({d.count})" for d in most)
    return " ".join((f"{size}: {pairs}.", *(list(cycles) or ["No cycles."])))


def of_patterns(patterns: Sequence[Pattern]) -> str:
    if not patterns:
        return "Nothing recurs often enough to be called a pattern."
    told = (
        f"{len(p.members)} {p.what} ({', '.join(n.name for n in list(p.members.values())[:5])})"
        for p in patterns
    )
    return f"{_count(len(patterns), 'pattern')}: {'; '.join(told)}."


def of_search(seeds: Sequence[Node], reached: int) -> str:
    if not seeds:
        return "Nothing in the index answers this."
    around = f"; {reached} more around them" if reached else ""
    return f"Begins at {named(seeds)}{around}."


def _listed(names: Iterable[str]) -> str:
    given = list(names)
    more = f" and {len(given) - MOST_NAMED} more" if len(given) > MOST_NAMED else ""
    return ", ".join(given[:MOST_NAMED]) + more


def _count(number: int, noun: str) -> str:
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
