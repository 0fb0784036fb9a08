"""Edges that start at a definition or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from findspot.core.facts import LOADED, WHOLE, ReferenceFact, Relation
from findspot.graph.edges import Edge
from findspot.graph.evaluate import Evaluator
from findspot.graph.resolve import Resolver, Target
from findspot.graph.sources import SATELLITE_KINDS, Def, Sources, SourceView
from findspot.graph.values import IMPORTED, STRUCTURAL

_RELATIONS = {str(relation): relation for relation in Relation}


class Outgoing:
    """Turns the references of files into edges."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.evaluator = Evaluator(sources)
        self.resolver = Resolver(self.evaluator)
        self.types = self.evaluator.types

    def edges(self, view: SourceView, reference: ReferenceFact) -> Iterator[Edge]:
        yield from (edge for _, edge in self.resolved(view, reference))

    def resolved(self, view: SourceView, reference: ReferenceFact) -> Iterator[tuple[Target, Edge]]:
        targets = self.resolver.resolve(view, reference).targets
        if targets:
            source, relation = view.node_at(reference.owner), _RELATIONS[reference.relation]
            for target, confidence in targets:
                yield target, Edge(source, target.node, relation, view.path, reference.line, confidence)

    def structural(self, of: Def) -> Iterator[Edge]:
        """Yield the interfaces that a type satisfies without naming them."""
        methods = {m.name for m in self.types.members(of) if m.scope}
        seen = set()
        language = of.file.language
        for name in sorted(methods) if of.kind == "struct" and language.structural_interfaces else ():
            for other in self.sources.defining(name, language.family):
                interface = other.parent
                if interface is not None and interface.kind == "interface" and interface not in seen:
                    seen.add(interface)
                    wanted = [interface, *self.types.ancestors(interface)]
                    if all(self.types.member(of, m.name) for t in wanted for m in self.types.members(t)):
                        lines = of.file.path, of.line
                        yield Edge(of.node, interface.node, Relation.INHERIT, *lines, STRUCTURAL)

    def inheriting(self, of: Def) -> Iterator[Edge]:
        for part in (of, *(s for s in self.types.satellites(of) if s.kind in SATELLITE_KINDS)):
            for reference in part.file.references.inside(part.place):
                if reference.relation == Relation.INHERIT:
                    yield from self.edges(part.file, reference)
        yield from self.structural(of)

    def overriding(self, method: Def) -> Iterator[Edge]:
        around = self.types.around(method)
        if around is not None and self.types.own(around, method.name) is not method:
            return  # declared here and defined elsewhere: the definition overrides
        for other in self.resolver.overridden(method)[:1]:
            yield Edge(method.node, other.node, Relation.OVERRIDE, method.file.path, method.line, IMPORTED)

    def imports(self, view: SourceView) -> Iterator[Edge]:
        evaluator = self.evaluator
        named_imports = {(f.module, f.line) for f in view.facts.imports if not f.local.startswith(LOADED)}
        for fact in view.facts.imports:
            if fact.local.startswith(LOADED) and (fact.module, fact.line) in named_imports:
                continue
            named = evaluator.names.imported(fact, view)
            targets: list[Target] = [v.of for v in named if isinstance(v.of, Def | SourceView)]
            if not targets:
                paths = evaluator.modules.resolve(view, fact.module)
                targets = [other for path in paths if (other := self.sources.at(path)) is not None]
            if not targets and fact.original == WHOLE and view.language.imports_whole_packages:
                folder = evaluator.modules.folder(view, fact)
                targets = list(evaluator.packages.used_of(fact.module, folder, view))
            for target in dict.fromkeys(targets):
                yield Edge(view.node, target.node, Relation.IMPORT, view.path, fact.line, IMPORTED)


def in_order(edges: Iterable[Edge]) -> list[Edge]:
    """Return edges sorted by where they stand, each once."""
    return sorted(dict.fromkeys(edges), key=lambda e: (e.path, e.line, e.target.id, e.source.id))
