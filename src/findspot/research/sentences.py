"""What was found, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from findspot.graph import Node, Relation
from findspot.graph.possible_uses import PossibleUses
from findspot.graph.values import FLOOR
from findspot.rank.roles import is_test, reading_order
from findspot.research.findings import FORWARD, Aim, Focus
from findspot.research.graph_walks import Chain, Trail
from findspot.research.module_map import ModuleMap
from findspot.text.snippet import listed

MOST_NAMED = 8
FEW = 3
"""Named in the sentence where the answer lists all of them below it."""

_SAID = {
    Aim.CALLERS: ("is called by", "are called by", "caller"),
    Aim.CALLEES: ("calls", "call", "callee"),
    Aim.IMPLEMENTATIONS: ("is implemented by", "are implemented by", "implementation"),
    Aim.SUPERTYPES: ("is built on", "are built on", "supertype"),
    Aim.IMPORTERS: ("is imported by", "are imported by", "importer"),
    Aim.IMPORTS: ("imports", "import", "import"),
    Aim.USES: ("is used by", "are used by", "use"),
    Aim.OVERRIDES: ("is overridden by", "are overridden by", "override"),
}
"""Of one start, of several, and what each result is."""


def placed(node: Node) -> str:
    """`Session.open (src/session.py:12)`."""
    if node.id == node.path:
        return node.path
    return f"{node.qualified} ({node.path}:{node.start_line})"


def named(nodes: Sequence[Node], most: int = MOST_NAMED) -> str:
    """Return the first of them with their places, and how many more there are."""
    return listed(map(placed, nodes), most)


def of_relation(aim: Aim, starts: Sequence[Node], trail: Trail, uses: PossibleUses | None = None) -> str:
    """Return what is related to the starts, hop by hop, and what may be."""
    uses = uses or PossibleUses()
    nearest = sorted(_next_to(aim, starts, trail), key=lambda node: reading_order(node.path))
    one, several, what = _SAID[aim]
    if not nearest:
        return f"{named(starts, FEW)}: {_of_none(aim, uses, trail.floor, hidden=bool(trail.tests_left_out))}"
    verb = one if len(starts) == 1 else several
    said = [f"{named(starts, FEW)} {verb} {_tests_counted(nearest)}: {named(nearest, FEW)}."]
    further = Counter(hop for _, hop in trail.nodes.values() if hop > 1)
    said += [f"Hop {hop}: {counted(count, what)}." for hop, count in sorted(further.items())]
    if uses.places:
        said.append(f"Possibly also {_places(uses)}, listed apart.")
    return " ".join(said)


def _of_none(aim: Aim, uses: PossibleUses, floor: float, *, hidden: bool) -> str:
    """Return that nothing is known to be related: a fact only where no place of that name is left."""
    what = _SAID[aim][-1]
    if uses.places:
        places = f"{_places(uses).capitalize()} may be one, listed below with the reason."
        return f"No certain {what}. {places}"
    if hidden:
        return f"No {what} outside of tests."
    if floor > FLOOR:
        return f"No {what} with a confidence of {floor} or more."
    if uses.elsewhere:
        verb = "leads" if uses.elsewhere == 1 else "lead"
        return f"No {what} was found; {counted(uses.elsewhere, 'use')} of that name {verb} elsewhere."
    return f"No {what} in this project." if uses.complete else f"No {what} was found."


def _places(uses: PossibleUses) -> str:
    return counted(len(uses.places), "place") if uses.complete else f"{len(uses.places)} places or more"


def _tests_counted(nodes: Sequence[Node]) -> str:
    tests = sum(is_test(node.path) for node in nodes)
    return f"{len(nodes)} ({tests} in tests)" if tests else str(len(nodes))


def _next_to(aim: Aim, starts: Sequence[Node], trail: Trail) -> list[Node]:
    """Return the far ends of the edges at the starts; one start may be next to another."""
    begun = {node.id for node in starts}
    ends = ((e.source, e.target) if aim in FORWARD else (e.target, e.source) for e in trail.edges)
    return list({far.id: far for near, far in ends if near.id in begun}.values())


def of_path(chains: Sequence[Chain], ends: tuple[str, str], steps: int, trail: Trail) -> str:
    if not chains:
        return (
            f"No chain of calls or of functions passed on leads from {ends[0]} to {ends[1]} "
            f"within {steps} steps."
        )
    way = chains[0]
    passes = {(e.source.id, e.target.id) for e in trail.edges if e.relation is Relation.VALUE}
    passed = placed(trail.nodes[way[0]][0])
    for near, far in pairwise(way):
        verb = "passes " if (near, far) in passes else ""
        passed += f" → {verb}{placed(trail.nodes[far][0])}"
    return f"{ends[0]} reaches {ends[1]} in {counted(len(way) - 1, 'step')}: {passed}."


def of_map(focus: Focus, modules: ModuleMap, entries: Sequence[str]) -> str:
    if not modules.files:
        return "No file of this project imports another, as far as the graph knows its languages."
    size = f"{counted(len(modules.files), 'module')}, {counted(len(modules.dependences), 'dependency')}"
    cycles = (f"In a cycle: {', '.join(cycle)}." for cycle in modules.cycles)
    if focus is Focus.ARCHITECTURE:
        layers = (f"Layer {n}: {listed(layer, MOST_NAMED)}." for n, layer in enumerate(modules.layers, 1))
        begins = f"It begins in {listed(entries, MOST_NAMED)}." if entries else "No entry point was found."
        late = [f"{d.source} → {d.target}" for d in modules.dependences if d.late]
        lately = [f"Imported inside functions only: {listed(late, MOST_NAMED)}."] if late else []
        whole = f"{size}, {counted(len(modules.layers), 'layer')}."
        return " ".join((whole, begins, *layers, *cycles, *lately))
    most = sorted(modules.dependences, key=lambda d: (-d.count, d.source, d.target))[:MOST_NAMED]
    pairs = "; ".join(f"{d.source} → {d.target} ({d.count})" for d in most)
    return " ".join((f"{size}: {pairs}.", *(list(cycles) or ["No cycles."])))


def counted(number: int, noun: str) -> str:
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
