"""Types and their members: what they inherit, what extends them, where a member is found."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

from findspot.core.facts import ALIASED, STATIC, ReferenceFact, split_outside
from findspot.graph.memo import remembered
from findspot.graph.source_view import SATELLITE_KINDS, TYPE_KINDS, VALUE_KINDS, Def, SourceView
from findspot.graph.sources import Sources
from findspot.graph.values import Value, What

MAX_ANCESTORS = 60
"""More ancestors than any real hierarchy has."""

_PARTIAL = frozenset({"overload", "setter", "deleter"})
"""Decorators of definitions that stand beside the one that counts."""

_WRAPPED = frozenset("[({")
"""What the notation of types without a name of their own starts with."""

MEMBERLESS = frozenset({"object", "ABC", "Generic", "Protocol", "Object"})
"""Supertypes of libraries without members that a project calls."""

TypeLookup = Callable[[str, SourceView, Def | None], list[Value]]


def bodies(definitions: list[Def]) -> list[Def]:
    """Of definitions of one name those that run when it is used: no overloads, no setters."""
    if len(definitions) < 2:
        return definitions
    kept = [d for d in definitions if not d.file.references.decorate(d, _PARTIAL)]
    return kept or definitions


class Types:
    """The hierarchy of one generation; each type is worked out when first asked for."""

    def __init__(self, sources: Sources, lookup: TypeLookup) -> None:
        self._sources = sources
        self._lookup = lookup
        self.memo = sources.memo

    def home(self, definition: Def) -> Def:
        """Return the type that an extension or implementation adds to; any other type is its own."""
        if definition.kind not in SATELLITE_KINDS:
            return definition
        given = (definition.name, definition.file, definition)
        return self.memo.once(("home", definition), None, self._named, *given) or definition

    def around(self, owner: Def | None) -> Def | None:
        """Return the type whose member the code of a definition is."""
        definition = owner
        while definition is not None:
            kind = definition.kind
            if kind in TYPE_KINDS and kind != "module":
                return self.home(definition) if kind in SATELLITE_KINDS else definition
            if kind in VALUE_KINDS and definition.is_object:
                return definition
            if definition.scope and definition.scope != "this":
                return self._named(definition.scope, definition.file, definition)
            if kind == "function" and _makes_objects(self, definition):
                return definition
            definition = definition.parent
        return None

    def _named(self, name: str, view: SourceView, inside: Def) -> Def | None:
        whole = name if view.language.objects_are_types else name.rpartition(".")[2]
        found = self._lookup(whole, view, inside.parent)
        kinds = (What.TYPE, What.FUNCTION) if view.language.objects_are_types else (What.TYPE,)
        types = [value.of for value in found if value.what in kinds and isinstance(value.of, Def)]
        home = next((t for t in types if t.kind not in SATELLITE_KINDS), None)
        return home or (_object_named(name, view, inside) if view.language.objects_are_types else None)

    def satellites(self, of: Def) -> list[Def]:
        """Return what adds members to a type from outside: extensions, implementations, methods with a
        scope.
        """
        if not of.file.language.satellites:
            return []
        return self.memo.once(("satellites", of), [], self._find_satellites, of)

    def _find_satellites(self, of: Def) -> list[Def]:
        language = of.file.language
        folder = posixpath.dirname(of.file.path) if language.shares == "folder" else None
        naming = self._sources.numbers_naming(of.name, folder)
        return [
            definition
            for view in self._sources.accepted(naming, language.family, lambda s: of.name in s.extended)
            for definition in view.outside
            if definition is not of and self._adds_to(definition, of)
        ]

    def _adds_to(self, definition: Def, of: Def) -> bool:
        if definition.kind in SATELLITE_KINDS and definition.name == of.name:
            return self.home(definition) is of
        if definition.scope.rpartition(".")[2] != of.name:
            return False
        if definition.is_type:  # `holder.Name = class {…}`
            return self._named(definition.scope, definition.file, definition) is of
        return self.around(definition) is of

    @remembered(([], False))
    def parents(self, of: Def) -> tuple[list[Def], bool]:
        """Return the types it inherits from or conforms to, and whether some are not of the project."""
        found: list[Def] = []
        external = False
        for part in (of, *(s for s in self.satellites(of) if s.kind in SATELLITE_KINDS)):
            for reference in part.file.references.inherited_by(part.place):
                types = self.supertype(reference, part)
                found += types
                external = external or not (types or reference.name in MEMBERLESS)
        found += self._aliased(of)
        return [each for each in dict.fromkeys(found) if each is not of], external

    def _aliased(self, of: Def) -> list[Def]:
        """Return the types that a type is another name of; of containers and functions of them it is none."""
        found: list[Def] = []
        for place, alias in of.bindings.get(ALIASED, ()):
            names = (n for n in split_outside(alias.removeprefix(":"), "|") if n[:1] not in _WRAPPED)
            values = (v for name in names for v in self._lookup(name, of.file, of.file.owner(place)))
            found += [v.of for v in values if v.what is What.TYPE and isinstance(v.of, Def)]
        return found

    def supertype(self, reference: ReferenceFact, part: Def) -> list[Def]:
        """Return the types of the project that one clause of inheritance names."""
        chain = f"{reference.on}.{reference.name}" if reference.on else reference.name
        found = self._lookup(chain, part.file, part.parent)
        kinds = (What.TYPE, What.FUNCTION) if part.file.language.objects_are_types else (What.TYPE,)
        types = [v.of for v in found if v.what in kinds and isinstance(v.of, Def)]
        return [self.home(t) for t in types]

    @remembered([])
    def ancestors(self, of: Def) -> list[Def]:
        """Return all supertypes, in the order in which members are looked for."""
        found: list[Def] = []
        waiting = list(self.parents(of)[0])
        while waiting and len(found) < MAX_ANCESTORS:
            current = waiting.pop(0)
            if current not in found and current is not of:
                found.append(current)
                waiting = [*self.parents(current)[0], *waiting]
        return found

    def _subtypes(self, of: Def) -> Iterator[Def]:
        """Yield the types that name it as a supertype by the name of its definition, the last first."""
        for number in reversed(self._sources.numbers_naming(of.name)):
            views = self._sources.inheriting(of.name, of.file.language.family, (number,))
            owners = (view.owner(place) for view in views for place in view.references.heirs_of(of.name))
            types = dict.fromkeys(self.home(each) for each in owners if each is not None and each.is_type)
            yield from (each for each in reversed(types) if of in self.parents(each)[0])

    def combined(self, of: Def, name: str) -> list[Def]:
        """Return the members of a name that types built on this one have: what a mixin's `self` may offer."""
        if not of.file.language.mixins:
            return []
        return self.memo.once(("combined", of, name), [], self._find_combined, of, name)

    def _find_combined(self, of: Def, name: str) -> list[Def]:
        found: dict[Def, None] = {}
        waiting, seen = [self._subtypes(of)], {of}
        while waiting and len(seen) < MAX_ANCESTORS:
            current = next(waiting[-1], None)
            if current is None:
                waiting.pop()
            elif current not in seen:
                seen.add(current)
                member = self.member(current, name)
                if member is not None:
                    found[member] = None
                else:
                    waiting.append(self._subtypes(current))
        return list(found)

    def opaque(self, of: Def) -> bool:
        """Return whether something that it inherits from is not of the project."""
        return any(self.parents(each)[1] for each in (of, *self.ancestors(of)))

    def own(self, of: Def, name: str) -> Def | None:
        """Return a member that the type itself, or an extension of it, defines."""
        if not of.file.language.satellites:
            return _inside(of, name)
        return _inside(of, name) or self._added(of, name) or _given_inside(of, name)

    def _added(self, of: Def, name: str) -> Def | None:
        for part in self.satellites(of):
            if part.scope and part.name == name:
                return part
            if part.kind in SATELLITE_KINDS and name in part.children:
                return part.children[name][0]
        return None

    @remembered(None)
    def member(self, of: Def, name: str) -> Def | None:
        """Return a member, its own or the nearest inherited one."""
        found = self.own(of, name)
        if found is None:
            inherited = (self.own(ancestor, name) for ancestor in self.ancestors(of))
            found = next((each for each in inherited if each is not None), None)
        return found

    def members(self, of: Def) -> list[Def]:
        """Return everything that the type itself and its extensions define."""
        found = [child for group in of.children.values() for child in group]
        for part in self.satellites(of):
            if part.kind in SATELLITE_KINDS:
                found += [child for group in part.children.values() for child in group]
            else:
                found.append(part)
        return found

    @remembered(None)
    def constructor(self, of: Def) -> Def | None:
        """Return the method that runs when an instance is made."""
        for owner in (of, *self.ancestors(of)):
            found = next((m for m in self.members(owner) if m.makes_its_type), None)
            if found is not None:
                return found
        named = (self.member(of, name) for name in of.file.language.constructors)
        return next((found for found in named if found is not None), None)


def _inside(of: Def, name: str) -> Def | None:
    """Return a member that is written inside of a type: a function before a variable of the same name."""
    found = [d for d in of.children.get(name, ()) if not d.makes_its_type]
    if not found:
        return None
    found = [d for d in found if d.kind not in VALUE_KINDS] or found
    if len(found) > 1:
        found = [d for d in found if STATIC not in d.bindings] or found
    return bodies(found)[-1] if of.file.language.last_definition_wins else found[0]


def _given_inside(of: Def, name: str) -> Def | None:
    """Return a member that code of a type gives to its objects: `this.name = () => …`."""
    if not of.file.language.objects_are_types:
        return None
    inside = [of, *(d for group in of.children.values() for d in group)]
    given = (d for outer in inside for d in outer.children.get(name, ()) if d.scope == "this")
    return next(given, None)


def _object_named(name: str, view: SourceView, inside: Def) -> Def | None:
    scopes = [outer.children.get(name, []) for outer in inside.around]
    named = (d for group in (*scopes, view.tops.get(name, ())) for d in group)
    return next((d for d in named if d.is_object), None)


def _makes_objects(types: Types, function: Def) -> bool:
    """Return whether a function is a constructor: by its name and by methods given to its objects."""
    if not function.file.language.objects_are_types:
        return False
    return function.name[:1].isupper() and (
        any(d.scope == "this" for group in function.children.values() for d in group)
        or bool(types.satellites(function))
    )


def static_member(types: Types, of: Def, name: str) -> Def | None:
    """Return a static method or function of a class whose objects have another one of the same name."""
    inside = of.children.get(name, ()) if of.file.language.objects_are_types else ()
    if not inside or of.kind != "class":
        return None
    outside = (part for part in types.satellites(of) if part.scope and part.name == name)
    return next((d for d in inside if STATIC in d.bindings), None) or next(outside, None)
