"""Members of values: attributes, what calls return, elements of containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from findspot.core.facts import ALIASED, FUNCTION, GETTER, OBJECT, PARAMETERS, RETURNED, split_outside
from findspot.graph.languages.go import Go
from findspot.graph.source_view import VALUE_KINDS, Def, SourceView
from findspot.graph.types import static_member
from findspot.graph.values import (
    EXTERNAL,
    IMPORTED,
    INFERRED,
    MEMBER,
    TYPED,
    UNIQUE,
    VARIANT,
    Record,
    Value,
    Values,
    What,
)

if TYPE_CHECKING:
    from findspot.graph.evaluate import Evaluator

MAX_RETURNS = 4
"""`return` statements looked at where no type is declared."""

MAX_GIVEN = 4
"""Types that hand the argument of a type parameter on to their supertypes."""

_CLASS_OF = frozenset({"__class__", "constructor"})
_PROPERTIES = frozenset({"property", "cached_property", "classproperty", "hybrid_property"})
_ITSELF = frozenset({":Self", ":self", ":static", ":this", "self", "this"})
"""What a function says that returns the object it was called on."""
_MADE = frozenset({"cls()", "self.__class__()", "static()"})
"""What a function says that returns a new object of the type it was called on."""
_GIVING_ALL = frozenset(
    {"copy", "values", "filter", "slice", "concat", "sort", "reverse", "splice", "toSorted", "toReversed"}
)
_GIVING_ONE = frozenset(
    {"get", "pop", "popleft", "setdefault", "__enter__", "find", "findLast", "shift", "at"}
)
_OF_TYPES = (What.INSTANCE, What.TYPE)
_NOTHING: Values = []


class Members:
    """What values have, return and contain."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def attribute(self, value: Value, name: str) -> Values:
        """Return a member of a value."""
        if value.what in _OF_TYPES and isinstance(value.of, Def):
            if self._evaluator.types.opening:
                return self._evaluator.memo.step(_NOTHING, self._of_type, value, value.of, name)
            return self._evaluator.memo.kept((value, name), _NOTHING, self._of_type, value, value.of, name)
        if value.what is What.MODULE and isinstance(value.of, SourceView):
            return _through(self._of_module(value.of, name), value.trust)
        if value.what is What.PACKAGE and isinstance(value.of, str):
            return self.variants(_tops_in(self._evaluator, value.of, name), IMPORTED)
        if value.what is What.FOLDER and isinstance(value.of, str):
            return _in_folder(self._evaluator, value.of, name)
        if value.what is What.FUNCTION and isinstance(value.of, Def) and value.of.file.language.calls_bare:
            of_result = ("result", value, name)
            return self._evaluator.memo.once(of_result, _NOTHING, self._of_result, value, name)
        if value.what is What.FUNCTION and isinstance(value.of, Def):
            given = self._evaluator.types.satellites(value.of)  # functions assigned to its properties
            member = next((part for part in given if part.name == name), None)
            return [Value(What.FUNCTION, member, value.trust)] if member is not None else []
        if isinstance(value.of, Def) and value.what is What.PARENT:
            return _of_parent(self._evaluator, value.of, name)
        if isinstance(value.of, Record) and value.what is What.RECORD:
            key = ("record", value.of.view.id, value.of.owner, value.of.mark, name)
            record = value.of
            return self._evaluator.memo.once(key, _NOTHING, self._of_record, record, name)
        if value.what is What.WRAPPED and value.shape.startswith("[]"):
            return _of_container(value, name)
        return [EXTERNAL] if value.what in (What.EXTERNAL, What.WRAPPED) else []

    def _of_result(self, value: Value, name: str) -> Values:
        """Return a member of what a function gives that is called by its name alone."""
        return [v for made in self.called(value) for v in self.attribute(made, name)]

    def _of_record(self, record: Record, name: str) -> Values:
        """Return a field; of an object literal also a method, which stands in the function around it."""
        bindings = record.view.scope(record.owner).get(record.mark + name, [])
        found = self._evaluator.names.bound(bindings, record.view)
        function = record.view.owner(record.owner) if not found else None
        methods = function.children.get(name, ()) if function is not None else ()
        return found or [Value(What.FUNCTION, m, INFERRED) for m in methods if m.kind == "method"]

    def variants(self, definitions: list[Def], trust: float) -> Values:
        """Return definitions of one name as values; those for special systems only if there are no others."""
        values = []
        for definition in definitions:
            special = definition.file.language.is_variant(definition.file.path)
            for value in self._evaluator.names.of_definition(definition):
                values.append((value, special))
        usual = any(not special for _, special in values)
        return [value.through(VARIANT if special and usual else trust) for value, special in values]

    def _of_module(self, view: SourceView, name: str) -> Values:
        """Return a name of a module."""
        if name == "exports" and view.language.exports_default:
            return [Value(What.MODULE, view)]
        return self._evaluator.exports.exported(view.path, name) or []

    def _of_type(self, value: Value, of: Def, name: str) -> Values:
        if name == "new" and of.file.language.new_makes_instances and value.what is What.TYPE:
            return [Value(What.INSTANCE, of, value.trust)]
        if name in ("this", "super") and value.what is What.TYPE:  # `Outer.this`, `Interface.super`
            inside = name == "this" or of.kind == "interface"
            return [Value(What.INSTANCE if inside else What.PARENT, of, value.trust)]
        if name in _CLASS_OF and value.what is What.INSTANCE:
            return [Value(What.TYPE, of, value.trust)]
        types = self._evaluator.types
        static = static_member(types, of, name) if value.what is What.TYPE else None
        member = static or types.member(of, name)
        if name == "__enter__" and member is None:  # most objects give themselves
            member = self._evaluator.types.member(of, "__aenter__")
            if member is None and value.what is What.INSTANCE:
                return [value.wrapped(RETURNED)]
        if member is not None and member.kind not in VALUE_KINDS:
            if member.is_type:
                return [Value(What.TYPE, member, value.trust)]
            function = Value(What.FUNCTION, member, value.trust, of)
            if of.file.language.bare_members:  # a field and a method may have one name
                return [function, *self._fields(value, of, name)]
            if value.what is What.INSTANCE and is_property(member):
                return self.called(function)
            return [function]
        fields = self._fields(value, of, name) or _written_inside(self._evaluator, value, of, name)
        if of.kind == "record":  # a component is also a method
            fields += [v.wrapped(f"(){v.shape}") for v in fields if v.what in (What.INSTANCE, What.WRAPPED)]
        if fields or member is not None:
            return fields
        if self._evaluator.types.opaque(of):
            return [EXTERNAL]
        combined = self._evaluator.types.combined(of, name) if value.what is What.INSTANCE else []
        functions = [member for member in combined if member.kind not in VALUE_KINDS and not member.is_type]
        return [Value(What.FUNCTION, member, UNIQUE, member.parent) for member in functions]

    def _fields(self, value: Value, of: Def, name: str) -> Values:
        """Return what the nearest of its types binds an attribute to."""
        found = self._evaluator.memo.once(("field", of, name), _NOTHING, self._find_fields, of, name)
        return _through(found, value.trust)

    def _find_fields(self, of: Def, name: str) -> Values:
        for owner in (of, *self._evaluator.types.ancestors(of)):
            scope = owner.bindings
            bindings = scope.get(f"@{name}")
            if not bindings and owner.kind != "function":  # whose variables are no members of its objects
                bindings = scope.get(name)
            if bindings:
                typed = [binding for binding in bindings if binding[1][:1] == ":"]
                bindings = typed or bindings
                in_type = all(place == owner.place for place, _ in bindings)
                return self._evaluator.names.bound(bindings, owner.file, name if in_type else "")
        return []

    def called(self, value: Value, result: str = RETURNED) -> Values:
        """Return what calling a value gives; with a result such as `(2)`, a later one of several."""
        if value.what is What.PARENT:
            return [value]
        if value.what is What.MODULE and isinstance(value.of, SourceView):
            return self._evaluator.memo.once(("called", value), _NOTHING, self._called_whole, value.of)
        if value.what is What.TYPE:
            return [Value(What.INSTANCE, value.of, min(value.trust, TYPED))]
        if value.what is What.FUNCTION and isinstance(value.of, Def):
            if value.of.file.language.functions_make_types and self._evaluator.types.satellites(value.of):
                return [Value(What.INSTANCE, value.of, min(value.trust, TYPED))]
            return self._returned(value.of, value, result)
        if value.what is What.WRAPPED:
            return self._unwrapped(value, RETURNED) if result == RETURNED else []
        if isinstance(value.of, Record) and value.of.mark.startswith(FUNCTION):
            record = value.of
            text = split_outside(record.mark[len(FUNCTION) : -1], ";")[-1]
            return self._evaluator.value_of(text, record.view, record.view.owner(record.owner))
        if value.what is What.INSTANCE and isinstance(value.of, Def):
            if value.of.file.language.calls_bare:
                return [value]
            method = self._evaluator.types.member(value.of, "__call__")
            if method is None and value.of.kind == "interface" and RETURNED in value.of.bindings:
                return self._returned(value.of, value)
            if method is None:
                return self._unwrapped(value, RETURNED) if result == RETURNED else []
            return self._returned(method, value)
        return [EXTERNAL] if value.what is What.EXTERNAL else []

    def _called_whole(self, view: SourceView) -> Values:
        """Return what calling gives that which a module exports as a whole."""
        return [v for each in self._evaluator.exports.whole(view) for v in self.called(each)]

    def parameter(self, value: Value, place: int, hops: int = 0) -> Values:
        """Return what a function is given for a parameter, by its declared type."""
        if isinstance(value.of, Record) and value.of.mark.startswith(FUNCTION):
            record = value.of
            types = split_outside(record.mark[len(FUNCTION) : -1], ";")[0]
            return self._given(types, place, record.view, record.view.owner(record.owner))
        of = value.of if isinstance(value.of, Def) else None
        if of is not None and value.what is What.TYPE:
            of = self._evaluator.types.constructor(of)
        if of is None or value.what is What.WRAPPED or hops > MAX_GIVEN:
            return []
        found: Values = []
        for each in (of, *(self._evaluator.types.ancestors(of) if value.what is What.INSTANCE else ())):
            for at, types in each.bindings.get(PARAMETERS, ()):
                found += self._given(types, place, each.file, each.file.owner(at))
            for at, alias in each.bindings.get(ALIASED, ()):
                functions = self._evaluator.value_of(alias, each.file, each.file.owner(at))
                found += [v for f in functions for v in self.parameter(f, place, hops + 1)]
        return [v if v.what is What.EXTERNAL else v.through(value.trust) for v in dict.fromkeys(found)]

    def _given(self, types: str, place: int, view: SourceView, owner: Def | None) -> Values:
        """Return a value of one of several declared types; the last one may hold for all that follow."""
        listed = split_outside(types, ",")
        text = listed[place] if place < len(listed) else ""
        if place >= len(listed) - 1 and listed[-1].startswith("*"):
            text = listed[-1][1:].replace("[]", "", 1)
        return self._evaluator.value_of(text, view, owner) if text else []

    def _returned(self, function: Def, value: Value, result: str = RETURNED) -> Values:
        key = ("return", function, value.on, result)
        found = self._evaluator.memo.once(key, _NOTHING, self._find_returned, function, value.on, result)
        return [v if v.what is What.EXTERNAL else v.through(value.trust) for v in found]

    def _find_returned(self, function: Def, on: Def | None, result: str) -> Values:
        returned = function.bindings.get(result, [])
        types = [item for item in returned if item[1][:1] == ":"]
        found: Values = []
        for place, text in types or returned[:MAX_RETURNS]:
            argument = self._type_argument(text, function.parent, on)
            if argument is not None:
                found += argument
            elif on is not None and (text in _ITSELF or _makes_own_type(function, text)):
                found.append(Value(What.INSTANCE, on))
            elif text == OBJECT:
                found.append(Value(What.RECORD, Record(function.file, function.place, RETURNED)))
            else:
                found += self._evaluator.value_of(text, function.file, function.file.owner(place))
        trust = TYPED if types else INFERRED
        return list(dict.fromkeys(v if v.what is What.EXTERNAL else v.through(trust) for v in found))

    def _type_argument(self, text: str, generic: Def | None, on: Def | None, hops: int = 0) -> Values | None:
        """Return what a type gives its supertype for a type parameter, such as `:T` or `:[]T`."""
        name = text.lstrip(":[]()")
        if generic is None or on is None or generic is on or hops > MAX_GIVEN:
            return None
        parameters = [each[1:-1] for each in generic.bindings if each[0] == "[" and each[-1] == "]"]
        if name not in parameters:
            return None
        for of in (on, *self._evaluator.types.ancestors(on)):
            for place, given in of.bindings.get(f"<{generic.name}>", ()):
                arguments = given.split(",")
                if len(arguments) == len(parameters):
                    argument = arguments[parameters.index(name)]
                    deeper = self._type_argument(argument, of, on, hops + 1)
                    found = deeper or self._evaluator.value_of(argument, of.file, of.file.owner(place))
                    shape = text[1 : len(text) - len(name)]
                    return [v if v.what is What.EXTERNAL else v.wrapped(shape + v.shape) for v in found]
        return None

    def element(self, value: Value) -> Values:
        """Return an element of a container; of something generic, the same with its type arguments."""
        if value.what in (What.TYPE, What.FUNCTION):
            return [value]
        if value.what is What.INSTANCE and isinstance(value.of, Def):
            method = self._evaluator.types.member(value.of, "__getitem__")
            if method is not None:
                return self._returned(method, value)
            given = self._evaluator.types.member(value.of, value.of.file.language.item_type)
            if given is not None and ALIASED in given.bindings:
                place, alias = given.bindings[ALIASED][0]
                return self._evaluator.value_of(alias, given.file, given.file.owner(place))
        return self._unwrapped(value, "[]")

    def _unwrapped(self, value: Value, step: str) -> Values:
        """Return what is in a container or returned by a function, or by an instance of a type of those."""
        if value.what is not What.INSTANCE or not isinstance(value.of, Def):
            inner = value.unwrapped(step)
            return [inner] if inner is not None else []
        types = self._evaluator.types
        for of in (value.of, *types.ancestors(value.of)):
            for place, alias in of.bindings.get(ALIASED, ()):
                behind = self._evaluator.value_of(alias, of.file, of.file.owner(place))
                found = [inner for v in behind if (inner := v.unwrapped(step)) is not None]
                if step == RETURNED:
                    found += [inner for v in behind if v.what is What.RECORD for inner in self.called(v)]
                if found:
                    return [v.through(value.trust) for v in found]
        return []


def _through(values: Values, trust: float) -> Values:
    """Return values reached by a step that is to be trusted so far."""
    return [value if trust >= value.trust else value.through(trust) for value in values]


def _written_inside(evaluator: Evaluator, value: Value, of: Def, name: str) -> Values:
    """Return the type that is defined by its path elsewhere: `class Shop::Order`."""
    if not of.file.language.reopens or value.what is not What.TYPE:
        return []
    found = evaluator.sources.defining(f"{of.name}::{name}", of.file.language.family)
    return [Value(What.TYPE, d, value.trust) for d in found if d.is_type][:1]


def _of_parent(evaluator: Evaluator, of: Def, name: str) -> Values:
    parents, external = evaluator.types.parents(of)
    for parent in parents:
        found = evaluator.types.member(parent, name)
        if found is not None:
            return [Value(What.FUNCTION, found, MEMBER, of)]
    return [EXTERNAL] if external or not parents else []


def _of_container(value: Value, name: str) -> Values:
    """Return a method of a container, which may give one of its elements, or all of them."""
    language = value.of.file.language if isinstance(value.of, Def) else None
    if name in _GIVING_ALL or (language and name in language.container_methods):
        return [EXTERNAL, value._replace(shape=f"{RETURNED}{value.shape}")]
    if name in _GIVING_ONE or (language and name in language.element_methods):
        return [EXTERNAL, value._replace(shape=f"{RETURNED}{value.shape[2:]}")]
    if name == "entrySet":
        return [EXTERNAL, value._replace(shape=f"{RETURNED}[]{value.shape}")]
    return [EXTERNAL]


def _makes_own_type(function: Def, text: str) -> bool:
    """Return whether what is returned is made by `cls()`, also by way of a variable."""
    return text in _MADE or any(value in _MADE for _, value in function.bindings.get(text, ()))


def _in_folder(evaluator: Evaluator, folder: str, name: str) -> Values:
    path, below = evaluator.modules.member(folder, name)
    module = evaluator.sources.at(path) if path else None
    if module is not None:
        return [Value(What.MODULE, module, IMPORTED)]
    return [Value(What.FOLDER, below, IMPORTED)] if below else []


def _tops_in(evaluator: Evaluator, folder: str, name: str) -> list[Def]:
    """Return the definitions of a package that is a folder."""
    here = evaluator.sources.definers.tops(name, Go.family, folder)
    return [d for d in here if not d.file.package.endswith("_test")]


def is_property(method: Def) -> bool:
    """Return whether a method is called by reading an attribute."""
    return GETTER in method.bindings or method.file.references.decorate(method, _PROPERTIES)
