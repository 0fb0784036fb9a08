"""Expressions into values: names through scopes and imports, members through types."""

from __future__ import annotations

import posixpath
import re

from findspot.core.facts import DEFAULT, FIXTURE, LITERAL, RETURNED, UNKNOWN, WHOLE, ImportFact
from findspot.graph.fixtures import Fixtures
from findspot.graph.memoise import Memo
from findspot.graph.modules import Modules
from findspot.graph.packages import Packages, is_top
from findspot.graph.sources import SATELLITE_KINDS, VALUE_KINDS, Def, Sources, SourceView
from findspot.graph.types import Types, bodies
from findspot.graph.values import EXTERNAL, IMPORTED, INFERRED, MEMBER, SHARED, TYPED, Value, What

MAX_HOPS = 6
"""Re-exports after re-exports that are followed to a constant."""

MAX_RETURNS = 4
"""`return` statements looked at where no type is declared."""

_SELVES = frozenset({"self", "this"})
_PARENTS = frozenset({"super", "parent", "base"})
_CLASS_OF = frozenset({"__class__", "constructor"})
_PROPERTIES = frozenset({"property", "cached_property", "classproperty", "hybrid_property"})
_STEP = re.compile(r"\(\)|\[\]|\.[\w$@]+")
_ROOT = re.compile(r"[.(\[|]")
_TYPES = (What.TYPE, What.EXTERNAL)
_TYPES_OR_MAKERS = (What.TYPE, What.FUNCTION, What.EXTERNAL)

_ITSELF = frozenset({":Self", ":self", ":static", ":this", "self", "this"})
"""What a function says that returns the object it was called on."""

Values = list[Value]
_NOTHING: Values = []
Scope = dict[str, list[tuple[int, str]]]


class Evaluator:
    """The meaning of expressions in one generation of a project."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.modules = Modules(sources)
        self.packages = Packages(sources)
        self.types = Types(sources, self.named_types)
        self.fixtures = Fixtures(sources, self.types, self.lookup)
        self._memo = Memo()

    def value_of(self, expression: str, view: SourceView, owner: Def | None) -> Values:
        """What an expression may be: nothing where that is unknown."""
        is_type = expression[:1] == ":"
        read = self._declared if is_type else self._chain
        parts = expression[is_type:].split("|")
        return [value for part in parts for value in read(part, view, owner)]

    def _chain(self, text: str, view: SourceView, owner: Def | None) -> Values:
        if text in (UNKNOWN, ""):
            return []
        if text[0] == LITERAL:
            return [EXTERNAL]
        if text[0] == FIXTURE:
            fixture = self.fixtures.find(text[1:], view, owner)
            return self.called(fixture) if fixture is not None else []
        first = _STEP.search(text)
        root = text[: first.start()] if first else text
        values = self.root(root, view, owner)
        for step in _STEP.findall(text[len(root) :]):
            if not values:
                return []
            values = [after for value in values for after in self._step(value, step)]
        return values

    def _step(self, value: Value, step: str) -> Values:
        if value.what is What.EXTERNAL:
            return [EXTERNAL]
        if step == "()":
            return self.called(value)
        if step == "[]":
            return self._element(value)
        return self.attribute(value, step[1:])

    def root(self, name: str, view: SourceView, owner: Def | None) -> Values:
        """The value of a bare name, `self` and its like included; nothing where it is unknown."""
        if view.language.module_roots(name):
            modules = [self.sources.at(path) for path in self.modules.resolve(view, name)]
            return [Value(What.MODULE, module) for module in modules if module is not None]
        own_type = name in view.language.own_type_names
        if own_type or name in _SELVES or name in _PARENTS:
            around = self.types.around(owner)
            if around is not None:
                what = What.TYPE if own_type else What.INSTANCE if name in _SELVES else What.PARENT
                return [Value(what, around, MEMBER)]
            if name in _SELVES:
                return []
        found = self.lookup(name, view, owner)
        return [EXTERNAL] if found is None else found

    def lookup(self, name: str, view: SourceView, owner: Def | None) -> Values | None:
        """A name by the rules of scope and import: None where nothing says what it is."""
        key = ("name", view.id, owner.place if owner is not None else -1, name)
        cut_short: Values | None = []
        return self._memo.once(key, lambda: self._lookup(name, view, owner), cut_short)

    def _lookup(self, name: str, view: SourceView, owner: Def | None) -> Values | None:
        for scope in (owner, *owner.around) if owner is not None else ():
            found = self._in_scope(name, scope, scope is owner)
            if found is not None:
                return found
        found = self._in_module(name, view)
        return found if found is not None else self._shared(name, view)

    def _in_scope(self, name: str, scope: Def, innermost: bool) -> Values | None:
        if scope.is_type and scope.kind != "module":
            if not scope.file.language.bare_members:
                if not innermost or not scope.file.language.class_scope:
                    return None
                return self._local(name, scope.children.get(name), scope.bindings, scope.file)
            found = self.attribute(Value(What.INSTANCE, self.types.home(scope)), name)
            return found if found and found != [EXTERNAL] else None
        return self._local(name, scope.children.get(name), scope.bindings, scope.file)

    def _local(
        self, name: str, definitions: list[Def] | None, bindings: Scope, view: SourceView
    ) -> Values | None:
        named = [d for d in definitions or () if not d.scope and not d.makes_its_type]
        named = [d for d in named if d.kind not in SATELLITE_KINDS]  # what they add to is elsewhere
        if named:
            return [value for definition in bodies(named)[-2:] for value in self.of_definition(definition)]
        if name in bindings:
            return self._bound(bindings[name], view, name)
        return None

    def _bound(self, bindings: list[tuple[int, str]], view: SourceView, name: str = "") -> Values:
        """What any of the assignments makes of it; literals count only where there is nothing else."""
        found: Values = []
        for place, value in bindings:
            owner = view.owner(place)
            if owner is not None and name and _ROOT.split(value, maxsplit=1)[0] == name:
                owner = owner.parent  # a name made from itself is made from that of the scope around
            made = self.value_of(value, view, owner)
            if view.language.calls_bare:
                made = [v for m in made for v in (self.called(m) if m.what is What.FUNCTION else [m])]
            found += made
        known = [value for value in found if value.what is not What.EXTERNAL]
        return list(dict.fromkeys(known or found))

    def of_definition(self, definition: Def) -> Values:
        """A definition as a value."""
        if definition.is_type:
            return [Value(What.TYPE, self.types.home(definition))]
        if definition.kind in VALUE_KINDS:
            if definition.children and definition.file.language.objects_are_types:
                return [Value(What.INSTANCE, definition)]  # an object with functions of its own
            parent = definition.parent
            bindings = parent.bindings if parent is not None else definition.file.bindings
            return self._bound(bindings.get(definition.name, []), definition.file)
        return [Value(What.FUNCTION, definition)]

    def _in_module(self, name: str, view: SourceView) -> Values | None:
        found = self._local(name, view.tops.get(name), view.bindings, view)
        imported = view.imports.get(name)
        if imported and not (found and all(value.what is not What.EXTERNAL for value in found)):
            outside = [value for fact in imported for value in self.imported(fact, view)]
            return list(dict.fromkeys([*(found or []), *outside]))
        if found is not None:
            return found
        for fact in view.imports.get(WHOLE, ()):
            for target in self.modules.resolve(view, fact.module):
                there = self.exported(target, name)
                if there:
                    return [value.through(IMPORTED) for value in there]
        return None

    def _shared(self, name: str, view: SourceView) -> Values | None:
        """Names that other files share with this one unsaid; Python and JavaScript have none."""
        found = self.packages.visible(name, view)
        return [v.through(SHARED) for d in found for v in self.of_definition(d)] if found else None

    def holder(self, name: str, view: SourceView, owner: Def | None, hops: int = 0) -> Def | None:
        """The constant of a name, here or where it is imported from; a local variable hides it."""
        for scope in (owner, *owner.around) if owner is not None else ():
            inside = scope.children.get(name)
            if inside and not scope.is_type:
                return inside[-1]
            if name in scope.bindings and not scope.is_type:
                return None
        if name in view.tops:
            return view.tops[name][-1]
        if name == DEFAULT and name in view.bindings:
            return self.holder(view.bindings[name][0][1], view, None, hops + 1)
        for fact in view.imports.get(name, ()) if hops < MAX_HOPS else ():
            for path in self.modules.resolve(view, fact.module):
                other = self.sources.at(path)
                original = DEFAULT if fact.original == WHOLE else fact.original
                found = self.holder(original, other, None, hops + 1) if other is not None else None
                if found is not None:
                    return found
        return None

    def imported(self, fact: ImportFact, view: SourceView) -> Values:
        """What an import brings in: `EXTERNAL` where its module is not of the project."""
        if view.language.imports_packages:
            named = self.packages.named(fact, view)
            return [v.through(IMPORTED) for d in named for v in self.of_definition(d)] or [EXTERNAL]
        found: Values = []
        targets = self.modules.resolve(view, fact.module)
        for target in targets:
            if fact.original == WHOLE:
                other = self.sources.at(target)
                found += [Value(What.MODULE, other, IMPORTED)] if other is not None else []
                continue
            there = self.exported(target, fact.original)
            if not there and fact.original == DEFAULT:
                other = self.sources.at(target)
                there = [Value(What.MODULE, other)] if other is not None else []
            found += [value.through(IMPORTED) for value in there or ()]
        if found or targets:
            return found
        if fact.original != WHOLE and (path := self.modules.inner(view, fact)) is not None:
            module = self.sources.at(path)
            return [Value(What.MODULE, module, IMPORTED)] if module is not None else []
        folder = self.modules.folder(view, fact)
        what = What.PACKAGE if view.language.folders_are_packages else What.FOLDER
        return [EXTERNAL] if folder is None else [Value(what, folder, IMPORTED)]

    def exported(self, path: str, name: str) -> Values | None:
        """A top-level name of a file, re-exports followed."""
        return self._memo.once(("export", path, name), lambda: self._exported(path, name), None)

    def _exported(self, path: str, name: str) -> Values | None:
        view = self.sources.at(path)
        found = self._in_module(name, view) if view is not None else None
        if not found:
            inside = self.modules.submodule(view, name) if view is not None else None
            module = self.sources.at(inside) if inside else None
            found = [Value(What.MODULE, module)] if module is not None else found
        return found

    def attribute(self, value: Value, name: str) -> Values:
        """A member of a value."""
        if value.what is What.MODULE and isinstance(value.of, SourceView):
            return [v.through(value.trust) for v in self._of_module(value.of, name)]
        if value.what is What.PACKAGE and isinstance(value.of, str):
            return [v.through(IMPORTED) for d in self._tops_in(value.of, name) for v in self.of_definition(d)]
        if value.what is What.FOLDER and isinstance(value.of, str):
            return self._in_folder(value.of, name)
        if value.what is What.FUNCTION and isinstance(value.of, Def) and value.of.file.language.calls_bare:
            return [v for made in self.called(value) for v in self.attribute(made, name)]
        if isinstance(value.of, Def) and value.what in (What.INSTANCE, What.TYPE):
            return self._of_type(value, value.of, name)
        if isinstance(value.of, Def) and value.what is What.PARENT:
            return self._of_parent(value.of, name)
        return [EXTERNAL] if value.what in (What.EXTERNAL, What.ELEMENTS) else []

    def _of_module(self, view: SourceView, name: str) -> Values:
        """A name of a module, or a member of what it exports as a whole."""
        found = self.exported(view.path, name) or []
        if not found and view.language.exports_default and name != DEFAULT:
            whole = self.exported(view.path, DEFAULT) or []
            return [v for value in whole for v in self.attribute(value, name)]
        return found

    def _in_folder(self, folder: str, name: str) -> Values:
        path, below = self.modules.member(folder, name)
        module = self.sources.at(path) if path else None
        if module is not None:
            return [Value(What.MODULE, module, IMPORTED)]
        return [Value(What.FOLDER, below, IMPORTED)] if below else []

    def _tops_in(self, folder: str, name: str) -> list[Def]:
        """The definitions of a package that is a folder."""
        named = [d for d in self.sources.defining(name) if d.file.language.folders_are_packages]
        return [d for d in named if is_top(d) and posixpath.dirname(d.file.path) == folder]

    def _of_type(self, value: Value, of: Def, name: str) -> Values:
        if name == "new" and of.file.language.new_makes_instances and value.what is What.TYPE:
            return [Value(What.INSTANCE, of, value.trust)]
        if name in _CLASS_OF and value.what is What.INSTANCE:
            return [Value(What.TYPE, of, value.trust)]
        member = self.types.member(of, name)
        if member is not None and member.kind not in VALUE_KINDS:
            if member.is_type:
                return [Value(What.TYPE, member, value.trust)]
            function = Value(What.FUNCTION, member, value.trust, of)
            if of.file.language.bare_members:  # a field and a method may have one name
                return [function, *self._fields(value, of, name)]
            if value.what is What.INSTANCE and member.file.decorated_by(member, _PROPERTIES):
                return self.called(function)
            return [function]
        fields = self._fields(value, of, name)
        if fields or member is not None:
            return fields
        return [EXTERNAL] if self.types.opaque(of) else []

    def _fields(self, value: Value, of: Def, name: str) -> Values:
        """What the nearest of its types binds an attribute to."""
        found = self._memo.once(("field", of, name), lambda: self._find_fields(of, name), _NOTHING)
        return [v.through(value.trust) for v in found]

    def _find_fields(self, of: Def, name: str) -> Values:
        for owner in (of, *self.types.ancestors(of)):
            bindings = owner.bindings.get(name) or owner.bindings.get(f"@{name}")
            if bindings:
                in_type = all(place == owner.place for place, _ in bindings)
                return self._bound(bindings, owner.file, name if in_type else "")
        return []

    def _of_parent(self, of: Def, name: str) -> Values:
        parents, external = self.types.parents(of)
        for parent in parents:
            found = self.types.member(parent, name)
            if found is not None:
                return [Value(What.FUNCTION, found, MEMBER, of)]
        return [EXTERNAL] if external or not parents else []

    def called(self, value: Value) -> Values:
        """What calling a value gives."""
        if value.what is What.PARENT:
            return [value]
        if value.what is What.MODULE and isinstance(value.of, SourceView):
            whole = self.exported(value.of.path, DEFAULT) or []
            return [v for each in whole if each.what is not What.MODULE for v in self.called(each)]
        if value.what is What.TYPE:
            return [Value(What.INSTANCE, value.of, min(value.trust, TYPED))]
        if value.what is What.FUNCTION and isinstance(value.of, Def):
            if value.of.file.language.functions_make_types and self.types.satellites(value.of):
                return [Value(What.INSTANCE, value.of, min(value.trust, TYPED))]
            return self._returned(value.of, value)
        if value.what is What.INSTANCE and isinstance(value.of, Def):
            if value.of.file.language.calls_bare:
                return [value]
            method = self.types.member(value.of, "__call__")
            return self._returned(method, value) if method is not None else []
        return [EXTERNAL] if value.what is What.EXTERNAL else []

    def _returned(self, function: Def, value: Value) -> Values:
        key = ("return", function, value.on)
        found = self._memo.once(key, lambda: self._find_returned(function, value.on), _NOTHING)
        return [v if v.what is What.EXTERNAL else v.through(value.trust) for v in found]

    def _find_returned(self, function: Def, on: Def | None) -> Values:
        returned = function.bindings.get(RETURNED, [])
        types = [item for item in returned if item[1][:1] == ":"]
        found: Values = []
        for place, text in types or returned[:MAX_RETURNS]:
            if text in _ITSELF and on is not None:
                found.append(Value(What.INSTANCE, on))
            else:
                found += self.value_of(text, function.file, function.file.owner(place))
        trust = TYPED if types else INFERRED
        return list(dict.fromkeys(v if v.what is What.EXTERNAL else v.through(trust) for v in found))

    def _element(self, value: Value) -> Values:
        if value.what is What.ELEMENTS and isinstance(value.of, Def):
            return [Value(What.INSTANCE, value.of, value.trust)]
        if value.what is What.INSTANCE and isinstance(value.of, Def):
            method = self.types.member(value.of, "__getitem__")
            return self._returned(method, value) if method is not None else []
        return []

    def _declared(self, text: str, view: SourceView, owner: Def | None) -> Values:
        """Instances of a declared type."""
        depth = (len(text) - len(text.lstrip("[]"))) // 2
        what = What.ELEMENTS if depth else What.INSTANCE
        types = self.named_types(text.lstrip("[]"), view, owner)
        return [v if v.what is What.EXTERNAL else Value(what, v.of, min(v.trust, TYPED)) for v in types]

    def named_types(self, name: str, view: SourceView, owner: Def | None) -> Values:
        """The types that a (qualified) name means."""
        if name in ("Self", "self", "static", "this"):
            around = self.types.around(owner)
            return [Value(What.TYPE, around)] if around is not None else []
        if "." in name:
            found = self._chain(name, view, owner)
        else:
            nested = self._nested_type(name, owner)
            outside = None if nested else self.lookup(name, view, None)
            found = nested or ([EXTERNAL] if outside is None else outside)
        kinds = _TYPES_OR_MAKERS if view.language.functions_make_types else _TYPES
        return [value for value in found if value.what in kinds]

    def _nested_type(self, name: str, owner: Def | None) -> Values:
        """A type defined in what is around; variables of the same name are none."""
        for scope in (owner, *owner.around) if owner is not None else ():
            if scope.name == name and scope.is_type:
                return [Value(What.TYPE, self.types.home(scope))]
            inside = [d for d in scope.children.get(name, ()) if d.is_type]
            if not inside and scope.is_type and scope.file.language.bare_members:
                member = self.types.member(self.types.home(scope), name)
                inside = [member] if member is not None and member.is_type else []
            if inside:
                return [Value(What.TYPE, self.types.home(inside[0]))]
        return []
