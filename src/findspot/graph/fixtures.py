"""Fixtures of pytest: which one a test means by the name of a parameter."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from findspot.core.facts import WHOLE
from findspot.graph.memo import remembered
from findspot.graph.source_view import Def, SourceView
from findspot.graph.sources import Sources
from findspot.graph.types import Types
from findspot.graph.values import MEMBER, SCOPE, SHARED, UNIQUE, Value, What

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
        self.memo = sources.memo

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

    @remembered([])
    def _in_plugins(self, name: str) -> list[Def]:
        """Return the fixtures of a name in modules that are neither tests nor shared with a folder."""
        named = self._sources.defining(name, at=lambda path: not _PRIVATE.search(path))
        return [d for d in named if _is_of_plugin(d)]


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
