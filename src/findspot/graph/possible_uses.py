"""Places that may use a definition, though nothing says so for certain: each with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from findspot.core.facts import Relation, importable_names, module_name
from findspot.graph.doubts import Doubt, Doubtful
from findspot.graph.edges import Node
from findspot.graph.graph import Graph
from findspot.graph.languages import language_of
from findspot.graph.resolve import COMMON_METHODS
from findspot.graph.sources import Def
from findspot.graph.values import DISPATCHED
from findspot.rank.roles import Role, reading_order, role_of

MOST_PLACES = 100
MOST_FILES = 500
"""Files that are looked through; a name that more files have is one of everyday use."""

_MAKERS = frozenset({"__init__", "__new__", "constructor", "init", "initialize", "__construct"})
"""Names of constructors, which are called by the name of their type."""

_CALLING = frozenset({Relation.CALL, Relation.VALUE, Relation.DECORATE})
_REASONS = {
    Doubt.RECEIVER: "the type of the receiver is unknown",
    Doubt.UNBOUND: "not defined or imported there",
    Doubt.EXTERNAL: "the receiver looks external",
}


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
    targets = [target for node in nodes for target in graph._incoming.called(node)]
    doubtful = list(_in_doubt(graph, targets))
    places = [*_passed_on(graph, targets), *_through_bases(graph, targets)]
    shown = _in_order([*places, *(use for use, is_everyday in doubtful if not is_everyday)])
    everyday = _in_order(use for use, is_everyday in doubtful if is_everyday)
    return PossibleUses(shown[:MOST_PLACES], everyday[:MOST_PLACES], complete=len(shown) <= MOST_PLACES)


def _in_order(places: Iterable[PossibleUse]) -> list[PossibleUse]:
    return sorted(dict.fromkeys(places), key=lambda use: (reading_order(use.path), use.path, use.line))


def _passed_on(graph: Graph, targets: list[Def]) -> Iterator[PossibleUse]:
    for target in targets:
        for edge in graph._incoming.to(target, Relation.VALUE):
            yield PossibleUse(edge.source, edge.path, edge.line, "passed as a value")


def _through_bases(graph: Graph, targets: list[Def]) -> Iterator[PossibleUse]:
    """Yield the calls of methods that the targets override."""
    for target in targets:
        for base in graph._outgoing.resolver.overridden(target):
            if base not in targets:
                reason = f"through {base.qualified}, which it overrides"
                for edge in graph._incoming.to(base, Relation.CALL):
                    yield PossibleUse(edge.source, edge.path, edge.line, reason, DISPATCHED)


def _in_doubt(graph: Graph, targets: list[Def]) -> Iterator[tuple[PossibleUse, bool]]:
    """Yield the references of the same name that lead nowhere known.

    With each comes whether its receiver looks external, and its name is one that many libraries have.
    """
    for name in sorted({target.name for target in targets if target.name not in _MAKERS}):
        families = {target.file.language.family for target in targets if target.name == name}
        for use in graph._incoming.doubtful(name):
            file = graph._sources.files.find(use.source.path)
            family = language_of(file.language).family if file is not None else ""
            if family in families and (reason := _reason(graph, use, name, family, targets)):
                is_everyday = use.doubt is Doubt.EXTERNAL and name in COMMON_METHODS
                yield PossibleUse(use.source, use.source.path, use.line, reason), is_everyday


def _reason(graph: Graph, use: Doubtful, name: str, family: str, targets: list[Def]) -> str:
    """Return why a use may mean one of the targets; nothing where it can only mean others."""
    if use.doubt is not Doubt.SEVERAL:
        return _REASONS[use.doubt]
    candidates = graph._outgoing.resolver.candidates(family, name, use.source.path)
    possible = any(candidate in targets for candidate in candidates)
    return f"one of {len(candidates)} definitions of that name" if possible else ""


def references_named(graph: Graph, nodes: Sequence[Node]) -> set[tuple[str, int]]:
    """Return where the graph knows a reference to the name of these definitions, whatever it leads to."""
    names = called_names(graph, nodes)
    views = (view for name in names for view in graph._sources.naming(name))
    return {
        (view.path, reference.line)
        for view in islice(views, MOST_FILES)
        for name in names
        for reference in view.references.to(name)
        if reference.relation in _CALLING
    }


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
