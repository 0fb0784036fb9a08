"""Uses of a name that lead to no definition: what may mean a symbol, and what a removed one leaves behind."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from findspot.core.facts import DEFAULT, WHOLE, ImportFact, ReferenceFact, Relation
from findspot.graph.edges import Node, Unresolved
from findspot.graph.graph import Graph
from findspot.graph.resolve import COMMON_METHODS, EXTERNAL
from findspot.graph.sources import SourceView
from findspot.graph.values import What

_SELVES = frozenset({"self", "this", "cls", "Self", "static"})


@dataclass(frozen=True, slots=True)
class Leftover:
    """A use of a definition that is gone."""

    gone: Node
    use: Unresolved
    certain: bool
    """Whether it can mean nothing else; otherwise only the name speaks for it."""


def unresolved_uses(graph: Graph, node: Node) -> list[Unresolved]:
    """Return the uses of a symbol's name that lead nowhere known, and so may mean the symbol."""
    if node.name in COMMON_METHODS:
        return []
    return [
        use
        for view in graph._sources.naming(node.name)
        for use, _ in _unresolved(graph, view, node.name)
        if use.reason != EXTERNAL and (use.receiver or view.path == node.path)
    ]


def leftovers(graph: Graph, gone: Node) -> list[Leftover]:
    """Return the uses of a definition that its file does not have any more, certain ones first."""
    found = []
    for view in graph._sources.naming(gone.name):
        imported = [fact for fact in view.facts.imports if fact.original == gone.name]
        broken = [
            f for f in imported if gone.path in graph._outgoing.evaluator.modules.resolve(view, f.module)
        ]
        broken = [f for f in broken if not graph._outgoing.evaluator.names.imported(f, view)]
        for fact in broken:
            use = Unresolved(view.node, gone.name, "", Relation.IMPORT, view.path, fact.line, "unknown")
            found.append(Leftover(gone, use, certain=True))
        for name in {gone.name, *(fact.local for fact in broken)}:
            for use, reference in _unresolved(graph, view, name):
                certain = _means(graph, view, reference, gone, imports=bool(broken))
                if certain or (use.receiver and use.reason != EXTERNAL and name not in COMMON_METHODS):
                    found.append(Leftover(gone, use, certain))
    return sorted(found, key=lambda left: (not left.certain, left.use.path, left.use.line))


def imported_name(graph: Graph, use: Unresolved) -> str | None:
    """Return the full name of what a use takes from another project: `package.module.function`."""
    view = graph._sources.at(use.path)
    first, *rest = (*filter(None, use.receiver.split(".")), use.name)
    fact = next((fact for fact in view.facts.imports if fact.local == first), None) if view else None
    if fact is None:
        return None
    own = [] if fact.original in ("", WHOLE, DEFAULT) else [fact.original]
    return ".".join((fact.module, *own, *rest))


def _is_broken(graph: Graph, view: SourceView, fact: ImportFact, gone: Node) -> bool:
    """Return whether an import asks a definition of the file that does not have it any more."""
    if fact.original != gone.name or "." in gone.qualified:
        return False
    evaluator = graph._outgoing.evaluator
    return gone.path in evaluator.modules.resolve(view, fact.module) and not (
        evaluator.names.imported(fact, view)
    )


def _unresolved(graph: Graph, view: SourceView, name: str) -> Iterator[tuple[Unresolved, ReferenceFact]]:
    for reference in view.references.to(name):
        resolution = graph._outgoing.resolver.resolve(view, reference)
        if not resolution.targets:
            yield (
                Unresolved(
                    view.node_at(reference.owner),
                    reference.name,
                    reference.on,
                    Relation(reference.relation),
                    view.path,
                    reference.line,
                    resolution.reason,
                    tuple(candidate.node for candidate in resolution.candidates),
                ),
                reference,
            )


def _means(graph: Graph, view: SourceView, reference: ReferenceFact, gone: Node, *, imports: bool) -> bool:
    """Return whether an unresolved reference can only mean a definition that is gone."""
    member = "." in gone.qualified
    if not reference.on:
        shares = view.language.folders_are_packages and (
            posixpath.dirname(view.path) == posixpath.dirname(gone.path)
        )
        return not member and (imports or shares or view.path == gone.path)
    if member:
        return reference.on in _SELVES and view.path == gone.path
    owner = view.owner(reference.owner)
    values = graph._outgoing.evaluator.value_of(reference.on, view, owner)
    modules = (value.of for value in values if value.what is What.MODULE)
    return any(isinstance(module, SourceView) and module.path == gone.path for module in modules)
