"""Edges that start at a definition or a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from findspot.core.facts import LOADED, WHOLE, ImportFact, ReferenceFact, Relation, root_of
from findspot.graph.edges import FAR, PACKAGE, Edge, Node
from findspot.graph.evaluate import Evaluator
from findspot.graph.resolve import AMBIGUOUS, EXTERNAL, GIVEN_UP, Resolution, Resolver, Target, is_method
from findspot.graph.source_view import SATELLITE_KINDS, Def, SourceView
from findspot.graph.sources import Sources
from findspot.graph.structural_interfaces import Structural
from findspot.graph.values import IMPORTED, STRUCTURAL

_UNWRITTEN = frozenset({Relation.IMPORT, Relation.INHERIT, Relation.OVERRIDE})


class Link(NamedTuple):
    """What an edge leads to, and how: its nodes are not made yet."""

    target: Target
    relation: Relation
    line: int
    confidence: float
    mark: str = ""


class Outgoing:
    """Turns the references of files into edges."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.evaluator = Evaluator(sources)
        self.resolver = Resolver(self.evaluator)
        self.types = self.evaluator.types
        self.conformance = Structural(sources, self.types)

    def edges(self, view: SourceView, place: int, relations: Collection[Relation]) -> Iterator[Edge]:
        """Yield the edges that start at the definition at a place of a file, or in none (-1)."""
        source = view.node_at(place)
        for link in self._links(view, place, relations):
            if link.relation in relations and link.mark != FAR:
                yield Edge(source, link.target.node, link.relation, view.path, *link[2:])

    def _links(self, view: SourceView, place: int, relations: Collection[Relation]) -> Iterator[Link]:
        for reference in view.references.inside(place):
            relation = Relation(reference.relation)
            if relation in relations:
                for target, confidence in self.resolver.resolve(view, reference).targets:
                    yield Link(target, relation, reference.line, confidence)
        if not _UNWRITTEN.isdisjoint(relations):
            yield from self.unwritten(view, place)

    def unwritten(self, view: SourceView, place: int) -> Iterator[Link]:
        """Yield what no reference says: a file's imports, a type's interfaces, what a method overrides."""
        if place < 0:
            yield from self._imports(view)
            return
        definition = view.definitions[place]
        for interface in self.conformance.interfaces_of(definition):
            yield Link(interface, Relation.INHERIT, definition.line, STRUCTURAL)
        yield from self._overrides(definition)

    def inheriting(self, of: Def) -> Iterator[Edge]:
        for part in (of, *(s for s in self.types.satellites(of) if s.kind in SATELLITE_KINDS)):
            yield from self.edges(part.file, part.place, (Relation.INHERIT,))

    def _overrides(self, method: Def) -> list[Link]:
        return self.evaluator.memo.step([], self._find_overrides, method) if is_method(method) else []

    def _find_overrides(self, method: Def) -> list[Link]:
        around = self.types.around(method)
        if around is None or not (method.scope or self.types.ancestors(around)):
            return []
        if self.types.own(around, method.name) is not method:
            return []  # declared here and defined elsewhere: the definition overrides
        overridden = self.resolver.overridden(method)
        declared = self.conformance.declared(method) if method.scope else ()
        how = Relation.OVERRIDE, method.line
        return [
            *(Link(other, *how, IMPORTED, FAR if place else "") for place, other in enumerate(overridden)),
            *(Link(other, *how, STRUCTURAL) for other in declared),
        ]

    def dispatching(self, method: Def) -> list[Def]:
        """Return the methods whose calls may reach a method: those it overrides or implements."""
        return [*self.resolver.overridden(method), *self.conformance.declared(method)]

    def _imports(self, view: SourceView) -> Iterator[Link]:
        named_imports = {(f.module, f.line) for f in view.facts.imports if not f.local.startswith(LOADED)}
        for fact in view.facts.imports:
            if fact.local.startswith(LOADED) and (fact.module, fact.line) in named_imports:
                continue
            targets = dict.fromkeys(self._imported(fact, view), fact.mark)
            paths = {
                target.path if isinstance(target, SourceView) else target.file.path for target in targets
            }
            for path in self.evaluator.modules.resolve(view, fact.module):
                handing = self.sources.at(path) if path not in paths else None
                if handing is not None:
                    targets[handing] = fact.mark or (PACKAGE if paths else "")
            for target, mark in targets.items():
                yield Link(target, Relation.IMPORT, fact.line, IMPORTED, mark)

    def _imported(self, fact: ImportFact, view: SourceView) -> list[Target]:
        nothing: list[Target] = []
        return self.evaluator.memo.step(nothing, self._find_imported, fact, view)

    def _find_imported(self, fact: ImportFact, view: SourceView) -> list[Target]:
        evaluator, packages = self.evaluator, self.evaluator.packages
        if view.language.imports_packages:
            named = packages.named(fact, view) or packages.types(fact.module, view)
            found: list[Target] = [self.types.home(d) for d in named]
        elif fact.original == WHOLE:
            found = [v.of for v in evaluator.imported(fact, view) if isinstance(v.of, Def | SourceView)]
        else:
            found = evaluator.definers(fact, view)
        if not found and fact.original == WHOLE and view.language.imports_whole_packages:
            folder = evaluator.modules.folder(view, fact)
            found = [*packages.used_of(fact, folder, view)]
            if not found and folder is not None:  # for its effects, or for what is not read here
                views = map(self.sources.at, evaluator.modules.finder(view).files_in(folder))
                found = [other for other in views if other is not None]
        return found


def in_order(edges: Iterable[Edge]) -> list[Edge]:
    """Return edges sorted by where they stand, each once."""
    return sorted(dict.fromkeys(edges), key=lambda e: (e.path, e.line, e.target.id, e.source.id))


class Doubt(IntEnum):
    """Why a reference may mean a definition of its name; the numbers are stored."""

    SEVERAL = 1
    """The receiver is unknown, and several definitions have the name."""
    RECEIVER = 2
    """The receiver is unknown."""
    UNBOUND = 3
    """Nothing defines or imports the name there."""
    EXTERNAL = 4
    """The receiver looks external."""
    GIVEN_UP = 5
    """Finding out what it means would take too long."""


class Doubtful(NamedTuple):
    """A reference in doubt, by where it is written."""

    source: Node
    relation: Relation
    line: int
    doubt: Doubt


_DOUBTED = frozenset({Relation.CALL, Relation.DECORATE})


def doubt_about(
    outgoing: Outgoing, view: SourceView, reference: ReferenceFact, resolution: Resolution
) -> Doubt | None:
    """Return why a reference may mean some definition of its name; None where it is known not to."""
    reason = resolution.reason
    if resolution.targets or reference.relation not in _DOUBTED:
        return None
    if reason != EXTERNAL:
        return {AMBIGUOUS: Doubt.SEVERAL, GIVEN_UP: Doubt.GIVEN_UP}.get(reason, Doubt.RECEIVER)
    imported = view.imports.get(root_of(reference.on or reference.name), ())
    if not all(outgoing.evaluator.modules.resolve(view, fact.module) for fact in imported):
        return None  # it begins with what another project has
    return Doubt.EXTERNAL if reference.on else Doubt.UNBOUND
