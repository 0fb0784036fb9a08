"""The stored facts of files as definitions that know their surroundings; decoded once a generation."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from findspot.core.facts import BindingFact, Facts, ImportFact, ReferenceFact, Relation
from findspot.core.model import SkipReason
from findspot.graph.model import FILE_KIND, Node
from findspot.graph.traits import Traits, traits_of
from findspot.store.records import StoredFile
from findspot.store.snapshot import Snapshot

_TYPE_KINDS = (
    "class struct enum interface trait protocol object record union mixin type module impl extension"
)
TYPE_KINDS = frozenset(_TYPE_KINDS.split())
"""Kinds that have members."""
SATELLITE_KINDS = frozenset({"impl", "extension"})
"""Kinds that add members to a type defined elsewhere."""
VALUE_KINDS = frozenset({"constant", "field", "variable", "property"})


class Def:
    """One definition, linked to what encloses it and what it encloses."""

    __slots__ = (
        "bindings", "children", "end_line", "file", "kind", "line", "name", "parent", "place", "scope",
    )  # fmt: skip

    def __init__(self, file: SourceView, place: int, parent: Def | None) -> None:
        fact = file.facts.definitions[place]
        self.file = file
        self.place = place
        self.parent = parent
        self.name, self.kind, self.line, self.end_line, _, self.scope = fact
        self.children: dict[str, list[Def]] = {}
        self.bindings: dict[str, list[tuple[int, str]]] = {}
        """Name → the place of the definition in which its value is read, and the value."""

    @property
    def makes_its_type(self) -> bool:
        """Whether it is a constructor, which is called by the name of its type."""
        around = self.scope.rpartition(".")[2] or (self.parent.name if self.parent is not None else "")
        return self.kind == "constructor" or (self.name == around and not self.is_type)

    @property
    def is_type(self) -> bool:
        return self.kind in TYPE_KINDS

    @property
    def around(self) -> Iterator[Def]:
        """What encloses it, nearest first."""
        outer = self.parent
        while outer is not None:
            yield outer
            outer = outer.parent

    @property
    def qualified(self) -> str:
        names = [self.name]
        for definition in (self, *self.around):
            if definition.scope:
                names.append(definition.scope)
            if definition.parent is not None:
                names.append(definition.parent.name)
        return ".".join(reversed(names))

    @property
    def titled(self) -> bool:
        """Whether its name is a title, as of `test("adds up", …)`: nothing that code could call."""
        return self.kind == "test" and self.file.traits.family == "js"

    @property
    def node(self) -> Node:
        return self.file.nodes[self.place]

    def __repr__(self) -> str:
        return f"<{self.kind} {self.qualified} {self.file.path}:{self.line}>"


class SourceView:
    """One file of the project: its definitions, and what it imports, binds and refers to."""

    def __init__(self, stored: StoredFile, facts: Facts) -> None:
        self.id = stored.id
        self.path = stored.path
        self.language = stored.language
        self.facts = facts
        self.package = facts.package
        self.traits: Traits = traits_of(stored.language)
        self.definitions: list[Def] = []
        self.tops: dict[str, list[Def]] = {}
        self.bindings: dict[str, list[tuple[int, str]]] = {}
        for place, fact in enumerate(facts.definitions):
            parent = self.definitions[fact.parent] if fact.parent >= 0 else None
            definition = Def(self, place, parent)
            self.definitions.append(definition)
            inside = parent.children if parent is not None else self.tops
            inside.setdefault(f'"{fact.name}"' if definition.titled else fact.name, []).append(definition)
        for binding in facts.bindings:
            self._bind(binding)

    def _bind(self, binding: BindingFact) -> None:
        head, dot, attribute = binding.target.partition(".")
        owner: Def | None = self.definitions[binding.owner] if binding.owner >= 0 else None
        if dot:  # an attribute of the object: it belongs to the type around the method
            owner = next((outer for outer in owner.around if outer.is_type), None) if owner else None
            if owner is not None:
                owner.bindings.setdefault(attribute, []).append((binding.owner, binding.value))
            return
        place = self.bindings if owner is None else owner.bindings
        place.setdefault(head, []).append((binding.owner, binding.value))

    def owner(self, place: int) -> Def | None:
        return self.definitions[place] if place >= 0 else None

    @cached_property
    def imports(self) -> dict[str, list[ImportFact]]:
        """By local name; `*` are those that bring in all names."""
        found: dict[str, list[ImportFact]] = {}
        for fact in self.facts.imports:
            found.setdefault(fact.local, []).append(fact)
        return found

    @cached_property
    def by_name(self) -> dict[str, list[ReferenceFact]]:
        found: dict[str, list[ReferenceFact]] = defaultdict(list)
        for reference in self.facts.references:
            found[reference.name].append(reference)
        return dict(found)

    @cached_property
    def by_owner(self) -> dict[int, list[ReferenceFact]]:
        found: dict[int, list[ReferenceFact]] = defaultdict(list)
        for reference in self.facts.references:
            found[reference.owner].append(reference)
        return dict(found)

    @cached_property
    def nodes(self) -> list[Node]:
        """A node a definition; the second of the same name is told apart by its number."""
        seen: dict[str, int] = {}
        nodes = []
        for definition in self.definitions:
            qualified = definition.qualified
            seen[qualified] = seen.get(qualified, 0) + 1
            number = f"~{seen[qualified]}" if seen[qualified] > 1 else ""
            lines = definition.line, definition.end_line
            node_id = f"{self.path}#{qualified}{number}"
            nodes.append(Node(self.path, *lines, definition.name, qualified, definition.kind, node_id))
        return nodes

    @cached_property
    def by_id(self) -> dict[str, Def]:
        return {node.id: definition for node, definition in zip(self.nodes, self.definitions, strict=True)}

    @cached_property
    def renamed(self) -> dict[str, set[str]]:
        """What imports call something else here, by what it is called there."""
        found: dict[str, set[str]] = {}
        for fact in self.facts.imports:
            if fact.local != fact.original:
                found.setdefault(fact.original, set()).add(fact.local)
        return found

    @cached_property
    def node(self) -> Node:
        """The file itself."""
        last = max((definition.end_line for definition in self.definitions), default=1)
        last = max(last, max((reference.line for reference in self.facts.references), default=1))
        name = self.path.rpartition("/")[2]
        return Node(self.path, 1, last, name, self.path, FILE_KIND, self.path)

    def node_at(self, place: int) -> Node:
        return self.nodes[place] if place >= 0 else self.node

    def decorated_by(self, definition: Def, names: frozenset[str]) -> bool:
        """Whether one of these stands above a definition."""
        references = self.by_owner.get(definition.place, ())
        return any(r.relation == Relation.DECORATE and r.name in names for r in references)


class Sources:
    """The files of one snapshot, each decoded when it is first asked for."""

    def __init__(self, snapshot: Snapshot, views: dict[int, SourceView | None]) -> None:
        self._views = views
        self._here = threading.local()
        self.files = snapshot.files
        self.read_from(snapshot)

    def read_from(self, snapshot: Snapshot) -> None:
        """Read from this snapshot in this thread: what is decoded is shared, a connection is not."""
        self._here.snapshot = snapshot

    @cached_property
    def empty(self) -> list[str]:
        """The files that hold nothing, and so are not in the index: they still make a folder a package."""
        return [skip.path for skip in self._snapshot.skips(SkipReason.EMPTY)]

    @property
    def _snapshot(self) -> Snapshot:
        snapshot: Snapshot = self._here.snapshot
        return snapshot

    def view(self, file_id: int) -> SourceView | None:
        """A file's facts; None where it is no code."""
        if file_id not in self._views:
            stored, facts = self.files.by_id.get(file_id), self._snapshot.facts(file_id)
            self._views[file_id] = SourceView(stored, facts) if stored and facts else None
        return self._views[file_id]

    def at(self, path: str) -> SourceView | None:
        file_id = self.files.by_path.get(path)
        return self.view(file_id) if file_id is not None else None

    def naming(self, name: str) -> list[SourceView]:
        """The files that define, import or refer to a name."""
        found = (self.view(file_id) for file_id, _, _ in self._snapshot.files_naming(name))
        return [view for view in found if view is not None]

    def defining(self, name: str, family: str | None = None) -> list[Def]:
        """Every definition of a name, in the languages of one family."""
        found = []
        for file_id, defined, _ in self._snapshot.files_naming(name):
            view = self.view(file_id) if defined else None
            if view is not None and (family is None or view.traits.family == family):
                found += [d for d in view.definitions if d.name == name and not d.titled]
        return found

    def spellings(self, name: str) -> list[str]:
        return self._snapshot.spellings(name)

    def text(self, path: str) -> str:
        """What the chunks of a file hold, for the settings that say where modules are."""
        chunks = self._snapshot.chunks_of(path)
        return "\n".join(chunk.text for chunk in chunks if chunk.chunk_type != "symbols")

    def all_views(self) -> Iterator[SourceView]:
        for file in self.files.files:
            view = self.view(file.id)
            if view is not None:
                yield view
