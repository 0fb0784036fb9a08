"""Places that may use a definition, though nothing says so for certain: each with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from findspot.core.facts import ReferenceFact, Relation, importable_names, module_name
from findspot.graph.edges import Node
from findspot.graph.graph import Graph
from findspot.graph.resolve import AMBIGUOUS, COMMON_METHODS, EXTERNAL, Resolution, Target
from findspot.graph.sources import Def, SourceView
from findspot.graph.values import DISPATCHED
from findspot.rank.roles import Role, reading_order, role_of

MOST_PLACES = 100
MOST_FILES = 500
"""Files that are looked through; a name that more files have is one of everyday use."""

_MAKERS = frozenset({"__init__", "__new__", "constructor", "init", "initialize", "__construct"})
"""Names of constructors, which are called by the name of their type."""

_EXTERNAL_RECEIVER = "the receiver looks external"
_CALL_OR_DECORATE = frozenset({Relation.CALL, Relation.VALUE, Relation.DECORATE})


@dataclass(frozen=True, slots=True)
class PossibleUse:
    """A place that may mean a definition."""

    source: Node
    path: str
    line: int
    reason: str
    confidence: float = 0.0
    """0 where only the name speaks for it."""

    @property
    def in_test(self) -> bool:
        return role_of(self.path) is Role.TEST


@dataclass(slots=True)
class PossibleUses:
    """The places that may mean a definition, and how many of the same name do not."""

    places: list[PossibleUse] = field(default_factory=list)
    doubtful: list[PossibleUse] = field(default_factory=list)
    """Places whose receiver looks external, with a name that objects of many libraries have."""
    elsewhere: int = 0
    """References of that name which lead to another definition, or out of the project."""
    seen: set[tuple[str, int]] = field(default_factory=set)
    """The lines that were looked at."""
    complete: bool = True
    """Whether all files that have the name were looked through."""


def called_names(graph: Graph, nodes: Sequence[Node]) -> list[str]:
    """Return the names by which definitions are called: that of its type for a constructor."""
    targets = (target for node in nodes for target in graph._incoming.called(node))
    return sorted({target.name for target in targets if target.name not in _MAKERS})


def possible_callers(graph: Graph, nodes: Sequence[Node]) -> PossibleUses:
    """Return the places that may call one of these definitions of a name and are no certain callers of any.

    Production code comes first.
    """
    found = PossibleUses()
    targets = [target for node in nodes for target in graph._incoming.called(node)]
    reach = graph._incoming.reach
    named = (target for target in targets if target.name not in _MAKERS)
    names = sorted({name for target in named for name in reach.names(target)})
    families = {target.file.language.family for target in targets}
    views = {view.id: view for name in names for view in graph._sources.naming(name)}
    related = [view for view in views.values() if view.language.family in families]
    related.sort(key=lambda view: (reading_order(view.path), view.path))
    for view in related[:MOST_FILES]:
        for reference in (reference for name in names for reference in view.references.to(name)):
            if reference.relation in _CALL_OR_DECORATE:
                _look_at(graph, view, reference, targets, found)
        if len(found.places) >= MOST_PLACES:
            break
    found.complete = len(related) <= MOST_FILES and len(found.places) < MOST_PLACES
    found.places = list(dict.fromkeys(found.places))
    return found


def _look_at(
    graph: Graph, view: SourceView, reference: ReferenceFact, targets: list[Def], found: PossibleUses
) -> None:
    """Add a reference to the places that may mean one of the targets, or count it."""
    resolution = graph._outgoing.resolver.resolve(view, reference)
    found.seen.add((view.path, reference.line))
    leads_to = [target for target, _ in resolution.targets]
    reason, confidence = "", 0.0
    if any(target in targets for target in leads_to):
        reason = "passed as a value" if reference.relation == Relation.VALUE else ""
    elif (base := _base(graph, leads_to, targets)) is not None:
        reason, confidence = f"through {base.qualified}, which it overrides", DISPATCHED
    elif leads_to or reference.relation == Relation.VALUE or _excludes(resolution, targets):
        found.elsewhere += 1
    elif resolution.reason == AMBIGUOUS:
        reason = f"one of {len(resolution.candidates)} definitions of that name"
    elif resolution.reason != EXTERNAL:
        reason = "the type of the receiver is unknown"
    elif _is_imported(graph, view, reference):
        found.elsewhere += 1
    else:
        reason = _EXTERNAL_RECEIVER if reference.on else "not defined or imported there"
    if reason:
        place = view.node_at(reference.owner), view.path, reference.line
        doubtful = reason == _EXTERNAL_RECEIVER and reference.name in COMMON_METHODS
        (found.doubtful if doubtful else found.places).append(PossibleUse(*place, reason, confidence))


def _excludes(resolution: Resolution, targets: list[Def]) -> bool:
    """Return whether a reference has candidates, and none of them is a target."""
    return bool(resolution.candidates) and not any(d in targets for d in resolution.candidates)


def _is_imported(graph: Graph, view: SourceView, reference: ReferenceFact) -> bool:
    """Return whether an import from outside of the project brings in what a reference begins with."""
    root = re.split(r"[.(\[]", reference.on or reference.name, maxsplit=1)[0]
    facts = view.imports.get(root, [])
    return any(not graph._outgoing.evaluator.modules.resolve(view, fact.module) for fact in facts)


def _base(graph: Graph, leads_to: list[Target], methods: list[Def]) -> Def | None:
    """Return the method among the targets of a reference that one of the definitions overrides."""
    if not leads_to:
        return None
    overridden = [base for method in methods for base in graph._outgoing.resolver.overridden(method)]
    return next((target for target in leads_to if isinstance(target, Def) and target in overridden), None)


def possible_importers(graph: Graph, path: str) -> Iterator[PossibleUse]:
    """Yield the imports that name a file's module and lead to no file of the project."""
    stems = importable_names(path)
    target = graph._sources.at(path)
    views = {view.id: view for stem in stems for view in graph._sources.naming(stem)}
    for view in views.values():
        if target is None or view.language.family != target.language.family or view is target:
            continue
        for fact in view.facts.imports:
            named = module_name(fact.module) in stems or fact.original in stems
            if named and not graph._outgoing.evaluator.modules.resolve(view, fact.module):
                yield PossibleUse(view.node, view.path, fact.line, f"{fact.module} is not resolved")
