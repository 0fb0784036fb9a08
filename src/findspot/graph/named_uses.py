"""Uses that lead to no definition: of one that was removed, and of what another project defines."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from findspot.core.facts import DEFAULT, WHOLE, ImportFact, ReferenceFact, Relation
from findspot.graph.edges import Node, Unresolved
from findspot.graph.graph import Graph
from findspot.graph.modules import dotted
from findspot.graph.resolve import COMMON_METHODS, EXTERNAL, UNKNOWN
from findspot.graph.sources import Def, SourceView
from findspot.graph.values import UNIQUE, What

GUESSED = "guessed"
"""The reason of a reference that leads to the only definition of its name."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A use of a definition that is gone."""

    gone: Node
    use: Unresolved
    certain: bool
    """Whether it can mean nothing else; otherwise only the name speaks for it."""


def leftovers(graph: Graph, gone: Node) -> list[Leftover]:
    """Return the uses of a definition that its file does not have any more, certain ones first."""
    found = []
    for view in graph._sources.naming(gone.name):
        broken = [fact for fact in view.facts.imports if _is_broken(graph, view, fact, gone)]
        for fact in broken:
            use = Unresolved(view.node, gone.name, "", Relation.IMPORT, view.path, fact.line, UNKNOWN)
            found.append(Leftover(gone, use, certain=True))
        visible = bool(broken) or _is_visible(graph, view, gone)
        for name in {gone.name, *(fact.local for fact in broken)}:
            for use, reference in _unresolved(graph, view, name):
                certain = _means(graph, view, reference, gone) if use.receiver else visible
                unknown = use.reason not in (EXTERNAL, GUESSED) and name not in COMMON_METHODS
                if certain or (use.receiver and unknown):
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
    """Return whether an import asks a file for a definition that it does not have any more."""
    if fact.original != gone.name or "." in gone.qualified:
        return False
    evaluator, home = graph._outgoing.evaluator, graph._sources.at(gone.path)
    if view.language.imports_packages:
        same = home is not None and dotted(fact.module) == dotted(home.package)
        return same and not evaluator.packages.named(fact, view)
    return gone.path in evaluator.modules.resolve(view, fact.module) and not (
        evaluator.names.definers(fact, view)
    )


def _is_visible(graph: Graph, view: SourceView, gone: Node) -> bool:
    """Return whether a file could name a definition that is gone without an import."""
    if "." in gone.qualified:
        return False
    home = graph._sources.at(gone.path)
    folder = posixpath.dirname(view.path) == posixpath.dirname(gone.path)
    package = home.package == view.package if home is not None else folder
    return view.path == gone.path or {"folder": folder, "package": package}.get(view.language.shares, False)


def _unresolved(graph: Graph, view: SourceView, name: str) -> Iterator[tuple[Unresolved, ReferenceFact]]:
    """Yield the references to a name that lead nowhere, or by the name alone."""
    for reference in view.references.to(name):
        resolution = graph._outgoing.resolver.resolve(view, reference)
        if all(confidence <= UNIQUE for _, confidence in resolution.targets):
            yield (
                Unresolved(
                    view.node_at(reference.owner),
                    reference.name,
                    reference.on,
                    Relation(reference.relation),
                    view.path,
                    reference.line,
                    GUESSED if resolution.targets else resolution.reason,
                    tuple(candidate.node for candidate in resolution.candidates),
                ),
                reference,
            )


def _means(graph: Graph, view: SourceView, reference: ReferenceFact, gone: Node) -> bool:
    """Return whether what a reference is asked of is what had the definition."""
    evaluator = graph._outgoing.evaluator
    holder = gone.id.rpartition("~")[0] or gone.id
    holder = holder.removesuffix(f".{gone.name}") if "." in gone.qualified else gone.path
    for value in evaluator.value_of(reference.on, view, view.owner(reference.owner)):
        if isinstance(value.of, Def):
            types = [value.of, *evaluator.types.ancestors(value.of)] if value.of.is_type else [value.of]
            if any(each.node.id == holder for each in types):
                return True
        elif isinstance(value.of, SourceView):
            if value.of.path == holder:
                return True
        elif value.what is What.PACKAGE and value.of == posixpath.dirname(holder):
            return True
    return False
