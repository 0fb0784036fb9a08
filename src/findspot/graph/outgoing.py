"""Edges that start at a definition or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from findspot.core.facts import LOADED, WHOLE, ImportFact, ReferenceFact, Relation
from findspot.graph.edges import PACKAGE, Edge
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
        named_imports = {(f.module, f.line) for f in view.facts.imports if not f.local.startswith(LOADED)}
        for fact in view.facts.imports:
            if fact.local.startswith(LOADED) and (fact.module, fact.line) in named_imports:
                continue
            targets = dict.fromkeys(self._imported(fact, view), fact.mark)
            paths = {target.node.path for target in targets}
            for path in self.evaluator.modules.resolve(view, fact.module):
                handing = self.sources.at(path) if path not in paths else None
                if handing is not None:
                    targets[handing] = fact.mark or (PACKAGE if paths else "")
            for target, mark in targets.items():
                yield Edge(view.node, target.node, Relation.IMPORT, view.path, fact.line, IMPORTED, mark)

    def _imported(self, fact: ImportFact, view: SourceView) -> list[Target]:
        """Return what defines that which an import brings in."""
        names = self.evaluator.names
        if view.language.imports_packages or fact.original == WHOLE:
            found = [v.of for v in names.imported(fact, view) if isinstance(v.of, Def | SourceView)]
        else:
            found = names.definers(fact, view)
        if not found and fact.original == WHOLE and view.language.imports_whole_packages:
            folder = self.evaluator.modules.folder(view, fact)
            return list(self.evaluator.packages.used_of(fact.module, folder, view))
        return found


def in_order(edges: Iterable[Edge]) -> list[Edge]:
    """Return edges sorted by where they stand, each once."""
    return sorted(dict.fromkeys(edges), key=lambda e: (e.path, e.line, e.target.id, e.source.id))
