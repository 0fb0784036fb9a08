"""Names through scopes, imports and packages into values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from findspot.core.facts import DEFAULT, STATIC, WHOLE, ImportFact
from findspot.graph.source_view import SATELLITE_KINDS, VALUE_KINDS, Def, Scope, SourceView, is_top
from findspot.graph.types import bodies
from findspot.graph.values import DISPATCHED, EXTERNAL, IMPORTED, MEMBER, SHARED, Value, Values, What

if TYPE_CHECKING:
    from findspot.graph.evaluate import Evaluator

_ROOT = re.compile(r"[.(\[|]")


class Names:
    """What bare names mean where they are written."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def root(self, name: str, view: SourceView, owner: Def | None) -> Values:
        """Return the value of a bare name, `self` and its like included; nothing where it is unknown."""
        language = view.language
        if language.module_roots(name):
            modules = [
                self._evaluator.sources.at(path) for path in self._evaluator.modules.resolve(view, name)
            ]
            return [Value(What.MODULE, module) for module in modules if module is not None]
        if name in language.own_names:
            own_type = name in language.own_type_names
            own_object = name in language.self_names
            around = self._evaluator.types.around(owner)
            if around is not None:
                static = own_type or (own_object and is_static(owner))
                what = What.TYPE if static else What.INSTANCE if own_object else What.PARENT
                return [Value(what, around, MEMBER)]
            if own_object:
                return []
        found = self.lookup(name, view, owner)
        if found is None and name in language.own_module_names:
            return [Value(What.MODULE, view)]
        return [EXTERNAL] if found is None else found

    def lookup(self, name: str, view: SourceView, owner: Def | None) -> Values | None:
        """Return a name by the rules of scope and import: None where nothing says what it is."""
        known = view.names.all
        if known is not None and name not in known:
            return None
        if owner is not None and view.names.is_global(name):
            owner = None
        key = ("name", view.id, owner.place if owner is not None else -1, name)
        cut_short: Values | None = []
        return self._evaluator.memo.once(key, cut_short, self._lookup, name, view, owner)

    def _lookup(self, name: str, view: SourceView, owner: Def | None) -> Values | None:
        for scope in (owner, *owner.around) if owner is not None else ():
            found = self._in_scope(name, scope, scope is owner)
            if found is not None:
                return found
        found = self.in_module(name, view)
        return found if found is not None else self._shared(name, view)

    def callee(self, name: str, view: SourceView, owner: Def | None) -> Values:
        """Return what a call by a bare name means where variables have names of their own."""
        for scope in (owner, *owner.around) if owner is not None else ():
            found = (self._in_scope(name, scope, innermost=False) if scope.is_type else None) or []
            inside = [d for d in scope.children.get(name, ()) if d.is_type]
            found = [v for v in found if v.what in (What.FUNCTION, What.TYPE)]
            if found or inside:
                return found or self.of_definition(inside[0])
        return self.root(name, view, None)

    def _in_scope(self, name: str, scope: Def, innermost: bool) -> Values | None:
        if scope.is_object:
            return None  # what it has is no name to its code
        if scope.is_type and scope.kind != "module":
            if not scope.file.language.bare_members:
                if not innermost or not scope.file.language.class_scope:
                    return None
                return self._local(name, scope.children.get(name), scope.bindings, scope.file)
            found = self._evaluator.members.attribute(
                Value(What.INSTANCE, self._evaluator.types.home(scope)), name
            )
            return found if found and found != [EXTERNAL] else None
        return self._local(name, scope.children.get(name), scope.bindings, scope.file)

    def _local(
        self, name: str, definitions: list[Def] | None, bindings: Scope, view: SourceView
    ) -> Values | None:
        if definitions is None:
            return self.bound(bindings[name], view, name) if name in bindings else None
        named = [d for d in definitions if not d.scope and not d.makes_its_type]
        named = [d for d in named if d.kind not in SATELLITE_KINDS]  # what they add to is elsewhere
        if view.language.objects_are_types:
            named = [d for d in named if d.kind not in ("method", "field")]  # of something without a name
        if view.language.includes and named:
            named = [d for d in named if not (d.kind == "macro" and view.language.is_library_name(name))]
            named = [d for d in named if not d.is_declaration][:1] or named[:1]
        if named:
            return [value for definition in bodies(named)[-2:] for value in self.of_definition(definition)]
        if name in bindings:
            return self.bound(bindings[name], view, name)
        return None

    def bound(self, bindings: list[tuple[int, str]], view: SourceView, name: str = "") -> Values:
        """Return what any of the assignments makes of it; literals count only where there is nothing else."""
        found: Values = []
        for place, value in bindings:
            owner = view.owner(place)
            from_itself = value.startswith(name) if name else False
            if owner is not None and from_itself and _ROOT.split(value, maxsplit=1)[0] == name:
                owner = owner.parent  # a name made from itself is made from that of the scope around
            made = self._evaluator.value_of(value, view, owner)
            if view.language.calls_bare:
                made = [
                    v
                    for m in made
                    for v in (self._evaluator.members.called(m) if m.what is What.FUNCTION else [m])
                ]
            found += made
        known = [value for value in found if value.what is not What.EXTERNAL]
        return list(dict.fromkeys(known or found))

    def of_definition(self, definition: Def) -> Values:
        """Return a definition as a value."""
        if definition.is_type:
            return [Value(What.TYPE, self._evaluator.types.home(definition))]
        if definition.kind in VALUE_KINDS:
            if definition.is_object:
                return [Value(What.INSTANCE, definition)]
            parent = definition.parent
            bindings = parent.bindings if parent is not None else definition.file.bindings
            return self.bound(bindings.get(definition.name, []), definition.file)
        if definition.is_declaration and is_top(definition):
            definition = self._evaluator.packages.definition_of(definition)
        return [Value(What.FUNCTION, definition)]

    def in_module(self, name: str, view: SourceView) -> Values | None:
        found = self._local(name, view.tops.get(name), view.bindings, view)
        imported = view.imports.get(name)
        if imported is None and found is None and view.language.folders_are_packages:
            imported = self._evaluator.modules.imports_called(view, name)
        if imported and not (found and all(value.what is not What.EXTERNAL for value in found)):
            outside = [value for fact in imported for value in self._evaluator.exports.imported(fact, view)]
            if view.language.imports_packages and EXTERNAL in outside:  # one of two functions of a name
                outside = [value.through(DISPATCHED) for value in outside]
            return list(dict.fromkeys([*(found or []), *outside]))
        if found is not None:
            return found
        for fact in view.imports.get(WHOLE, ()):
            if view.language.imports_packages:
                types = self._evaluator.packages.types(fact.module, view)
                inside = [
                    v for t in types for v in self._evaluator.members.attribute(Value(What.TYPE, t), name)
                ]
                if inside and inside != [EXTERNAL]:
                    return [value.through(IMPORTED) for value in inside]
            for target in self._evaluator.modules.resolve(view, fact.module):
                there = self._evaluator.exports.exported(target, name)
                if there:
                    return [value.through(IMPORTED) for value in there]
            folder = (
                self._evaluator.modules.folder(view, fact) if view.language.folders_are_packages else None
            )
            if folder is not None and (
                there := self._evaluator.members.attribute(Value(What.PACKAGE, folder), name)
            ):
                return there
        return None

    def _shared(self, name: str, view: SourceView) -> Values | None:
        """Return names that other files share with this one unsaid; Python and JavaScript have none."""
        found = self._evaluator.packages.visible(name, view)
        return self._evaluator.members.variants(found, SHARED) if found else None

    def holder(self, name: str, view: SourceView, owner: Def | None) -> Def | None:
        """Return the constant of a name, here or where it is imported from; a local variable hides it."""
        for scope in (owner, *owner.around) if owner is not None else ():
            inside = scope.children.get(name)
            if inside and not scope.is_type and not scope.is_object and inside[-1].kind != "field":
                return inside[-1]
            if name in scope.bindings and not scope.is_type:
                return None
        return self._evaluator.memo.once(("holder", view.id, name), None, self._holder, name, view)

    def _holder(self, name: str, view: SourceView) -> Def | None:
        if name in view.tops and name not in view.imports and not view.language.is_library_name(name):
            return view.tops[name][-1]
        if name == DEFAULT and name in view.bindings:
            return self.holder(view.bindings[name][0][1], view, None)
        for fact in view.imports.get(name, ()):
            for path in self._evaluator.modules.resolve(view, fact.module):
                other = self._evaluator.sources.at(path)
                original = DEFAULT if fact.original == WHOLE else fact.original
                found = self.holder(original, other, None) if other is not None else None
                if found is not None:
                    return found
        return None


def is_static(owner: Def | None) -> bool:
    """Return whether code is that of a static method, whose `this` is the class."""
    while owner is not None and owner.parent is not None and not owner.parent.is_type:
        owner = owner.parent
    return owner is not None and STATIC in owner.bindings


class Exports:
    """What imports bring in, and what modules offer to them."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def imported(self, fact: ImportFact, view: SourceView) -> Values:
        """Return what an import brings in: `EXTERNAL` where its module is not of the project."""
        if view.language.imports_packages:
            named = self._evaluator.packages.named(fact, view)
            return [v.through(IMPORTED) for d in named for v in self._evaluator.names.of_definition(d)] or [
                EXTERNAL
            ]
        found: Values = []
        targets = self._evaluator.modules.resolve(view, fact.module)
        for target in targets:
            if fact.original == WHOLE:
                other = self._evaluator.sources.at(target)
                found += [Value(What.MODULE, other, IMPORTED)] if other is not None else []
                continue
            there = self.exported(target, fact.original)
            if not there and fact.original == DEFAULT:
                other = self._evaluator.sources.at(target)
                there = [Value(What.MODULE, other)] if other is not None else []
            found += [value.through(IMPORTED) for value in there or ()]
        if found or targets:
            return found
        if fact.original != WHOLE and (path := self._evaluator.modules.inner(view, fact)) is not None:
            module = self._evaluator.sources.at(path)
            return [Value(What.MODULE, module, IMPORTED)] if module is not None else []
        folder = self._evaluator.modules.folder(view, fact)
        what = What.PACKAGE if view.language.folders_are_packages else What.FOLDER
        return [EXTERNAL] if folder is None else [Value(what, folder, IMPORTED)]

    def definers(
        self, fact: ImportFact, view: SourceView, *, handed_on: bool = False
    ) -> list[Def | SourceView]:
        """Return what defines an imported name: definitions, or the file that binds it."""
        modules, sources = self._evaluator.modules, self._evaluator.sources
        found: list[Def | SourceView] = []
        for path in modules.resolve(view, fact.module):
            other = sources.at(path)
            if other is not None:
                found += [other] if fact.original == WHOLE else self._definers_in(fact.original, other)
        inner = modules.inner(view, fact) if not found and fact.original != WHOLE else None
        module = sources.at(inner) if inner else None
        if module is not None:
            return [module]
        if not found and handed_on and fact.local != WHOLE:  # bound in a way that facts do not tell
            paths = modules.resolve(view, fact.module)
            return [other for path in paths if (other := sources.at(path)) is not None]
        return found

    def _definers_in(self, name: str, view: SourceView) -> list[Def | SourceView]:
        nothing: list[Def | SourceView] = []
        return self._evaluator.memo.once(
            ("definers", view.id, name), nothing, self._find_definers, name, view
        )

    def _find_definers(self, name: str, view: SourceView) -> list[Def | SourceView]:
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
        inside = self._evaluator.modules.submodule(view, name)
        module = self._evaluator.sources.at(inside) if inside else None
        return [module] if module is not None else []

    def exported(self, path: str, name: str) -> Values | None:
        """Return a top-level name of a file, re-exports followed."""
        return self._evaluator.memo.once(("export", path, name), None, self._exported, path, name)

    def _exported(self, path: str, name: str) -> Values | None:
        view = self._evaluator.sources.at(path)
        found = self._evaluator.names.in_module(name, view) if view is not None else None
        if not found:
            inside = self._evaluator.modules.submodule(view, name) if view is not None else None
            module = self._evaluator.sources.at(inside) if inside else None
            found = [Value(What.MODULE, module)] if module is not None else found
        if not found and view is not None and view.language.exports_default and name != DEFAULT:
            members = self._evaluator.members
            whole = [v for value in self.whole(view) for v in members.attribute(value, name)]
            return whole or _given_to_exports(view, name) or found
        return found

    def whole(self, view: SourceView) -> Values:
        """Return what a module exports as a whole, other modules apart from itself included."""
        exported = self.exported(view.path, DEFAULT) if view.language.exports_default else None
        return [value for value in exported or () if value.of is not view]


def _given_to_exports(view: SourceView, name: str) -> Values:
    """Return a function that is assigned to a variable for the exports: `var api = exports`."""
    return [
        Value(What.FUNCTION, definition)
        for definition in view.tops.get(name, ())
        for _, value in view.bindings.get(definition.scope, ())
        if value in ("exports", "module.exports")
    ]
