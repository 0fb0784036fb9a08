"""The facts of one file as definitions that know their surroundings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any, cast

from findspot.core.facts import (
    FIXTURE,
    FIXTURE_DECORATORS,
    WHOLE,
    DefinitionFact,
    Facts,
    ImportFact,
    ReferenceFact,
    Relation,
)
from findspot.graph.edges import FILE_KIND, Node
from findspot.graph.languages import language_of
from findspot.graph.languages.language import Language
from findspot.store.records import StoredFile

_TYPE_KINDS = (
    "class struct enum interface trait protocol object record union mixin type module impl extension"
)
TYPE_KINDS = frozenset(_TYPE_KINDS.split())
"""Kinds that have members."""
SATELLITE_KINDS = frozenset({"impl", "extension"})
"""Kinds that add members to a type defined elsewhere."""
VALUE_KINDS = frozenset({"constant", "field", "variable", "property"})

_RELATION, _NAME, _ON, _LINE, _OWNER = (
    ReferenceFact._fields.index(f) for f in ("relation", "name", "on", "line", "owner")
)
_DECORATE, _INHERIT = Relation.DECORATE.value, Relation.INHERIT.value
_DOT = re.compile(r"\.")
_MEMBER = re.compile(r"[.()\[\]]")

Scope = dict[str, list[tuple[int, str]]]
"""Name → the place of the definition in which its value is read, and the value."""

_UNBOUND: Scope = {}
"""Of most definitions, shared; never written to."""


HEADERS = (".h", ".hh", ".hpp", ".hxx", ".pyi", ".d.ts")
"""Suffixes of files that declare what other files define."""


class Def:
    """One definition, linked to what encloses it and what it encloses."""

    __slots__ = (
        "children",
        "end_line",
        "file",
        "is_hidden",
        "kind",
        "least",
        "line",
        "most",
        "name",
        "parent",
        "place",
        "scope",
    )

    def __init__(self, file: SourceView, place: int, parent: Def | None, fact: DefinitionFact) -> None:
        self.file = file
        self.place = place
        self.parent = parent
        self.name, self.kind, self.line, self.end_line, _, self.scope, *rest = fact
        self.least, self.most, hidden = rest
        self.is_hidden = hidden and not file.path.endswith(HEADERS)
        self.children: dict[str, list[Def]] = {}

    @property
    def written(self) -> str:
        """Its name as code would write it: titles are in quotes, so that none is taken for a name."""
        return f'"{self.name}"' if self.kind == "test" and self.titled else self.name

    @property
    def bindings(self) -> Scope:
        return self.file.scope(self.place)

    @property
    def holder(self) -> str:
        """The name of the type that it is a member of, or of what else is around it."""
        return self.scope.rpartition(".")[2] or (self.parent.name if self.parent is not None else "")

    @property
    def makes_its_type(self) -> bool:
        """Whether it is a constructor, which is called by the name of its type."""
        named = self.file.language.constructors_have_type_names
        return self.kind == "constructor" or (named and self.name == self.holder and not self.is_type)

    def takes(self, least: int, most: int) -> bool:
        """Return whether it can be called with a number of arguments in this range."""
        return self.most < 0 or (self.least <= most and least <= self.most)

    @property
    def is_type(self) -> bool:
        return self.kind in TYPE_KINDS

    @property
    def is_object(self) -> bool:
        """Whether it is an object with functions of its own."""
        if self.kind not in VALUE_KINDS or not self.file.language.objects_are_types:
            return False
        return (
            bool(self.children)
            or bool(self.bindings)
            or any(outside.scope == self.name for outside in self.file.outside)
        )

    @property
    def around(self) -> list[Def]:
        """What encloses it, nearest first."""
        found = []
        outer = self.parent
        while outer is not None:
            found.append(outer)
            outer = outer.parent
        return found

    @property
    def qualified(self) -> str:
        return self.file.qualified[self.place]

    @property
    def titled(self) -> bool:
        """Whether its name is a title, as of `test("adds up", …)`: nothing that code could call."""
        return self.kind == "test" and self.file.language.titled_tests

    @property
    def node(self) -> Node:
        return self.file.node_at(self.place)

    @property
    def id_of_node(self) -> str:
        """The id of its node, which need not be made for that."""
        return self.file.ids[self.place]

    def __repr__(self) -> str:
        return f"<{self.kind} {self.qualified} {self.file.path}:{self.line}>"


def scopes_of(owner: Def | None) -> list[Def]:
    """Return a definition and what encloses it, nearest first."""
    return [owner, *owner.around] if owner is not None else []


def _places(column: tuple[Any, ...], value: str) -> list[int]:
    """Return where a value stands in a column."""
    places = [-1]
    for _ in range(column.count(value)):
        places.append(column.index(value, places[-1] + 1))
    return places[1:]


def _by_owner(owners: tuple[int, ...], rows: Iterable[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in rows:
        found.setdefault(owners[row], []).append(row)
    return found


class References:
    """The references of one file, by column: a question about one name makes tuples of few of them."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    @cached_property
    def _columns(self) -> tuple[tuple[Any, ...], ...]:
        """Read when they are first asked for: many files are only asked for what they define."""
        return self._facts.columns

    @property
    def names(self) -> set[str]:
        """Every name that the file refers to."""
        return set(self._columns[_NAME])

    @cached_property
    def names_on(self) -> dict[str, set[str]]:
        """The members of packages that the file refers to, by what it calls the package."""
        found: dict[str, set[str]] = {}
        for name, on in zip(self._columns[_NAME], self._columns[_ON], strict=True):
            found.setdefault(on, set()).add(name)
        for on in list(found):
            for dot in _DOT.finditer(on):
                found.setdefault(on[: dot.start()], set()).add(_MEMBER.split(on, maxsplit=2)[1])
        return found

    @property
    def last_line(self) -> int:
        """The last line with a reference."""
        return max(self._columns[_LINE], default=1)

    def to(self, name: str) -> list[ReferenceFact]:
        """Return the references to a name."""
        return [self._row(row) for row in _places(self._columns[_NAME], name)]

    def inherited_by(self, place: int) -> list[ReferenceFact]:
        """Return what a definition inherits from."""
        return [reference for reference in self.inside(place) if reference.relation == _INHERIT]

    def heirs_of(self, name: str) -> list[int]:
        """Return the places of the definitions that inherit from something of a name."""
        names, owners = self._columns[_NAME], self._columns[_OWNER]
        rows = _places(self._columns[_RELATION], _INHERIT)
        return [owners[row] for row in rows if names[row] == name]

    def inside(self, place: int) -> list[ReferenceFact]:
        """Return the references in a definition, or, by -1, in none."""
        return [self._row(row) for row in self._rows_by_owner.get(place, ())]

    def decorate(self, definition: Def, names: frozenset[str]) -> bool:
        """Return whether one of these names decorates a definition."""
        return not names.isdisjoint(self.decorators.get(definition.place, ()))

    @cached_property
    def decorators(self) -> dict[int, list[str]]:
        """By the place of a definition the names that decorate it."""
        rows = _by_owner(self._columns[_OWNER], _places(self._columns[_RELATION], _DECORATE))
        return {owner: [self._columns[_NAME][row] for row in above] for owner, above in rows.items()}

    def _row(self, row: int) -> ReferenceFact:
        return ReferenceFact(*[column[row] for column in self._columns])

    @cached_property
    def _rows_by_owner(self) -> dict[int, list[int]]:
        return _by_owner(self._columns[_OWNER], range(len(self._columns[_OWNER])))


class SourceView:
    """One file of the project: its definitions, and what it imports, binds and refers to."""

    def __init__(self, stored: StoredFile, facts: Facts) -> None:
        self.id = stored.id
        self.path = stored.path
        self.facts = facts
        self.package = facts.package
        self.language: Language = language_of(stored.language)
        self.references = References(facts)
        self.module_scope = (self.language.family, self.language.module_scope(self.path))
        """What the meaning of the module names in it depends on: its family, and mostly its folder."""
        self.id_of_node = self.path

    @cached_property
    def definitions(self) -> list[Def]:
        """Its definitions: the same objects to every thread, since they are compared by identity."""
        found: list[Def] = []
        for place, row in enumerate(zip(*self.facts.defined, strict=True)):
            fact = DefinitionFact._make(row)
            parent = found[fact.parent] if fact.parent >= 0 else None
            definition = Def(self, place, parent, fact)
            found.append(definition)
            if parent is not None:
                parent.children.setdefault(definition.written, []).append(definition)
        return cast(list[Def], vars(self).setdefault("definitions", found))

    @cached_property
    def tops(self) -> dict[str, list[Def]]:
        """The definitions that nothing encloses, by name."""
        found: dict[str, list[Def]] = {}
        for definition in self.definitions:
            if definition.parent is None:
                found.setdefault(definition.written, []).append(definition)
        return found

    @cached_property
    def outside(self) -> list[Def]:
        """The definitions that add members to a type or object from outside of it."""
        return [d for d in self.definitions if d.scope or d.kind in SATELLITE_KINDS]

    def scope(self, place: int) -> Scope:
        """Return what is bound in a definition; outside of all of them, by -1."""
        return self.bound.get(place, _UNBOUND)

    @cached_property
    def bound(self) -> dict[int, Scope]:
        """By place what is bound there."""
        found: dict[int, Scope] = {}
        holders: dict[int, tuple[str, int] | None] = {}
        for owner, written, value in self.facts.bindings:
            name, place = written, owner
            if "." in written:  # an attribute of the object
                if owner not in holders:
                    holders[owner] = _holder(self, owner)
                holder = holders[owner]
                if holder is None:
                    continue
                name, place = holder[0] + written.partition(".")[2], holder[1]
            found.setdefault(place, {}).setdefault(name, []).append((owner, value))
        return found

    @property
    def bindings(self) -> Scope:
        return self.scope(-1)

    @cached_property
    def known_names(self) -> frozenset[str] | None:
        """Every name that means something in the file; None where other files decide that too."""
        if self.language.shares != "file" or WHOLE in self.imports:
            return None
        defined = (definition.written for definition in self.definitions)
        return frozenset(
            (*self.imports, *defined, *(name for scope in self.bound.values() for name in scope))
        )

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
    def qualified(self) -> list[str]:
        """The names of its definitions with those of what encloses them."""
        found: list[str] = []
        for definition in self.definitions:
            outer = found[definition.parent.place] if definition.parent is not None else ""
            scope = definition.scope if definition.scope != "this" else ""
            found.append(".".join(filter(None, (outer, scope, definition.name))))
        return found

    @cached_property
    def ids(self) -> list[str]:
        """The ids of its definitions: those of the same name are numbered."""
        seen: dict[str, int] = {}
        ids = []
        for qualified in self.qualified:
            seen[qualified] = number = seen.get(qualified, 0) + 1
            ids.append(f"{self.path}#{qualified}~{number}" if number > 1 else f"{self.path}#{qualified}")
        return ids

    @cached_property
    def by_id(self) -> dict[str, Def]:
        return dict(zip(self.ids, self.definitions, strict=True))

    @cached_property
    def fixtures(self) -> dict[tuple[int, str], Def]:
        """The fixtures of tests that it defines, by the type around them (or -1) and what they are called."""
        if not self.language.fixtures or FIXTURE_DECORATORS.isdisjoint(self.references.names):
            return {}
        bindings = self.facts.bindings
        renamed = {(place, of): name[1:] for place, name, of in bindings if name.startswith(FIXTURE)}
        fixtures = {}
        for owner in self.references.decorators:
            fixture = self.owner(owner)
            if fixture is None or not self.references.decorate(fixture, FIXTURE_DECORATORS):
                continue
            around = fixture.parent
            if not fixture.is_type and (around is None or around.is_type):
                place = around.place if around is not None else -1
                fixtures[place, renamed.get((place, fixture.name), fixture.name)] = fixture
        return fixtures

    @cached_property
    def node(self) -> Node:
        """The file itself."""
        last = max((definition.end_line for definition in self.definitions), default=1)
        last = max(last, self.references.last_line)
        name = self.path.rpartition("/")[2]
        return Node(self.path, 1, last, name, self.path, FILE_KIND, self.path)

    def node_at(self, place: int) -> Node:
        """Return the node of a definition, or, by -1, of the file."""
        if place < 0:
            return self.node
        of, qualified, node_id = self.definitions[place], self.qualified[place], self.ids[place]
        return Node(self.path, of.line, of.end_line, of.name, qualified, of.kind, node_id)


def _holder(view: SourceView, owner: int) -> tuple[str, int] | None:
    """Return where attributes that a definition gives to its object are bound, and by what mark."""
    method = view.owner(owner)
    around = next((outer for outer in method.around if outer.is_type), None) if method else None
    if around is not None:
        return "", around.place
    maker = _maker(view, method)
    return ("@", maker.place) if maker is not None else None  # its variables are bound there too


def _maker(view: SourceView, inside: Def | None) -> Def | None:
    """Return the function whose objects `this` is one of: by its name, or that of a prototype."""
    if not view.language.objects_are_types:
        return None
    for definition in scopes_of(inside):
        if definition.scope not in ("", "this"):
            return next(iter(view.tops.get(definition.scope, ())), None)
        if definition.kind == "function" and definition.name[:1].isupper():
            return definition
    return None


def is_top(definition: Def) -> bool:
    """Return whether it stands in no type and no function, and adds to no type."""
    if definition.scope or definition.kind in SATELLITE_KINDS:
        return False
    return all(outer.kind == "module" for outer in definition.around)
