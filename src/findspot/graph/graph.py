"""The questions that the graph answers, over one snapshot of the index."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from findspot.core.facts import WHOLE, ReferenceFact, Relation
from findspot.graph.memory import memory_of
from findspot.graph.model import Edge, Node, Outline, Unresolved
from findspot.graph.reach import OWN_NAMES, module_names
from findspot.graph.resolve import Target
from findspot.graph.sources import SATELLITE_KINDS, VALUE_KINDS, Def, SourceView
from findspot.graph.values import DISPATCHED, FLOOR, IMPORTED, STRUCTURAL
from findspot.store.snapshot import Snapshot

ALL = tuple(Relation)
_RELATIONS = {str(relation): relation for relation in Relation}


class Graph:
    """Definitions and the references between them; everything is read when it is asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._memo = memory_of(snapshot)
        self._resolver = self._memo.resolver
        self._sources = self._resolver.evaluator.sources
        self._sources.read_from(snapshot)
        self._reach = self._memo.reach
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
        found = view.by_id.get(node_id)
        return found.node if found is not None else None

    def callers(self, node: Node, floor: float = FLOOR, within: str | None = None) -> list[Edge]:
        """Who calls it, anywhere or in one file; calls of a type are those of its constructor."""
        targets = self._called(node)
        if within is None:
            edges = [edge for t in targets for edge in self._incoming(t, Relation.CALL)]
        else:
            view = self._sources.at(within)
            edges = [edge for t in targets for edge in self._calls_in(view, t)] if view is not None else []
        for method in self._resolver.overridden(targets[0]) if targets and floor <= DISPATCHED else ():
            reached = self._incoming(method, Relation.CALL)
            edges += [replace(edge, target=node, confidence=DISPATCHED) for edge in reached]
        return _sorted(edge for edge in edges if edge.confidence >= floor)

    def calling_paths(self, node: Node) -> set[str]:
        """The files that may call it, before anything in them is resolved."""
        return set().union(*(self._paths_calling(target) for target in self._called(node)))

    def _paths_calling(self, target: Def) -> frozenset[str]:
        if target not in self._memo.calling:
            using = (path for name in self._reach.names(target) for path in self._sources.paths_using(name))
            own = (view.path for view in self._own_names(target))
            self._memo.calling[target] = frozenset(using).union(own)
        return self._memo.calling[target]

    def _called(self, node: Node) -> list[Def]:
        """What calls of it may lead to: of a constructor its type as well."""
        target = self._definition(node)
        around = self._types.around(target) if target is not None else None
        if target is None or around is None or around is target:
            return [] if target is None else [target]
        return [target, around] if target is self._types.constructor(around) else [target]

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
            for reference in view.references_in(place)
            if reference.relation in wanted
            for edge in self._edges(view, reference)
        ]
        if Relation.IMPORT in wanted and place == -1:
            edges += self.imports_of(node.path)
        if Relation.INHERIT in wanted and definition is not None:
            edges += self._structural(definition)
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
        for reference in view.references_in(definition.place if definition is not None else -1):
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
        views = {view.id: view for name in self._import_names(paths) for view in self._sources.naming(name)}
        for view in views.values():
            found += [edge for edge in self._import_edges(view) if edge.target.path in paths]
        return _sorted(found)

    def _import_names(self, paths: set[str]) -> set[str]:
        """What may stand in an import of one of these files: its name, or that of something in it."""
        names = {name for path in paths for name in module_names(path)}
        views = (self._sources.at(path) for path in paths)
        return names.union(*(view.tops.keys() for view in views if view is not None))

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
        return view.by_id.get(node.id)

    def _type(self, node: Node) -> Def | None:
        definition = self._definition(node)
        return self._types.home(definition) if definition is not None and definition.is_type else None

    def _edges(self, view: SourceView, reference: ReferenceFact) -> Iterator[Edge]:
        yield from (edge for _, edge in self._resolved(view, reference))

    def _resolved(self, view: SourceView, reference: ReferenceFact) -> Iterator[tuple[Target, Edge]]:
        targets = self._resolver.resolve(view, reference).targets
        if targets:
            source, relation = view.node_at(reference.owner), _RELATIONS[reference.relation]
            for target, confidence in targets:
                yield target, Edge(source, target.node, relation, view.path, reference.line, confidence)

    def _incoming(self, target: Def, relation: Relation) -> tuple[Edge, ...]:
        key = (target, relation)
        if key not in self._memo.incoming:
            self._memo.incoming[key] = tuple(self._find_incoming(target, relation))
        return self._memo.incoming[key]

    def _structural(self, of: Def) -> Iterator[Edge]:
        """The interfaces that a type satisfies without naming them."""
        methods = {m.name for m in self._types.members(of) if m.scope}
        seen = set()
        language = of.file.language
        for name in sorted(methods) if of.kind == "struct" and language.structural_interfaces else ():
            for other in self._sources.defining(name, language.family):
                interface = other.parent
                if interface is not None and interface.kind == "interface" and interface not in seen:
                    seen.add(interface)
                    wanted = [interface, *self._types.ancestors(interface)]
                    if all(self._types.member(of, m.name) for t in wanted for m in self._types.members(t)):
                        lines = of.file.path, of.line
                        yield Edge(of.node, interface.node, Relation.INHERIT, *lines, STRUCTURAL)

    def _find_incoming(self, target: Def, relation: Relation) -> Iterator[Edge]:
        if relation is Relation.IMPORT:
            called = self._reach.names(target) | module_names(target.file.path)
            importing = {view.id: view for name in called for view in self._sources.naming(name)}
            for view in importing.values():
                yield from (edge for edge in self._import_edges(view) if edge.target == target.node)
            return
        if relation is Relation.OVERRIDE:
            yield from (e for e in self._overridden_by(target) if self._overrides_first(e, target))
            return
        language = target.file.language
        if relation is Relation.INHERIT and target.kind == "interface" and language.structural_interfaces:
            for method in self._types.members(target)[:1]:
                for other in self._sources.defining(method.name, language.family):
                    around = self._types.around(other) if other.scope else None
                    if around is not None:
                        yield from (e for e in self._structural(around) if e.target == target.node)
        for name in sorted(self._reach.names(target)):
            for view in self._sources.naming(name):
                if relation is not Relation.INHERIT or name in view.facts.bases:
                    yield from self._named(name, relation, view).get(target, ())
        if relation is Relation.CALL:
            for view in self._own_names(target):
                yield from self._calls_by_own_names(view, target)

    def _calls_in(self, view: SourceView, target: Def) -> tuple[Edge, ...]:
        key = (target, view.id)
        if key not in self._memo.calls:
            names = sorted(self._reach.names(target))
            found = [e for name in names for e in self._named(name, Relation.CALL, view).get(target, ())]
            self._memo.calls[key] = (*found, *self._calls_by_own_names(view, target))
        return self._memo.calls[key]

    def _named(self, name: str, relation: Relation, view: SourceView) -> dict[Target, list[Edge]]:
        """A file's references to a name, by what they refer to: resolved once for all things of that name."""
        key = (name, relation, view.id)
        if key not in self._memo.named:
            table: dict[Target, list[Edge]] = {}
            for reference in view.referring(name):
                if reference.relation == relation:
                    for target, edge in self._resolved(view, reference):
                        table.setdefault(target, []).append(edge)
            self._memo.named[key] = table
        return self._memo.named[key]

    def _calls_by_own_names(self, view: SourceView, target: Def) -> Iterator[Edge]:
        for name in sorted(self._own_names(target).get(view, ())):
            for reference in view.referring(name):
                if reference.relation == Relation.CALL:
                    yield from (e for e in self._edges(view, reference) if e.target == target.node)

    def _own_names(self, target: Def) -> dict[SourceView, frozenset[str]]:
        """The files in which `cls`, `super` and their like may mean a definition."""
        if target not in self._memo.own:
            self._memo.own[target] = self._find_own_names(target)
        return self._memo.own[target]

    def _find_own_names(self, target: Def) -> dict[SourceView, frozenset[str]]:
        if target.is_type:
            below = (self._sources.at(edge.source.path) for edge in self._incoming(target, Relation.INHERIT))
            return {view: OWN_NAMES for view in (target.file, *below) if view is not None}
        if target.file.language.super_calls_same_method:
            return dict.fromkeys(self._below(target), frozenset({"super"}))
        return {}

    def _below(self, method: Def) -> list[SourceView]:
        """The files of the types that inherit a method."""
        around = self._types.around(method)
        edges = self.implementers(around.node) if around is not None else []
        return [view for edge in edges if (view := self._sources.at(edge.path)) is not None]

    def _inheriting(self, of: Def) -> Iterator[Edge]:
        for part in (of, *(s for s in self._types.satellites(of) if s.kind in SATELLITE_KINDS)):
            for reference in part.file.references_in(part.place):
                if reference.relation == Relation.INHERIT:
                    yield from self._edges(part.file, reference)
        yield from self._structural(of)

    def _overriding(self, method: Def) -> Iterator[Edge]:
        around = self._types.around(method)
        if around is not None and self._types.own(around, method.name) is not method:
            return  # declared here and defined elsewhere: the definition overrides
        for other in self._resolver.overridden(method)[:1]:
            yield Edge(method.node, other.node, Relation.OVERRIDE, method.file.path, method.line, IMPORTED)

    def _overrides_first(self, edge: Edge, method: Def) -> bool:
        """Whether no other method stands between the two."""
        overriding = self._definition(edge.source)
        return overriding is not None and self._resolver.overridden(overriding)[:1] == [method]

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
        evaluator = self._resolver.evaluator
        for fact in view.facts.imports:
            named = evaluator.imported(fact, view)
            targets: list[Target] = [v.of for v in named if isinstance(v.of, Def | SourceView)]
            if not targets:
                paths = evaluator.modules.resolve(view, fact.module)
                targets = [other for path in paths if (other := self._sources.at(path)) is not None]
            if not targets and fact.original == WHOLE and view.language.imports_whole_packages:
                folder = evaluator.modules.folder(view, fact)
                targets = list(evaluator.packages.used_of(fact.module, folder, view))
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


def _part(path: str, depth: int | None) -> str:
    return path if depth is None else "/".join(posixpath.dirname(path).split("/")[:depth]) or "."


def _outline(definition: Def) -> Outline:
    children = sorted((d for group in definition.children.values() for d in group), key=lambda d: d.place)
    return Outline(definition.node, tuple(_outline(child) for child in children))


def every_node(graph: Graph) -> list[Node]:
    """All nodes of a project, those of files first in each; for small projects and tests."""
    return [node for view in graph._sources.all_views() for node in (view.node, *view.nodes)]
