"""The questions that the graph answers, over one snapshot of the index."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from findspot.core.facts import WHOLE, ReferenceFact, Relation, module_name
from findspot.graph.evaluate import Evaluator
from findspot.graph.model import Edge, Node, Outline, Unresolved
from findspot.graph.resolve import Resolver, Target
from findspot.graph.sources import SATELLITE_KINDS, VALUE_KINDS, Def, Sources, SourceView
from findspot.graph.values import DISPATCHED, FLOOR, IMPORTED
from findspot.store.snapshot import Snapshot

ALL = tuple(Relation)


@dataclass(slots=True)
class Memo:
    """What was worked out in one generation, for the next graph over the same generation."""

    views: dict[int, SourceView | None] = field(default_factory=dict)
    resolver: Resolver | None = None
    incoming: dict[tuple[Def, Relation], tuple[Edge, ...]] = field(default_factory=dict)


class Graph:
    """Definitions and the references between them; everything is read when it is asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._memo = snapshot.memo(Memo)
        if self._memo.resolver is None:
            self._memo.resolver = Resolver(Evaluator(Sources(snapshot, self._memo.views)))
        self._resolver = self._memo.resolver
        self._sources = self._resolver.evaluator.sources
        self._sources.read_from(snapshot)
        self._types = self._resolver.evaluator.types

    def find(self, name: str) -> list[Node]:
        """The definitions of a name: `name`, `Class.method`, `name()`, `path#name`, any case at last."""
        wanted = name.strip().removesuffix("()").replace("::", ".").replace("#", ".").strip(".")
        if "#" in name and (node := self.node(name)) is not None:
            return [node]
        qualifier, _, last = wanted.rpartition(".")
        found = [d for d in self._sources.defining(last) if _qualifies(d, qualifier)]
        if not found:
            spelled = [other for other in self._sources.spellings(last) if other != last]
            found = [d for n in spelled for d in self._sources.defining(n) if _qualifies(d, qualifier)]
        return sorted((d.node for d in found), key=_importance)

    def node(self, node_id: str) -> Node | None:
        """The node of an id, or of the path of a file."""
        path, mark, _ = node_id.partition("#")
        view = self._sources.at(path)
        if view is None or not mark:
            return view.node if view is not None else None
        return next((node for node in view.nodes if node.id == node_id), None)

    def callers(self, node: Node, floor: float = FLOOR) -> list[Edge]:
        """Who calls it; calls of a type are those of its constructor."""
        target = self._definition(node)
        if target is None:
            return []
        targets = [target]
        around = self._types.around(target)
        if around is not None and around is not target and target is self._types.constructor(around):
            targets.append(around)
        edges = [edge for t in targets for edge in self._incoming(t, Relation.CALL)]
        for method in self._resolver.overridden(target) if floor <= DISPATCHED else ():
            reached = self._incoming(method, Relation.CALL)
            edges += [replace(edge, target=node, confidence=DISPATCHED) for edge in reached]
        return _sorted(edge for edge in edges if edge.confidence >= floor)

    def callees(self, node: Node, floor: float = FLOOR) -> list[Edge]:
        """What it calls, in the order of the lines."""
        return [e for e in self.edges_of(node, (Relation.CALL,)) if e.confidence >= floor]

    def references_to(
        self, node: Node, relations: Iterable[Relation] = ALL, floor: float = FLOOR
    ) -> list[Edge]:
        """Every edge that ends at a node."""
        target = self._definition(node)
        if target is None:
            return []
        edges = [edge for relation in relations for edge in self._incoming(target, relation)]
        return _sorted(edge for edge in edges if edge.confidence >= floor)

    def edges_of(self, node: Node, relations: Iterable[Relation] = ALL) -> list[Edge]:
        """Every edge that starts at a node."""
        view = self._sources.at(node.path)
        if view is None:
            return []
        wanted = set(relations)
        definition = self._definition(node)
        place = definition.place if definition is not None else -1
        edges = [
            edge
            for reference in view.by_owner.get(place, ())
            if reference.relation in wanted
            for edge in self._edges(view, reference)
        ]
        if Relation.IMPORT in wanted and place == -1:
            edges += self.imports_of(node.path)
        if Relation.OVERRIDE in wanted and definition is not None:
            edges += self._overriding(definition)
        return _sorted(edges)

    def unresolved(self, node: Node) -> list[Unresolved]:
        """The references of a node that lead out of the project, or are in doubt."""
        view = self._sources.at(node.path)
        if view is None:
            return []
        definition = self._definition(node)
        found = []
        for reference in view.by_owner.get(definition.place if definition is not None else -1, ()):
            resolution = self._resolver.resolve(view, reference)
            if not resolution.targets:
                candidates = tuple(candidate.node for candidate in resolution.candidates)
                relation = Relation(reference.relation)
                found.append(
                    Unresolved(node, reference.name, reference.on, relation, view.path, reference.line,
                               resolution.reason, candidates)
                )  # fmt: skip
        return found

    def supertypes(self, node: Node, *, transitive: bool = False) -> list[Edge]:
        """What a type inherits from or conforms to, by its extensions as well."""
        start = self._type(node)
        if start is None:
            return []
        types = [start, *(self._types.ancestors(start) if transitive else ())]
        return _sorted(edge for each in types for edge in self._inheriting(each))

    def implementers(self, node: Node, *, transitive: bool = True) -> list[Edge]:
        """The types that inherit from or conform to a type, subclasses of subclasses included."""
        start = self._type(node)
        if start is None:
            return []
        found: list[Edge] = []
        seen = {start}
        waiting = [start]
        while waiting:
            for edge in self._incoming(waiting.pop(), Relation.INHERIT):
                found.append(edge)
                below = self._type(edge.source)
                if transitive and below is not None and below not in seen:
                    seen.add(below)
                    waiting.append(below)
        return _sorted(found)

    def overrides(self, node: Node) -> list[Edge]:
        """The edges from a method to those that it overrides, and to it from those that override it."""
        definition = self._definition(node)
        if definition is None:
            return []
        return _sorted([*self._overriding(definition), *self._overridden_by(definition)])

    def imports_of(self, path: str) -> list[Edge]:
        """What a file imports from the project: files, and names where they are known."""
        view = self._sources.at(path)
        return _sorted(self._import_edges(view)) if view is not None else []

    def importers(self, path: str) -> list[Edge]:
        """The files that import a file (or, given a module or a folder, any file of it)."""
        paths = self._paths(path)
        found = []
        for name in {name for each in paths for name in _module_names(each)}:
            for view in self._sources.naming(name):
                found += [edge for edge in self._import_edges(view) if edge.target.path in paths]
        return _sorted(dict.fromkeys(found))

    def outline(self, path: str) -> list[Outline]:
        """The definitions of a file, nested as they are written."""
        view = self._sources.at(path)
        return [_outline(d) for d in view.definitions if d.parent is None] if view is not None else []

    def dependencies(self, depth: int | None = None) -> Counter[tuple[str, str]]:
        """How often each file imports each other one; with a depth, folders of that many parts."""
        found: Counter[tuple[str, str]] = Counter()
        for view in self._sources.all_views():
            for target in {(edge.target.path, edge.line) for edge in self._import_edges(view)}:
                pair = (_part(view.path, depth), _part(target[0], depth))
                if pair[0] != pair[1]:
                    found[pair] += 1
        return found

    def _definition(self, node: Node) -> Def | None:
        view = self._sources.at(node.path)
        if view is None or node.id == view.path:
            return None
        return next((d for d in view.definitions if d.node.id == node.id), None)

    def _type(self, node: Node) -> Def | None:
        definition = self._definition(node)
        return self._types.home(definition) if definition is not None and definition.is_type else None

    def _edges(self, view: SourceView, reference: ReferenceFact) -> Iterator[Edge]:
        source = view.node_at(reference.owner)
        for target, confidence in self._resolver.resolve(view, reference).targets:
            relation = Relation(reference.relation)
            yield Edge(source, target.node, relation, view.path, reference.line, confidence)

    def _incoming(self, target: Def, relation: Relation) -> tuple[Edge, ...]:
        key = (target, relation)
        if key not in self._memo.incoming:
            self._memo.incoming[key] = tuple(self._find_incoming(target, relation))
        return self._memo.incoming[key]

    def _find_incoming(self, target: Def, relation: Relation) -> Iterator[Edge]:
        if relation is Relation.IMPORT:
            yield from (e for e in self.importers(target.file.path) if e.target == target.node)
            return
        if relation is Relation.OVERRIDE:
            yield from self._overridden_by(target)
            return
        for view in self._sources.naming(target.name):
            for name in (target.name, *_aliases(view, target)):
                for reference in view.by_name.get(name, ()):
                    if reference.relation == relation:
                        yield from (e for e in self._edges(view, reference) if e.target == target.node)

    def _inheriting(self, of: Def) -> Iterator[Edge]:
        for part in (of, *(s for s in self._types.satellites(of) if s.kind in SATELLITE_KINDS)):
            for reference in part.file.by_owner.get(part.place, ()):
                if reference.relation == Relation.INHERIT:
                    yield from self._edges(part.file, reference)

    def _overriding(self, method: Def) -> Iterator[Edge]:
        for other in self._resolver.overridden(method)[:1]:
            yield Edge(method.node, other.node, Relation.OVERRIDE, method.file.path, method.line, IMPORTED)

    def _overridden_by(self, method: Def) -> Iterator[Edge]:
        around = self._types.around(method)
        if around is None or method is around:
            return
        for edge in self.implementers(around.node):
            below = self._type(edge.source)
            own = self._types.own(below, method.name) if below is not None else None
            if own is not None and own is not method and method in self._resolver.overridden(own):
                yield Edge(own.node, method.node, Relation.OVERRIDE, own.file.path, own.line, IMPORTED)

    def _import_edges(self, view: SourceView) -> Iterator[Edge]:
        for fact in view.facts.imports:
            named = self._resolver.evaluator.imported(fact, view)
            targets: list[Target] = [v.of for v in named if isinstance(v.of, Def | SourceView)]
            if not targets:
                paths = self._resolver.evaluator.modules.resolve(view, fact.module)
                targets = [other for path in paths if (other := self._sources.at(path)) is not None]
            for target in dict.fromkeys(targets):
                yield Edge(view.node, target.node, Relation.IMPORT, view.path, fact.line, IMPORTED)

    def _paths(self, place: str) -> set[str]:
        """The paths of a file, a folder, or a module by its dotted name."""
        files = self._sources.files
        if place in files.by_path:
            return {place}
        below = place.strip("/").replace(".", "/")
        return {
            file.path
            for file in files.files
            if file.path.startswith(f"{place.rstrip('/')}/")
            or posixpath.splitext(file.path)[0].removesuffix("/__init__").endswith(below)
        }


def _sorted(edges: Iterable[Edge]) -> list[Edge]:
    return sorted(dict.fromkeys(edges), key=lambda e: (e.path, e.line, e.target.id, e.source.id))


def _qualifies(definition: Def, qualifier: str) -> bool:
    whole = definition.qualified.rpartition(".")[0]
    return not qualifier or whole == qualifier or whole.endswith(f".{qualifier}") or (
        definition.file.path.rpartition("/")[2].partition(".")[0] == qualifier
    )  # fmt: skip


def _importance(node: Node) -> tuple[bool, bool, str, int]:
    """Types and functions before values, extensions last."""
    return node.kind in SATELLITE_KINDS, node.kind in VALUE_KINDS, node.path, node.start_line


def _aliases(view: SourceView, target: Def) -> set[str]:
    """The other names that a file gives to an imported definition."""
    locals_ = {fact.local for fact in view.facts.imports if fact.original == target.name}
    return locals_ - {target.name, WHOLE, ""}


def _module_names(path: str) -> set[str]:
    """What imports call a file: its stem, or its folder where the stem is that of an index."""
    stem = module_name(f"/{path}").partition(".")[0]
    folder = posixpath.dirname(path).rpartition("/")[2]
    return {stem, folder} - {""} if stem in ("__init__", "index", "mod", "lib") else {stem}


def _part(path: str, depth: int | None) -> str:
    return path if depth is None else "/".join(posixpath.dirname(path).split("/")[:depth]) or "."


def _outline(definition: Def) -> Outline:
    children = sorted((d for group in definition.children.values() for d in group), key=lambda d: d.place)
    return Outline(definition.node, tuple(_outline(child) for child in children))
