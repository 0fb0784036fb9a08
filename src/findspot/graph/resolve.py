"""What references refer to: each is resolved once, to definitions or to a reason why to none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from findspot.core.facts import FIXTURE, ReferenceFact, Relation
from findspot.graph.evaluate import Evaluator, is_property
from findspot.graph.languages.language import Language, listed
from findspot.graph.memo import remembered
from findspot.graph.source_view import HEADERS, SATELLITE_KINDS, VALUE_KINDS, Def, SourceView
from findspot.graph.values import EXTERNAL as NOTHING
from findspot.graph.values import IMPORTED, MEMBER, UNIQUE, Value, Values, What
from findspot.rank.roles import Role, role_of

_PYTHON_TYPES = (str, bytes, list, dict, set, int, float, tuple, type, Exception)
COMMON_METHODS = listed("common_methods.txt").union(*map(dir, _PYTHON_TYPES))
"""Names of methods that values of every language's own library have: on their own they say nothing."""


def is_common(language: Language, name: str) -> bool:
    """Return whether values of a language's own library have a method of that name."""
    return name in COMMON_METHODS or name in language.common_methods


_DECLARING_KINDS = frozenset({"interface", "protocol", "trait"})
_ABSTRACT = frozenset({"abstractmethod", "NotImplementedError"})
"""Names inside and above methods that only declare."""

MAX_CANDIDATES = 40
"""Definitions of one name compared; a name that more things have says nothing."""

EXTERNAL, UNKNOWN, AMBIGUOUS, GIVEN_UP = "external", "unknown", "ambiguous", "given up"

Target = Def | SourceView


class Resolution(NamedTuple):
    """What a reference refers to, each with a confidence; else why nothing is said."""

    targets: tuple[tuple[Target, float], ...] = ()
    reason: str = ""
    candidates: tuple[Def, ...] = ()


_EXTERNAL, _UNKNOWN, _GIVEN_UP = (Resolution(reason=each) for each in (EXTERNAL, UNKNOWN, GIVEN_UP))
_OUTSIDE = (NOTHING,)
"""The receivers of a chain that leads out of the project."""
_CALL, _VALUE, _DECORATE = Relation.CALL, Relation.VALUE, Relation.DECORATE
_CALLS = frozenset({Relation.CALL, Relation.VALUE})
_OF_TYPES = frozenset({Relation.TYPE_USE, Relation.INHERIT})
_OWN = frozenset({"self", "Self", "this"})
_LOOKED_UP_AROUND = frozenset({Relation.INHERIT, Relation.DECORATE})
"""What stands above a definition is looked up around it."""


class Resolver:
    """Resolves each reference of a generation once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.types = evaluator.types
        self.memo = evaluator.memo
        self.done: dict[tuple[object, ...], Resolution] = {}
        """By file and words."""

    def resolve(self, view: SourceView, reference: ReferenceFact) -> Resolution:
        """Return what a reference refers to."""
        relation, name, on, _, place, arguments = reference  # the line does not matter
        key = (view.id, place, name, on, relation, arguments)
        known = self.done.get(key)
        if known is None:
            known = self.evaluator.memo.step(_GIVEN_UP, self._resolve, view, reference)
            if known is not _GIVEN_UP:
                self.done[key] = known
        return known

    def _resolve(self, view: SourceView, reference: ReferenceFact) -> Resolution:
        if view.language.by_name:
            if reference.relation in _CALLS:
                return self._only_one(view, reference)
            reference = reference._replace(on="")
        owner = view.owner(reference.owner)
        if owner is not None and reference.relation in _LOOKED_UP_AROUND:
            owner = owner.parent
        if reference.on and reference.on != FIXTURE:
            return self._on_receiver(reference, view, owner)
        return self._without_receiver(reference, view, owner)

    def _without_receiver(self, reference: ReferenceFact, view: SourceView, owner: Def | None) -> Resolution:
        if reference.on == FIXTURE:
            fixture = self.evaluator.fixtures.find(reference.name, view, owner)
            return self._targets([fixture or NOTHING])
        found = self._chosen(self._bare(reference, view, owner), reference)
        if not found.targets and reference.relation == _CALL:
            held = self.evaluator.holder(reference.name, view, owner)
            return Resolution(((held, IMPORTED),)) if held is not None else found
        return found

    def _chosen(self, values: Values, reference: ReferenceFact) -> Resolution:
        if reference.relation == _VALUE:  # what an instance does when called is not passed
            values = [v for v in values if v.what is not What.INSTANCE]
        if reference.arguments >= 0:
            values = _taking(values, reference.arguments)
            values = [self._overload(value, reference.arguments) for value in values]
        return self._targets(values)

    def _on_receiver(self, reference: ReferenceFact, view: SourceView, owner: Def | None) -> Resolution:
        receivers = tuple(self.evaluator.value_of(reference.on, view, owner))
        if receivers == _OUTSIDE:
            if not view.language.imports_packages:
                return _EXTERNAL
            named = self.evaluator.packages.types(f"{reference.on}.{reference.name}", view)
            if named:
                return Resolution(((named[0], IMPORTED),))
        return self._member(receivers, reference, view)

    def _member(self, receivers: tuple[Value, ...], reference: ReferenceFact, view: SourceView) -> Resolution:
        name = reference.name
        if not receivers:
            return self._by_name(view, reference)
        if reference.relation == _VALUE and (read := self._properties(receivers, name)):
            return Resolution(tuple(read.items()))
        values = [v for receiver in receivers for v in self.evaluator.attribute(receiver, name)]
        if not values and self.evaluator.held(receivers, name) is None:
            return _EXTERNAL if view.language.methods_apart else self._by_name(view, reference)
        found = self._chosen(values, reference)
        if found.targets or reference.relation != _CALL:
            return found
        held = self.evaluator.held(receivers, name)
        return Resolution(((held, IMPORTED),)) if held is not None else found

    def _properties(self, receivers: tuple[Value, ...], name: str) -> dict[Target, float]:
        read: dict[Target, float] = {}
        for value in receivers:
            if value.what is What.INSTANCE and isinstance(value.of, Def):
                member = self.types.member(value.of, name)
                if member is not None and member.kind not in VALUE_KINDS and is_property(member):
                    read[member] = value.trust
        return read

    def _overload(self, value: Value, arguments: int) -> Value:
        """Return the overload that takes so many arguments, of the nearest type; rather no variadic one."""
        method = value.of
        if value.what is not What.FUNCTION or not isinstance(method, Def) or arguments < 0:
            return value
        fitting = [d for d in self.overloads(method, value.on) if d.takes(arguments, arguments)]
        nearest = (d for d in fitting if d.parent is fitting[0].parent)
        return value._replace(of=min(nearest, key=lambda d: d.most - d.least, default=method))

    def _bare(self, reference: ReferenceFact, view: SourceView, owner: Def | None) -> list[Value]:
        name, language, names = reference.name, view.language, self.evaluator
        if reference.relation in _OF_TYPES:
            return self.evaluator.named_types(name, view, owner)
        if name == "this":
            around = self.types.around(owner)  # another constructor is called
            return [Value(What.TYPE, around, MEMBER)] if around is not None else []
        if name == "super" and not view.language.super_is_callable:
            return [NOTHING]  # it calls nothing: the member that follows does
        if reference.relation == _CALL and language.methods_apart and name not in language.parent_names:
            return names.callee(name, view, owner)
        values = names.root(name, view, owner)
        is_short = reference.relation == _DECORATE and language.attribute_suffix and NOTHING in values
        return names.root(f"{name}{language.attribute_suffix}", view, owner) if is_short else values

    def _targets(self, values: list[Value]) -> Resolution:
        if len(values) == 1:
            value = values[0]
            target = self._target(value)
            if target is not None:
                return Resolution(((target, round(value.trust, 3)),))
            return _EXTERNAL if value.what is What.EXTERNAL else _UNKNOWN
        found: dict[Target, float] = {}
        for value in values:
            target = self._target(value)
            if target is not None:
                found[target] = max(found.get(target, 0.0), value.trust)
        if found:
            share = 1.0 if len(found) == 1 else 0.8
            return Resolution(tuple((target, round(trust * share, 3)) for target, trust in found.items()))
        return _EXTERNAL if any(value.what is What.EXTERNAL for value in values) else _UNKNOWN

    def _target(self, value: Value) -> Target | None:
        if value.what in (What.TYPE, What.FUNCTION) and isinstance(value.of, Def):
            return value.of
        if value.what is What.INSTANCE and isinstance(value.of, Def):
            return self.types.member(value.of, "__call__")
        if value.what is What.PARENT and isinstance(value.of, Def):
            parents = self.types.parents(value.of)[0]
            return parents[0] if parents else None
        if value.what is What.MODULE and isinstance(value.of, SourceView):
            return self._whole_target(value.of)
        return None

    @remembered(None)
    def _whole_target(self, view: SourceView) -> Target | None:
        exported = self.evaluator.whole(view)
        return next((found for each in exported if (found := self._target(each)) is not None), None)

    def _only_one(self, view: SourceView, reference: ReferenceFact) -> Resolution:
        """Return the only function, method or type of a name; overrides count as what they override.

        Members of a type that is named before the dot go first; without a receiver, what the same file
        defines; definitions go before declarations.
        """
        name, on, language = reference.name, reference.on, view.language
        candidates = self._named(name, language.family)
        nearest = self._nearest(candidates, view, reference)
        if nearest is None or (not on and not nearest and name in language.functions):
            return _EXTERNAL
        if on and not nearest and is_common(language, name):
            return _UNKNOWN
        roots = map(self._root, _defined(nearest or candidates[:MAX_CANDIDATES]))
        by_place = {(d.file.id, d.qualified): d for d in roots}
        if len(by_place) == 1:
            (target,) = by_place.values()
            return Resolution(((target, UNIQUE),))
        return Resolution(reason=AMBIGUOUS if candidates else EXTERNAL, candidates=candidates)

    @remembered(())
    def _named(self, name: str, family: str) -> tuple[Def, ...]:
        """Return what a call by a name may mean in any file: of a common name, few files are read."""
        named = self.evaluator.sources.defined(name, family, lambda s: name in s.tops or name in s.members)
        seen = (d for d in named if _is_called(d) and not d.is_hidden)
        return tuple(islice(seen, MAX_CANDIDATES + 1))

    def _nearest(
        self, candidates: tuple[Def, ...], view: SourceView, reference: ReferenceFact
    ) -> list[Def] | None:
        """Return those of the type before the dot, or of what is around; None where a library has it."""
        name, on, owner = reference.name, reference.on, view.owner(reference.owner)
        if on:
            own = self.types.around(owner) if on in _OWN else None
            holder = own.name if own is not None else on.rpartition(".")[2]
            nearest = [d for d in candidates if d.holder == holder]
            return None if self._is_of_library(view, holder) else nearest
        if name in view.language.functions:
            return self._beside(candidates, view, owner)
        return [d for d in (*view.tops.get(name, ()), *candidates) if d.file is view and _is_called(d)]

    def _beside(self, candidates: tuple[Def, ...], view: SourceView, owner: Def | None) -> list[Def]:
        """Return the methods that a method has beside it, or inherits; outside of all, those of the file."""
        if owner is None:
            return [d for d in candidates if d.file is view and d.parent is None]
        if owner.is_type:
            return []
        around = self.types.around(owner)
        types = (around, *self.types.ancestors(around)) if around is not None else ()
        return [d for d in candidates if d.parent is owner.parent or d.parent in types]

    def _is_of_library(self, view: SourceView, holder: str) -> bool:
        is_constant = view.language.capitals_are_constants and holder[:1].isupper()
        return is_constant and not self.evaluator.sources.stored_facts.is_defined(holder)

    def _by_name(self, view: SourceView, reference: ReferenceFact) -> Resolution:
        """Return a method of an unknown receiver: the only one of its name, or the root of its overrides."""
        name = reference.name
        if reference.relation != _CALL or is_common(view.language, name) or name.startswith("__"):
            return _UNKNOWN
        only, candidates = self.methods(view.language.family, name, role_of(view.path) is Role.TEST)
        if only is not None:
            return Resolution(((only, UNIQUE),))
        return Resolution(reason=AMBIGUOUS if candidates else UNKNOWN, candidates=candidates)

    # Methods: which override which, and which a call may mean

    def overloads(self, method: Def, on: Def | None = None) -> Iterator[Def]:
        """Yield the methods of one name that a type has, the nearest first."""
        around = method.parent
        if around is None or not around.is_type or not is_method(method):
            yield method
            return
        types = [on, *self.types.ancestors(on)] if on is not None else []
        for each in types[types.index(around) :] if around in types else [around]:
            yield from (d for d in each.children.get(method.name, ()) if is_method(d))

    @remembered((None, ()))
    def methods(self, family: str, name: str, from_tests: bool) -> tuple[Def | None, tuple[Def, ...]]:
        """Return what a call on an unknown receiver may mean: the only one, if there is one, and all."""

        def counts(path: str) -> bool:
            return not path.endswith(".d.ts") and (from_tests or role_of(path) is not Role.TEST)

        defined = self.evaluator.sources.defined(name, family, lambda s: name in s.members, counts)
        methods = list(islice(filter(is_method, defined), MAX_CANDIDATES + 1))
        if not methods or len(methods) > MAX_CANDIDATES:
            return None, tuple(methods[:MAX_CANDIDATES])
        roots = {self._root(method) for method in methods}
        return (roots.pop() if len(roots) == 1 else None), tuple(methods)

    def _root(self, method: Def) -> Def:
        """Return the method that it overrides and that overrides nothing itself."""
        overridden = self.overridden(method)
        return overridden[-1] if overridden else method

    def is_stub(self, method: Def) -> bool:
        """Return whether a method does nothing itself: it is declared for others to define."""
        if method.parent is not None and method.parent.kind in _DECLARING_KINDS:
            return True
        inside = method.file.references.inside(method.place)
        if any(reference.name in _ABSTRACT for reference in inside):
            return True
        is_bare = all(reference.relation == Relation.TYPE_USE for reference in inside)
        return is_bare and method.line == method.end_line

    def overridden(self, method: Def) -> list[Def]:
        """Return the methods of the same name in the supertypes, nearest first."""
        around = self.types.around(method)
        if around is None or not is_method(method):
            return []
        found = (self.types.own(ancestor, method.name) for ancestor in self.types.ancestors(around))
        return [m for m in found if m is not None and m is not method and is_method(m)]


def _defined(found: Sequence[Def]) -> Sequence[Def]:
    """Return definitions without what headers declare, unless there is nothing else."""
    return [d for d in found if not d.file.path.endswith(HEADERS)] or found


def _is_called(definition: Def) -> bool:
    """Return whether a call may mean a definition by its name: a constructor has that of its type."""
    return definition.kind not in VALUE_KINDS | SATELLITE_KINDS and not definition.makes_its_type


def _taking(values: list[Value], arguments: int) -> list[Value]:
    """Return those of several functions that take so many arguments; all where none does."""
    if len(values) < 2 or arguments < 0:
        return values
    fitting = [v for v in values if not isinstance(v.of, Def) or v.of.takes(arguments, arguments)]
    return fitting or values


def is_method(definition: Def) -> bool:
    """Return whether a definition is a function of a type or object."""
    if definition.kind in VALUE_KINDS or definition.is_type:
        return False
    parent = definition.parent
    return bool(definition.scope) or (parent is not None and (parent.is_type or parent.is_object))
