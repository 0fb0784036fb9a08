"""Expressions into values: names through scopes and imports, members through types."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from findspot.core.facts import FIXTURE, LITERAL, UNKNOWN, WHOLE, root_of, split_outside, steps_of
from findspot.graph.members import Members
from findspot.graph.memo import Memo
from findspot.graph.modules import Modules, Packages
from findspot.graph.names import Exports, Names
from findspot.graph.source_view import Def, SourceView, is_top
from findspot.graph.sources import Sources
from findspot.graph.types import Types
from findspot.graph.values import (
    EXTERNAL,
    IMPORTED,
    MEMBER,
    SCOPE,
    SHARED,
    TYPED,
    UNIQUE,
    Record,
    Value,
    Values,
    What,
)

_QUALIFIED = re.compile(r"(?:[a-z_]\w*\.)+[A-Z]\w*")
"""A package and a type in it, by the convention of their names."""
_TYPES = (What.TYPE, What.EXTERNAL)
_TYPES_OR_MAKERS = (What.TYPE, What.FUNCTION, What.EXTERNAL)


MAX_PLACES = 100
"""Values that one expression may have, and places that define one type, which are looked into."""


class Evaluator:
    """The meaning of expressions in one generation of a project."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.memo = Memo(sources.tables.table("values"))
        self.modules = Modules(sources)
        self.packages = Packages(sources, self.modules)
        self.names = Names(self)
        self.exports = Exports(self)
        self.members = Members(self)
        self.types = Types(sources, self.named_types, self.memo)
        self.fixtures = Fixtures(sources, self.types, self.names.lookup)

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
            return self.members.called(fixture) if fixture is not None else []
        if text[0] == "<":  # a value of a type that is written out
            root = text[: text.index(">") + 1]
            values = self._declared(root[2:-1], view, owner)
        else:
            root = root_of(text)
            values = self.names.root(root, view, owner)
            if values == [EXTERNAL] and view.language.parameters_are_types:
                values = self._constraint(root, owner) or values
            if values == [EXTERNAL] and root != text and view.language.imports_packages:
                root, values = self._in_package(text, root, view)
        if view.language.reopens and len(text) > len(root):
            values = self.reopened(values)
        return self.follow(values, text[len(root) :]) if len(text) > len(root) else values

    def follow(self, values: Values, steps: str) -> Values:
        """Return what attributes, calls and subscripts of values may be, such as `.name()[]`."""
        for step in steps_of(steps):
            if not values:
                return []
            if len(values) == 1:
                values = self._step(values[0], step)
            else:
                found = dict.fromkeys(after for value in values for after in self._step(value, step))
                values = list(found)[:MAX_PLACES]
        return values

    def reopened(self, values: Values) -> Values:
        """Return types with all the other places that define them."""
        found = dict.fromkeys(values)
        for value in values:
            of = value.of
            if value.what is What.TYPE and isinstance(of, Def) and is_top(of):
                same = self.sources.definers.tops(of.name, of.file.language.family)
                found |= dict.fromkeys(value._replace(of=d) for d in same if d.is_type)
        return list(found)[:MAX_PLACES]

    def _in_package(self, text: str, root: str, view: SourceView) -> tuple[str, Values]:
        """Return the type that a chain starts with, after the name of its package."""
        written = _QUALIFIED.match(text)
        types = self.packages.types(written[0], view) if written is not None else []
        if written is None or not types:
            return root, [EXTERNAL]
        return written[0], [Value(What.TYPE, types[0], IMPORTED)]

    def _step(self, value: Value, step: str) -> Values:
        if value.what is What.EXTERNAL:
            return [EXTERNAL]
        if step.startswith("(>"):
            return self.members.parameter(value, int(step[2:-1]))
        if step[0] == "(":
            return self.members.called(value, step)
        if step == "[]":
            return self.members.element(value)
        return self.members.attribute(value, step[1:])

    def _declared(self, text: str, view: SourceView, owner: Def | None) -> Values:
        """Instances of a declared type."""
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
        if "." in name:
            found = self._chain(name, view, owner)
        else:
            nested = self._nested_type(name, owner)
            if not nested and self._constraint(name, owner) is not None:
                return [EXTERNAL]  # a type parameter
            outside = None if nested else self.names.lookup(name, view, None)
            found = nested or ([EXTERNAL] if outside is None else outside)
        if view.language.exports_default:  # `const Base = require("./base")`
            found = [each for value in found for each in self._exported_by(value)]
        kinds = _TYPES_OR_MAKERS if view.language.functions_make_types else _TYPES
        return [value for value in found if value.what in kinds]

    def _exported_by(self, value: Value) -> Values:
        """Return what a module exports as a whole; of anything else, itself."""
        if value.what is What.MODULE and isinstance(value.of, SourceView):
            return [v.through(value.trust) for v in self.exports.whole(value.of)]
        return [value]

    def _nested_type(self, name: str, owner: Def | None) -> Values:
        """Return a type defined in what is around; variables of the same name are none."""
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

    def _constraint(self, name: str, owner: Def | None) -> Values | None:
        """Return the types that a type parameter is limited to; None for what is no type parameter."""
        parameter = f"[{name}]"
        for scope in (owner, *owner.around) if owner is not None else ():
            limited = self._limiting(parameter, scope)
            if limited is not None:
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

    def _limiting(self, parameter: str, scope: Def) -> Def | None:
        """Return what says the limits of a type parameter: a scope, the type around it or an extension."""
        if parameter in scope.bindings:
            return scope
        around = self.types.around(scope) if scope.scope else None
        if around is not None and parameter in around.bindings:
            return around
        is_open = scope.is_type and scope.file.language.parameters_are_types
        added = self.types.satellites(scope) if is_open else ()
        return next((each for each in added if parameter in each.bindings), None)


Lookup = Callable[[str, SourceView, Def | None], list[Value] | None]

_SHARED = "conftest.py"
_PRIVATE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
"""Files whose fixtures no file elsewhere sees unsaid; all others with fixtures are plugins, or imported."""


class Fixtures:
    """Finds fixtures by name, from where they are asked for."""

    def __init__(self, sources: Sources, types: Types, lookup: Lookup) -> None:
        self._sources = sources
        self._types = types
        self._lookup = lookup
        self._plugins: dict[str, list[Def]] = sources.tables.table("plugin fixtures")

    def find(self, name: str, view: SourceView, asking: Def | None) -> Value | None:
        """Return the nearest fixture of a name; one that asks for its own name means the one that it
        hides.
        """
        if asking is None:
            return None
        candidates = self._candidates(name, view, asking)
        return next((fixture for fixture in candidates if fixture.of is not asking), None)

    def _candidates(self, name: str, view: SourceView, asking: Def) -> Iterator[Value]:
        around = self._types.around(asking)
        for place, of in enumerate((around, *self._types.ancestors(around)) if around is not None else ()):
            member = of.file.fixtures.get((of.place, name))
            if member is not None:
                yield Value(What.FUNCTION, member, MEMBER if place else SCOPE)
        yield from self._of_file(name, view)
        folder = posixpath.dirname(view.path)
        for above in (folder, *_above(folder)):
            shared = self._sources.at(posixpath.join(above, _SHARED))
            if shared is not None:
                yield from (fixture.through(SHARED) for fixture in self._of_file(name, shared))
        plugins = [fixture for fixture in self._in_plugins(name) if fixture is not asking]
        if len(plugins) == 1:
            yield Value(What.FUNCTION, plugins[0], UNIQUE)

    def _of_file(self, name: str, view: SourceView) -> Iterator[Value]:
        """Yield a fixture of a module: its own, or one that it imports."""
        own = view.fixtures.get((-1, name))
        if own is not None:
            yield Value(What.FUNCTION, own)
        elif name in view.imports or WHOLE in view.imports:
            for value in self._lookup(name, view, None) or ():
                if isinstance(value.of, Def) and value.of.file.fixtures.get((-1, name)) is value.of:
                    yield value

    def _in_plugins(self, name: str) -> list[Def]:
        """Return the fixtures of a name in modules that are neither tests nor shared with a folder."""
        if name not in self._plugins:
            named = self._sources.defining(name, at=lambda path: not _PRIVATE.search(path))
            self._plugins[name] = [d for d in named if _is_of_plugin(d)]
        return self._plugins[name]


def _is_of_plugin(fixture: Def) -> bool:
    """Return whether a definition is a fixture that tests elsewhere may be given; a class of tests keeps its
    own.
    """
    if fixture not in fixture.file.fixtures.values():
        return False
    return fixture.parent is None or not fixture.parent.name.startswith("Test")


def _above(folder: str) -> Iterator[str]:
    while folder:
        folder = posixpath.dirname(folder)
        yield folder
