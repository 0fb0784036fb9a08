"""The meaning of expressions: names through scopes and imports, members through types.

An expression starts with a name, which may be imported, and goes on with members, calls and elements of
values. Each may lead back to any other: all work goes through `Memo`, which keeps answers and gives up where
a question goes on for too long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from findspot.core.facts import (
    ALIASED,
    DEFAULT,
    FIXTURE,
    FUNCTION,
    GETTER,
    LITERAL,
    OBJECT,
    PARAMETERS,
    RETURNED,
    STATIC,
    UNKNOWN,
    WHOLE,
    ImportFact,
    root_of,
    split_outside,
    steps_of,
)
from findspot.graph.fixtures import Fixtures
from findspot.graph.languages.go import Go
from findspot.graph.memo import remembered
from findspot.graph.modules import Modules, Packages
from findspot.graph.source_view import SATELLITE_KINDS, VALUE_KINDS, Def, Scope, SourceView, scopes_of
from findspot.graph.sources import Sources
from findspot.graph.types import Types, bodies, static_member
from findspot.graph.values import (
    DISPATCHED,
    EXTERNAL,
    IMPORTED,
    INFERRED,
    MEMBER,
    SCOPE,
    SHARED,
    TYPED,
    UNIQUE,
    VARIANT,
    Record,
    Value,
    Values,
    What,
)

MAX_PLACES = 100
"""Values that one expression may have."""

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
_CALLED_AS_IS = (What.PARENT, What.EXTERNAL)
_NOTHING: Values = []
_QUALIFIED = re.compile(r"(?:[a-z_]\w*\.)+[A-Z]\w*")
"""A package and a type in it, by the convention of their names."""
_TYPES = (What.TYPE, What.EXTERNAL)
_TYPES_OR_MAKERS = (What.TYPE, What.FUNCTION, What.EXTERNAL)


class Evaluator:
    """The meaning of expressions in one generation of a project."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.memo = sources.memo
        self.modules = Modules(sources)
        self.packages = Packages(sources, self.modules)
        self.types = Types(sources, self.named_types)
        self.fixtures = Fixtures(sources, self.types, self.lookup)

    # Expressions

    def value_of(self, expression: str, view: SourceView, owner: Def | None) -> Values:
        """Return what an expression may be: nothing where that is unknown."""
        return self.memo.step([], self._value_of, expression, view, owner)

    def _value_of(self, expression: str, view: SourceView, owner: Def | None) -> Values:
        is_type = expression[:1] == ":"
        read = self._declared if is_type else self._chain
        if "|" not in expression:
            return read(expression[is_type:], view, owner)
        parts = split_outside(expression[is_type:], "|")
        return [value for part in parts for value in read(part, view, owner)]

    def _chain(self, text: str, view: SourceView, owner: Def | None) -> Values:
        if text in (UNKNOWN, ""):
            return []
        if text[0] == LITERAL:
            return [EXTERNAL]
        if text[0] == FIXTURE:
            fixture = self.fixtures.find(text[1:], view, owner)
            return self.called(fixture) if fixture is not None else []
        root, values = self._start(text, view, owner)
        return self.follow(values, text[len(root) :])

    def _start(self, text: str, view: SourceView, owner: Def | None) -> tuple[str, Values]:
        """Return what a chain starts with, and the values of that."""
        if text[0] == "<":  # a value of a type that is written out
            root = text[: text.index(">") + 1]
            return root, self._declared(root[2:-1], view, owner)
        root = root_of(text)
        values = self.root(root, view, owner)
        if values == [EXTERNAL] and root != text and view.language.imports_packages:
            written = _QUALIFIED.match(text)
            if written is not None and (types := self.packages.types(written[0], view)):
                return written[0], [Value(What.TYPE, types[0], IMPORTED)]
        return root, values

    def follow(self, values: Values, steps: str) -> Values:
        """Return what attributes, calls and subscripts of values may be, such as `.name()[]`."""
        for step in steps_of(steps):
            if len(values) == 1:
                values = self._step(values[0], step)
            else:
                found = dict.fromkeys(after for value in values for after in self._step(value, step))
                values = list(found)[:MAX_PLACES]
        return values

    def _step(self, value: Value, step: str) -> Values:
        if value.what is What.EXTERNAL:
            return [EXTERNAL]
        if step.startswith("(>"):
            return self.parameter(value, int(step[2:-1]))
        if step[0] == "(":
            return self.called(value, step)
        if step == "[]":
            return self._element(value)
        return self.attribute(value, step[1:])

    def _declared(self, text: str, view: SourceView, owner: Def | None) -> Values:
        name = text.lstrip("[]()")
        shape = text[: len(text) - len(name)]
        if name[:1] == "{":
            record = Record(view, owner.place if owner is not None else -1, name)
            return [Value(What.RECORD, record, TYPED).wrapped(shape)]
        limits = self._constraint(name, owner)
        types = self.named_types(name, view, owner) if limits is None else limits
        return [
            v if v.what is What.EXTERNAL else Value(What.INSTANCE, v.of, min(v.trust, TYPED)).wrapped(shape)
            for v in types
        ]

    def named_types(self, name: str, view: SourceView, owner: Def | None) -> Values:
        """Return the types that a (qualified) name means."""
        return self.memo.step([], self._named_types, name, view, owner)

    def _named_types(self, name: str, view: SourceView, owner: Def | None) -> Values:
        if name in ("Self", "self", "static", "this"):
            around = self.types.around(owner)
            return [Value(What.TYPE, around)] if around is not None else []
        if view.language.by_name:
            name = name.rpartition(".")[2]
        if "." in name:
            found = self._chain(name, view, owner)
        else:
            found = self._nested_type(name, owner)
            if not found and self._constraint(name, owner) is not None:
                return [EXTERNAL]  # a type parameter
            if not found:
                outside = self.lookup(name, view, None)
                found = [EXTERNAL] if outside is None else outside
        if view.language.exports_default:  # `const Base = require("./base")`
            found = [each for value in found for each in self._exported_by(value)]
        kinds = _TYPES_OR_MAKERS if view.language.functions_make_types else _TYPES
        return [value for value in found if value.what in kinds]

    def _exported_by(self, value: Value) -> Values:
        """Return what a module exports as a whole; of anything else, itself."""
        if value.what is What.MODULE and isinstance(value.of, SourceView):
            return [v.through(value.trust) for v in self.whole(value.of)]
        return [value]

    def _nested_type(self, name: str, owner: Def | None) -> Values:
        """Return a type defined in what is around; variables of the same name are none."""
        for scope in scopes_of(owner):
            if scope.name == name and scope.is_type:
                return [Value(What.TYPE, self.types.home(scope))]
            inside = [d for d in scope.children.get(name, ()) if d.is_type]
            if not inside and scope.is_type and scope.file.language.bare_members:
                member = self.types.member(self.types.home(scope), name)
                inside = [member] if member is not None and member.is_type else []
            if inside:
                return [Value(What.TYPE, self.types.home(inside[0]))]
        return []

    def _constraint(self, name: str, owner: Def | None) -> Values | None:
        """Return the types that a type parameter is limited to; None for what is no type parameter.

        A scope, the type around it or an extension says the limits.
        """
        parameter = f"[{name}]"
        for scope in scopes_of(owner):
            limited: Def | None = scope
            if parameter not in scope.bindings:
                limited = self.types.around(scope) if scope.scope else None
            if limited is not None and parameter in limited.bindings:
                key = ("limits", limited.file.id, limited.place, name)
                return self.memo.once(key, [EXTERNAL], self._limits, name, limited)
        return None

    def _limits(self, name: str, limited: Def) -> Values:
        """Return what a definition says about its type parameter, which may be another type parameter."""
        found = [
            limit
            for place, value in limited.bindings[f"[{name}]"]
            if value[:1] == ":" and value[1:] != name
            for limit in self.named_types(value[1:], limited.file, limited.file.owner(place))
        ]
        return [limit for limit in found if limit.what is not What.EXTERNAL] or [EXTERNAL]

    # Names

    def root(self, name: str, view: SourceView, owner: Def | None) -> Values:
        """Return the value of a bare name, `self` and its like included; nothing where it is unknown."""
        language = view.language
        if name in language.own_names:
            around, is_self = self.types.around(owner), name in language.self_names
            if around is None and is_self:
                return []
            if around is not None:
                if name in language.own_type_names or (is_self and is_static(owner)):
                    return [Value(What.TYPE, around, MEMBER)]
                return [Value(What.INSTANCE if is_self else What.PARENT, around, MEMBER)]
        found = self.lookup(name, view, owner)
        if found is None and name in language.own_module_names:
            return [Value(What.MODULE, view)]
        return [EXTERNAL] if found is None else found

    def lookup(self, name: str, view: SourceView, owner: Def | None) -> Values | None:
        """Return a name by the rules of scope and import: None where nothing says what it is."""
        if view.known_names is not None and name not in view.known_names:
            return None
        key = ("name", view.id, owner.place if owner is not None else -1, name)
        cut_short: Values | None = []
        return self.memo.once(key, cut_short, self._lookup, name, view, owner)

    def _lookup(self, name: str, view: SourceView, owner: Def | None) -> Values | None:
        for scope in scopes_of(owner):
            found = self._in_scope(name, scope, scope is owner)
            if found is not None:
                return found
        found = self._in_module(name, view)
        if found is None:  # names that other files share unsaid; Python and JavaScript have none
            visible = self.packages.visible(name, view)
            found = self._variants(visible, SHARED) if visible else None
        return found

    def callee(self, name: str, view: SourceView, owner: Def | None) -> Values:
        """Return what a call by a bare name means where variables have names of their own."""
        for scope in scopes_of(owner):
            found = (self._in_scope(name, scope, innermost=False) if scope.is_type else None) or []
            inside = [d for d in scope.children.get(name, ()) if d.is_type]
            found = [v for v in found if v.what in (What.FUNCTION, What.TYPE)]
            if found or inside:
                return found or self._of_definition(inside[0])
        return self.root(name, view, None)

    def _in_scope(self, name: str, scope: Def, innermost: bool) -> Values | None:
        if scope.is_object:
            return None  # what it has is no name to its code
        if scope.is_type and scope.kind != "module":
            language = scope.file.language
            if language.bare_members:
                found = self.attribute(Value(What.INSTANCE, self.types.home(scope)), name)
                return found if found and found != [EXTERNAL] else None
            if not (innermost and language.class_scope):
                return None
        return self._local(name, scope.children.get(name), scope.bindings, scope.file)

    def _local(
        self, name: str, definitions: list[Def] | None, bindings: Scope, view: SourceView
    ) -> Values | None:
        named = _nameable(definitions, view) if definitions is not None else []
        if named:
            return [value for definition in bodies(named)[-2:] for value in self._of_definition(definition)]
        return self._bound(bindings[name], view, name) if name in bindings else None

    def _bound(self, bindings: list[tuple[int, str]], view: SourceView, name: str = "") -> Values:
        """Return what any of the assignments makes of it; literals count only where there is nothing else."""
        found: Values = []
        for place, value in bindings:
            owner = view.owner(place)
            if owner is not None and name and root_of(value.partition("|")[0]) == name:
                owner = owner.parent  # a name made from itself is made from that of the scope around
            found += self.value_of(value, view, owner)
        known = [value for value in found if value.what is not What.EXTERNAL]
        return list(dict.fromkeys(known or found))

    def _of_definition(self, definition: Def) -> Values:
        """Return a definition as a value."""
        if definition.is_type:
            return [Value(What.TYPE, self.types.home(definition))]
        if definition.kind not in VALUE_KINDS:
            return [Value(What.FUNCTION, definition)]
        if definition.is_object:
            return [Value(What.INSTANCE, definition)]
        bindings = definition.file.scope(definition.parent.place if definition.parent is not None else -1)
        return self._bound(bindings.get(definition.name, []), definition.file)

    def _in_module(self, name: str, view: SourceView) -> Values | None:
        """Return a name that a file defines, binds or imports outside of its definitions."""
        found = self._local(name, view.tops.get(name), view.bindings, view)
        imported = view.imports.get(name)
        if imported is None and found is None and view.language.folders_are_packages:
            imported = self.packages.imports_called(view, name)
        if imported and not (found and all(value.what is not What.EXTERNAL for value in found)):
            return list(dict.fromkeys([*(found or []), *self._all_imported(imported, view)]))
        if found is not None:
            return found
        brought = (self._brought_in(name, fact, view) for fact in view.imports.get(WHOLE, ()))
        return next(filter(None, brought), None)

    def _all_imported(self, facts: list[ImportFact], view: SourceView) -> Values:
        values = [value for fact in facts for value in self.imported(fact, view)]
        if view.language.imports_packages and EXTERNAL in values:  # one of two functions of a name
            return [value.through(DISPATCHED) for value in values]
        return values

    def _brought_in(self, name: str, fact: ImportFact, view: SourceView) -> Values:
        """Return a name that an import of all names of a module or package brings in."""
        if view.language.imports_packages:
            types = self.packages.types(fact.module, view)
            inside = [v for t in types for v in self.attribute(Value(What.TYPE, t), name)]
            if inside and inside != [EXTERNAL]:
                return [value.through(IMPORTED) for value in inside]
        for target in self.modules.resolve(view, fact.module):
            there = self.exported(target, name)
            if there:
                return [value.through(IMPORTED) for value in there]
        folder = self.modules.folder(view, fact) if view.language.folders_are_packages else None
        return self._of_package(folder, name) if folder is not None else []

    def holder(self, name: str, view: SourceView, owner: Def | None) -> Def | None:
        """Return the constant of a name, here or where it is imported from; a local variable hides it."""
        for scope in scopes_of(owner):
            inside = scope.children.get(name)
            if inside and not scope.is_type and not scope.is_object and inside[-1].kind != "field":
                return inside[-1]
            if name in scope.bindings and not scope.is_type:
                return None
        return self.definition(view, name)

    # Imports, and what modules offer to them

    def imported(self, fact: ImportFact, view: SourceView) -> Values:
        """Return what an import brings in: `EXTERNAL` where its module is not of the project."""
        if view.language.imports_packages:
            named = self.packages.named(fact, view)
            values = [v.through(IMPORTED) for d in named for v in self._of_definition(d)]
            return values or [EXTERNAL]
        targets = self.modules.resolve(view, fact.module)
        if targets:
            return [value for target in targets for value in self._from_file(fact.original, target)]
        if fact.original != WHOLE and (path := self.modules.inner(view, fact)) is not None:
            return self._module_at(path, IMPORTED)
        folder = self.modules.folder(view, fact)
        what = What.PACKAGE if view.language.folders_are_packages else What.FOLDER
        return [EXTERNAL] if folder is None else [Value(what, folder, IMPORTED)]

    def _from_file(self, name: str, path: str) -> Values:
        """Return what an import of a name brings in from a file, which may export itself as a whole."""
        there = self.exported(path, name) if name != WHOLE else None
        if name == WHOLE or (not there and name == DEFAULT):
            return self._module_at(path, IMPORTED)
        return [value.through(IMPORTED) for value in there or ()]

    def _module_at(self, path: str | None, trust: float = SCOPE) -> Values:
        module = self.sources.at(path) if path else None
        return [Value(What.MODULE, module, trust)] if module is not None else []

    def definers(
        self, fact: ImportFact, view: SourceView, *, handed_on: bool = False
    ) -> list[Def | SourceView]:
        """Return what defines an imported name: definitions, or the file that binds it."""
        paths = self.modules.resolve(view, fact.module)
        files = [file for path in paths if (file := self.sources.at(path)) is not None]
        found: list[Def | SourceView] = []
        for file in files:
            found += [file] if fact.original == WHOLE else self._definers_in(fact.original, file)
        inner = self.modules.inner(view, fact) if not found and fact.original != WHOLE else None
        module = self.sources.at(inner) if inner else None
        if module is not None:
            return [module]
        # What is bound in a way that facts do not tell is defined by the file.
        return found or ([*files] if handed_on and fact.local != WHOLE else [])

    @remembered([])
    def _definers_in(self, name: str, view: SourceView) -> list[Def | SourceView]:
        named = [d for d in view.tops.get(name, ()) if d.kind not in SATELLITE_KINDS]
        if named:
            return list(bodies(named)[-2:])
        if name == DEFAULT and name in view.bindings:
            value = view.bindings[name][0][1]
            known = value in view.tops or value in view.imports
            return self._definers_in(value, view) if known else [view]
        if name in view.bindings:
            return [view]
        for fact in (*view.imports.get(name, ()), *view.imports.get(WHOLE, ())):
            wanted = fact._replace(original=name) if fact.local == WHOLE else fact
            found = self.definers(wanted, view, handed_on=True)
            if found:
                return found
        inside = self.modules.finder(view).submodule(view.path, name)
        module = self.sources.at(inside) if inside else None
        return [module] if module is not None else []

    @remembered(None)
    def exported(self, path: str, name: str) -> Values | None:
        """Return a top-level name of a file, re-exports followed."""
        view = self.sources.at(path)
        if view is None:
            return None
        found = self._in_module(name, view)
        found = found or self._module_at(self.modules.finder(view).submodule(view.path, name)) or found
        if not found and view.language.exports_default and name != DEFAULT:
            whole = [v for value in self.whole(view) for v in self.attribute(value, name)]
            return whole or _given_to_exports(view, name) or found
        return found

    def definition(self, view: SourceView | None, name: str) -> Def | None:
        """Return the definition of a top-level name of a file, re-exports followed, whatever its value is."""
        defined = self._definers_in(name, view) if view is not None else []
        return next((each for each in reversed(defined) if isinstance(each, Def) and not each.scope), None)

    def whole(self, view: SourceView) -> Values:
        """Return what a module exports as a whole, other modules apart from itself included."""
        exported = self.exported(view.path, DEFAULT) if view.language.exports_default else None
        return [value for value in exported or () if value.of is not view]

    # Members of values

    def attribute(self, value: Value, name: str) -> Values:
        """Return a member of a value."""
        what, of = value.what, value.of
        if what in _OF_TYPES and isinstance(of, Def):
            return self.memo.once((value, name), _NOTHING, self._of_type, value, of, name)
        if what in (What.EXTERNAL, What.WRAPPED):
            return _of_wrapped(value, name)
        if isinstance(of, Record):
            return self._of_record(of, name)
        if isinstance(of, SourceView):
            if name == "exports" and of.language.exports_default:
                return [value]
            return [v.through(value.trust) for v in self.exported(of.path, name) or ()]
        if isinstance(of, str):
            return self._of_package(of, name) if what is What.PACKAGE else self._of_folder(of, name)
        if isinstance(of, Def):
            return self._of_parent(of, name) if what is What.PARENT else self._of_function(value, of, name)
        return []

    def _of_function(self, value: Value, of: Def, name: str) -> Values:
        given = self.types.satellites(of)  # functions assigned to its properties
        member = next((part for part in given if part.name == name), None)
        return [Value(What.FUNCTION, member, value.trust)] if member is not None else []

    @remembered([])
    def _of_record(self, record: Record, name: str) -> Values:
        """Return a field; of an object literal also a method, which stands in the function around it."""
        bindings = record.view.scope(record.owner).get(record.mark + name, [])
        found = self._bound(bindings, record.view)
        function = record.view.owner(record.owner) if not found else None
        methods = function.children.get(name, ()) if function is not None else ()
        return found or [Value(What.FUNCTION, m, INFERRED) for m in methods if m.kind == "method"]

    def _variants(self, definitions: list[Def], trust: float) -> Values:
        """Return definitions of one name as values; those for special systems only if there are no others."""
        values = [
            (value, definition.file.language.is_variant(definition.file.path))
            for definition in definitions
            for value in self._of_definition(definition)
        ]
        usual = any(not special for _, special in values)
        return [value.through(VARIANT if special and usual else trust) for value, special in values]

    def _of_package(self, folder: str, name: str) -> Values:
        here = self.sources.tops(name, Go.family, folder)
        return self._variants([d for d in here if not d.file.package.endswith("_test")], IMPORTED)

    def _of_folder(self, folder: str, name: str) -> Values:
        path, below = self.modules.member(folder, name)
        module = self._module_at(path, IMPORTED)
        return module or ([Value(What.FOLDER, below, IMPORTED)] if below else [])

    def held(self, receivers: Iterable[Value], name: str) -> Def | None:
        """Return the constant or field of a value that has a name, where nothing says what that is."""
        for receiver in receivers:
            if receiver.what is What.MODULE and isinstance(receiver.of, SourceView):
                return self.holder(name, receiver.of, None)
            if receiver.what in _OF_TYPES and isinstance(receiver.of, Def):
                member = self.types.member(receiver.of, name)
                if member is not None:
                    return member
        return None

    def _of_parent(self, of: Def, name: str) -> Values:
        parents, external = self.types.parents(of)
        for parent in parents:
            found = self.types.member(parent, name)
            if found is not None:
                return [Value(What.FUNCTION, found, MEMBER, of)]
        return [EXTERNAL] if external or not parents else []

    def _of_type(self, value: Value, of: Def, name: str) -> Values:
        said = _said_by_language(value, of, name)
        if said is not None:
            return [said]
        types = self.types
        static = static_member(types, of, name) if value.what is What.TYPE else None
        member = static or types.member(of, name)
        if member is None and name == "__enter__":  # of a `with` statement: most objects give themselves
            if value.what is What.INSTANCE and types.member(of, "__aenter__") is None:
                return [value.wrapped(RETURNED)]
            return self._of_type(value, of, "__aenter__")
        if member is not None and member.kind not in VALUE_KINDS:
            return self._of_member(value, of, member)
        fields = self._fields(value, of, name)
        if fields or member is not None:
            return fields + _component_methods(of, fields)
        return [EXTERNAL] if types.opaque(of) else self._combined(value, of, name)

    def _of_member(self, value: Value, of: Def, member: Def) -> Values:
        """Return a member that is no variable: a type, a function, or what a property returns."""
        if member.is_type:
            return [Value(What.TYPE, member, value.trust)]
        function = Value(What.FUNCTION, member, value.trust, of)
        if of.file.language.bare_members:  # a field and a method may have one name
            return [function, *self._fields(value, of, member.name)]
        if value.what is What.INSTANCE and is_property(member):
            return self.called(function)
        return [function]

    def _combined(self, value: Value, of: Def, name: str) -> Values:
        combined = self.types.combined(of, name) if value.what is What.INSTANCE else []
        functions = [member for member in combined if member.kind not in VALUE_KINDS and not member.is_type]
        return [Value(What.FUNCTION, member, UNIQUE, member.parent) for member in functions]

    def _fields(self, value: Value, of: Def, name: str) -> Values:
        """Return what the nearest of its types binds an attribute to."""
        return [field.through(value.trust) for field in self._find_fields(of, name)]

    @remembered([])
    def _find_fields(self, of: Def, name: str) -> Values:
        for owner in (of, *self.types.ancestors(of)):
            scope = owner.bindings
            bindings = scope.get(f"@{name}")
            if not bindings and owner.kind != "function":  # whose variables are no members of its objects
                bindings = scope.get(name)
            if bindings:
                bindings = [binding for binding in bindings if binding[1][:1] == ":"] or bindings
                in_type = all(place == owner.place for place, _ in bindings)
                return self._bound(bindings, owner.file, name if in_type else "")
        return []

    # What calls give

    def called(self, value: Value, result: str = RETURNED) -> Values:
        """Return what calling a value gives; with a result such as `(2)`, a later one of several."""
        what, of = value.what, value.of
        if what in _CALLED_AS_IS:
            return [EXTERNAL] if what is What.EXTERNAL else [value]
        if what is What.TYPE:
            return [Value(What.INSTANCE, of, min(value.trust, TYPED))]
        if what is What.WRAPPED:
            return self._unwrapped(value, RETURNED) if result == RETURNED else []
        if isinstance(of, SourceView):
            return self._called_whole(of)
        if isinstance(of, Record):
            return self._called_record(of)
        if not isinstance(of, Def):
            return []
        if what is not What.FUNCTION:
            return self._called_instance(value, of, result)
        if of.file.language.functions_make_types and self.types.satellites(of):
            return [Value(What.INSTANCE, of, min(value.trust, TYPED))]
        return self._returned(of, value, result)

    def _called_record(self, record: Record) -> Values:
        """Return what a function gives whose type is written out; other structs are not called."""
        if not record.mark.startswith(FUNCTION):
            return []
        text = split_outside(record.mark[len(FUNCTION) : -1], ";")[-1]
        return self.value_of(text, record.view, record.view.owner(record.owner))

    def _called_instance(self, value: Value, of: Def, result: str) -> Values:
        method = self.types.member(of, "__call__")
        if method is None and of.kind == "interface" and RETURNED in of.bindings:
            method = of
        if method is not None:
            return self._returned(method, value)
        return self._unwrapped(value, RETURNED) if result == RETURNED else []

    @remembered([])
    def _called_whole(self, view: SourceView) -> Values:
        return [v for each in self.whole(view) for v in self.called(each)]

    def parameter(self, value: Value, place: int, hops: int = 0) -> Values:
        """Return what a function is given for a parameter, by its declared type."""
        if isinstance(value.of, Record) and value.of.mark.startswith(FUNCTION):
            record = value.of
            types = split_outside(record.mark[len(FUNCTION) : -1], ";")[0]
            return self._given(types, place, record.view, record.view.owner(record.owner))
        of = value.of if isinstance(value.of, Def) else None
        if of is not None and value.what is What.TYPE:
            of = self.types.constructor(of)
        if of is None or value.what is What.WRAPPED or hops > MAX_GIVEN:
            return []
        above = self.types.ancestors(of) if value.what is What.INSTANCE else ()
        found = [v for each in (of, *above) for v in self._declared_parameter(each, place, hops)]
        return _trusted(dict.fromkeys(found), value.trust)

    def _declared_parameter(self, of: Def, place: int, hops: int) -> Values:
        found: Values = []
        for at, types in of.bindings.get(PARAMETERS, ()):
            found += self._given(types, place, of.file, of.file.owner(at))
        for at, alias in of.bindings.get(ALIASED, ()):
            functions = self.value_of(alias, of.file, of.file.owner(at))
            found += [v for f in functions for v in self.parameter(f, place, hops + 1)]
        return found

    def _given(self, types: str, place: int, view: SourceView, owner: Def | None) -> Values:
        """Return a value of one of several declared types; the last one may hold for all that follow."""
        listed = split_outside(types, ",")
        text = listed[place] if place < len(listed) else ""
        if place >= len(listed) - 1 and listed[-1].startswith("*"):
            text = listed[-1][1:].replace("[]", "", 1)
        return self.value_of(text, view, owner) if text else []

    def _returned(self, function: Def, value: Value, result: str = RETURNED) -> Values:
        return _trusted(self._find_returned(function, value.on, result), value.trust)

    @remembered([])
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
                found += self.value_of(text, function.file, function.file.owner(place))
        return list(dict.fromkeys(_trusted(found, TYPED if types else INFERRED)))

    def _type_argument(self, text: str, generic: Def | None, on: Def | None, hops: int = 0) -> Values | None:
        """Return what a type gives its supertype for a type parameter, such as `:T` or `:[]T`."""
        name = text.lstrip(":[]()")
        if generic is None or on is None or generic is on or hops > MAX_GIVEN:
            return None
        parameters = [each[1:-1] for each in generic.bindings if each[0] == "[" and each[-1] == "]"]
        if name not in parameters:
            return None
        for of in (on, *self.types.ancestors(on)):
            for place, given in of.bindings.get(f"<{generic.name}>", ()):
                arguments = given.split(",")
                if len(arguments) == len(parameters):
                    argument = arguments[parameters.index(name)]
                    deeper = self._type_argument(argument, of, on, hops + 1)
                    found = deeper or self.value_of(argument, of.file, of.file.owner(place))
                    shape = text[1 : len(text) - len(name)]
                    return [v if v.what is What.EXTERNAL else v.wrapped(shape + v.shape) for v in found]
        return None

    def _element(self, value: Value) -> Values:
        """Return an element of a container; of something generic, the same with its type arguments."""
        if value.what in (What.TYPE, What.FUNCTION):
            return [value]
        if value.what is What.INSTANCE and isinstance(value.of, Def):
            method = self.types.member(value.of, "__getitem__")
            if method is not None:
                return self._returned(method, value)
        return self._unwrapped(value, "[]")

    def _unwrapped(self, value: Value, step: str) -> Values:
        """Return what is in a container or returned by a function, or by an instance of a type of those."""
        if value.what is not What.INSTANCE or not isinstance(value.of, Def):
            inner = value.unwrapped(step)
            return [inner] if inner is not None else []
        for of in (value.of, *self.types.ancestors(value.of)):
            for place, alias in of.bindings.get(ALIASED, ()):
                behind = self.value_of(alias, of.file, of.file.owner(place))
                found = [inner for v in behind if (inner := v.unwrapped(step)) is not None]
                if step == RETURNED:
                    found += [inner for v in behind if v.what is What.RECORD for inner in self.called(v)]
                if found:
                    return [v.through(value.trust) for v in found]
        return []


def _nameable(definitions: list[Def], view: SourceView) -> list[Def]:
    """Return the definitions of a name that the name alone means; what adds to a type is none."""
    left_out = SATELLITE_KINDS
    if view.language.objects_are_types:
        left_out = left_out | {"method", "field"}  # of something without a name
    return [d for d in definitions if d.kind not in left_out and not d.scope and not d.makes_its_type]


def is_static(owner: Def | None) -> bool:
    """Return whether code is that of a static method, whose `this` is the class."""
    while owner is not None and owner.parent is not None and not owner.parent.is_type:
        owner = owner.parent
    return owner is not None and STATIC in owner.bindings


def _given_to_exports(view: SourceView, name: str) -> Values:
    """Return a function that is assigned to a variable for the exports: `var api = exports`."""
    return [
        Value(What.FUNCTION, definition)
        for definition in view.tops.get(name, ())
        for _, value in view.bindings.get(definition.scope, ())
        if value in ("exports", "module.exports")
    ]


def _trusted(values: Iterable[Value], trust: float) -> Values:
    return [v if v.what is What.EXTERNAL else v.through(trust) for v in values]


def _said_by_language(value: Value, of: Def, name: str) -> Value | None:
    """Return a member that every type, or every object, of a language has."""
    if value.what is What.INSTANCE:
        return Value(What.TYPE, of, value.trust) if name in _CLASS_OF else None
    if name not in ("this", "super"):  # `Outer.this`, `Interface.super`
        return None
    is_inside = name == "this" or of.kind == "interface"
    return Value(What.INSTANCE if is_inside else What.PARENT, of, value.trust)


def _component_methods(of: Def, fields: Values) -> Values:
    """Return the methods that a record has for its components."""
    if of.kind != "record":
        return []
    return [v.wrapped(f"(){v.shape}") for v in fields if v.what in (What.INSTANCE, What.WRAPPED)]


def _of_wrapped(value: Value, name: str) -> Values:
    """Return a method of a container, which may give one of its elements, or all of them."""
    if not value.shape.startswith("[]"):
        return [EXTERNAL]
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


def is_property(method: Def) -> bool:
    """Return whether a method is called by reading an attribute."""
    return GETTER in method.bindings or method.file.references.decorate(method, _PROPERTIES)
