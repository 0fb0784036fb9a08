"""Find the definitions that a name means, as people write it, and names that are close to an unknown one."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import combinations

from findspot.core.facts import dotted
from findspot.core.model import storable
from findspot.graph.edges import Node
from findspot.graph.evaluate import Evaluator
from findspot.graph.project_paths import grouped
from findspot.graph.source_view import SATELLITE_KINDS, VALUE_KINDS, Def, SourceView
from findspot.graph.sources import Sources
from findspot.graph.values import What
from findspot.store.records import SymbolPlace, last_name

_AT_LINE = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?:[-:]\d+)?")
_IN_FILE = re.compile(r"(?P<path>[^#]+?\.\w+(?=#|::)|[^#]+(?=#))(?:#|::)(?P<name>.+)")
_SEPARATOR = re.compile(r"::|->|[.\\]|(?<=[^.\s])#")
"""Between the names of a qualified one; `#` after a dot or at the start is that of a private member."""
_PACKAGES = frozenset({"__init__", "index", "mod", "lib"})
"""Files that are called by the name of their folder."""

_MOST_PIECES = 50
"""Between the dots of a name that an index could show."""

_CLOSE = 0.75
"""The share of letters that a name must have in common with an unknown one to be shown for it."""


class Symbols:
    """The definitions of one generation, by name."""

    def __init__(self, sources: Sources, evaluator: Evaluator) -> None:
        self._sources = sources
        self._evaluator = evaluator

    def find(self, name: str) -> list[Node]:
        """Return the definitions of a name, the most important first.

        It may be `name`, `Class.method`, `package.module.name` (also where the package imports it from
        another module), `path#name`, `path::name` or `path:line`. Another case counts if nothing else fits.

        However it is written, a name that the index shows is found: names with dots, brackets or spaces in
        them before they are taken apart, titles of tests and other spellings if nothing else fits.
        """
        name = storable(name)
        plain = name.strip().strip("`").removesuffix("()")
        last = _parts(plain)[-1]
        whole = (ending for ending in _endings(name) if ending != last)
        found = _sorted(d for d in self._called(name, whole) if not d.titled)
        for written in dict.fromkeys((plain, name)):
            found = found or self._as_people_write(written)
        found = found or _sorted(self._called(name, _endings(name)))
        return found or _sorted(d for place in self.spelled(name) for d in self._at_place(place))

    def spelled(self, name: str) -> list[SymbolPlace]:
        """Return what the index has in just this spelling: a name, after those of what is around it."""
        pieces = name.split(".")
        pieces = pieces if len(pieces) <= _MOST_PIECES else [name]
        spans = combinations(range(len(pieces) + 1), 2)
        rows = self._sources.symbols.spelled([".".join(pieces[first:last]) for first, last in spans])
        named = [(number, place) for number, place in rows if f".{name}".endswith(f".{place.name}")]
        breadcrumbs = self._sources.chunks.breadcrumbs([number for number, _ in named])
        inside: dict[int, set[str]] = {}
        for _, place in rows:
            inside.setdefault(place.file_id, set()).add(place.name)
        found = []
        for number, place in named:
            outer = name[: -len(place.name)].removesuffix(".")
            if _consists_of(outer, inside[place.file_id].union(breadcrumbs[number].split(" > "))):
                found.append(place)
        return found

    def _called(self, name: str, endings: Iterable[str]) -> list[Def]:
        """Return the definitions whose own name is one of these, and with what is around it this one."""
        numbers = ((number, end) for end in endings for number in self._sources.numbers_defining(end))
        views = ((self._sources.view(number), end) for number, end in numbers)
        inside = (d for view, end in views if view is not None for d in view.definitions if d.name == end)
        return [d for d in inside if d.qualified == name]

    def _at_place(self, place: SymbolPlace) -> list[Def]:
        """Return the definition at a place of the index, which may spell its name in another way."""
        view = self._sources.view(place.file_id)
        here = [d for d in view.definitions if d.line == place.line] if view is not None else []
        exact = [d for d in here if d.name in (place.name, last_name(place.name))]
        return exact or [d for d in here if d.name in re.split(r"\W+", place.name)]

    def _as_people_write(self, name: str) -> list[Node]:
        located = _AT_LINE.fullmatch(name)
        if located and (found := self._at_line(located["path"], int(located["line"]))):
            return found
        inside = _IN_FILE.fullmatch(name)
        if inside and (views := self._files(inside["path"])):
            named = [d for d in self._named(inside["name"]) if d.file in views]
            whole = inside["name"]
            ids = {f"{view.path}#{whole}" for view in views}
            inner = (d for view in views for d in view.definitions)
            exact = [d for d in inner if d.qualified == whole or d.id_of_node in ids]
            return _sorted(exact or named)
        return _sorted(self._named(name))

    def near(self, name: str, limit: int = 5) -> list[Node]:
        """Return definitions whose names are close to one that is not defined."""
        last = _parts(name)[-1]
        same = _sorted(d for spelled in self._spellings(last) for d in self._sources.defining(spelled))
        if same:
            return same[:limit]
        close = get_close_matches(last, self._sources.stored_facts.defined_names(), limit, _CLOSE)
        nodes = (node for other in close for node in _sorted(self._sources.defining(other))[:2])
        return list(dict.fromkeys(nodes))[:limit]

    def modules(self, name: str) -> list[str]:
        """Return the paths of the files that a path or the dotted name of a module means."""
        if files := self._files(name):
            return [view.path for view in files]
        parts = [part for part in re.split(r"[./]", name) if part]
        named = self._modules().get(parts[-1], ()) if parts else ()
        return [path for path in named if _ends_with(module_parts(path), parts)]

    def _files(self, path: str) -> list[SourceView]:
        path = path.removeprefix("./")
        known = self._sources.files.by_path
        paths = [path] if path in known else [other for other in known if other.endswith(f"/{path}")]
        views = (self._sources.at(each) for each in paths)
        return [view for view in views if view is not None]

    def _at_line(self, path: str, line: int) -> list[Node]:
        found = []
        for view in self._files(path):
            around = [d for d in view.definitions if d.line <= line <= d.end_line]
            found += [max(around, key=lambda d: (d.line, -d.end_line)).node] if around else []
        return found

    def _spellings(self, name: str) -> list[str]:
        others = self._sources.stored_facts.spellings(name)
        return sorted(others, key=lambda other: other != name)

    def _named(self, name: str) -> list[Def]:
        *qualifiers, last = _parts(name)
        found = self._qualified(self._sources.defining(last), qualifiers, _ends_with)
        found = found or self._handed_on(qualifiers, last)
        found = found or self._qualified(self._sources.defining(last), qualifiers, _has_in_order)
        if not found:
            folded = [part.lower() for part in qualifiers]
            others = [d for other in self._spellings(last) for d in self._sources.defining(other)]
            found = self._qualified(others, folded, lambda chain, q: _has_in_order(map(str.lower, chain), q))
        return found

    def _qualified(
        self, found: Iterable[Def], qualifiers: list[str], fits: Callable[[list[str], list[str]], bool]
    ) -> list[Def]:
        return [d for d in found if not qualifiers or any(fits(chain, qualifiers) for chain in _chains(d))]

    def _handed_on(self, qualifiers: list[str], name: str) -> list[Def]:
        """Return what a module imports and offers under its own name: `flask.url_for`."""
        for size in range(len(qualifiers), 0, -1):
            for path in self._modules().get(qualifiers[size - 1], ()):
                if _ends_with(module_parts(path), qualifiers[:size]):
                    first, *members = *qualifiers[size:], name
                    values = self._evaluator.exported(path, first) or []
                    for member in members:
                        values = [v for value in values for v in self._evaluator.attribute(value, member)]
                    callable_ = (v.of for v in values if v.what in (What.FUNCTION, What.TYPE))
                    found = [d for d in callable_ if isinstance(d, Def) and d.name == name]
                    if found:
                        return found
        return []

    def _modules(self) -> dict[str, list[str]]:
        """Return the paths of the files by their last name as modules, short paths first."""

        def gather() -> dict[str, list[str]]:
            paths = sorted(self._sources.files.by_path, key=lambda path: (path.count("/"), path))
            return grouped(paths, lambda path: next(reversed(module_parts(path)), ""))

        return self._sources.project.once("modules by name", gather)


def importance(node: Node) -> tuple[bool, bool, str, int]:
    """Sort types and functions before values, extensions last."""
    return node.kind in SATELLITE_KINDS, node.kind in VALUE_KINDS, node.path, node.start_line


def module_parts(path: str) -> list[str]:
    """Return the names of a file and of the folders around it, as a qualified name has them."""
    folder, stem = posixpath.split(posixpath.splitext(path)[0])
    parts = [*filter(None, folder.split("/")), stem]
    return parts[:-1] if stem in _PACKAGES else parts


def _parts(name: str) -> list[str]:
    parts = [part for part in _SEPARATOR.split(name.removesuffix("()").strip(".")) if part]
    return parts or [name]


def _endings(name: str) -> Iterator[str]:
    """Yield a name, and what is left of it after each of its dots."""
    yield name
    yield from (name[place + 1 :] for place, letter in enumerate(name) if letter == ".")


def _consists_of(text: str, names: Container[str]) -> bool:
    """Return whether a text is a row of these names with dots between them; names may hold dots too."""
    pieces = text.split(".") if text else []
    reached = {0}
    for first, last in combinations(range(len(pieces) + 1), 2):
        if first in reached and ".".join(pieces[first:last]) in names:
            reached.add(last)
    return len(pieces) in reached


def _chains(definition: Def) -> Iterator[list[str]]:
    """Yield the names around a definition: of files and folders or of its package, and of types."""
    around = [part for name in definition.qualified.split(".")[:-1] for part in name.split("::")]
    modules = module_parts(definition.file.path)
    yield [*modules, *around]
    if around and modules and modules[-1] == around[0]:  # a file that is named after its type
        yield [*modules[:-1], *around]
    if definition.file.package:
        yield [*dotted(definition.file.package).split("."), *around]


def _ends_with(chain: list[str], qualifiers: Sequence[str]) -> bool:
    return chain[max(0, len(chain) - len(qualifiers)) :] == list(qualifiers)


def _has_in_order(chain: Iterable[str], qualifiers: Sequence[str]) -> bool:
    remaining = iter(chain)
    return all(part in remaining for part in qualifiers)


def _sorted(definitions: Iterable[Def]) -> list[Node]:
    return sorted(dict.fromkeys(d.node for d in definitions), key=importance)
