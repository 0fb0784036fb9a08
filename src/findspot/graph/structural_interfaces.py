"""Types that conform to an interface by having its methods, without naming it: Go."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from findspot.core.facts import SIGNATURE
from findspot.graph.languages.go import STANDARD_INTERFACES, Go
from findspot.graph.memo import remembered
from findspot.graph.source_view import Def
from findspot.graph.sources import Sources
from findspot.graph.types import Types

_PACKAGE = re.compile(r"(?<![\w?])[\w?]+\.(?=\w)")
MAX_CANDIDATES = 2_000
"""Types compared with one interface, and interfaces with one type."""

Methods = dict[str, str]
"""Key → parameters and results; nothing where they are not known."""


class Structural:
    """Compares the methods of types and interfaces, in languages with structural interfaces."""

    def __init__(self, sources: Sources, types: Types) -> None:
        self._sources = sources
        self._types = types
        self.memo = sources.memo

    def interfaces_of(self, of: Def) -> list[Def]:
        """Return the interfaces that a type has the methods of."""
        if not of.file.language.structural_interfaces or not of.is_type or of.kind == "interface":
            return []
        return self.memo.once(("interfaces", of), [], self._find_interfaces, of)

    def _find_interfaces(self, of: Def) -> list[Def]:
        candidates: dict[Def, None] = {}
        for name in _names(self.methods(of)[0]):
            candidates.update(dict.fromkeys(self._declaring(name)))
        named = self._types.ancestors(of)
        asked = [each for each in candidates if each not in named][:MAX_CANDIDATES]
        return [interface for interface in asked if self.conforms(of, interface)]

    def declared(self, method: Def) -> Iterator[Def]:
        """Yield the methods of interfaces that a method of a type implements."""
        around = self._types.around(method) if method.scope else None
        for interface in self.interfaces_of(around) if around is not None else ():
            found = self._types.member(interface, method.name)
            if found is not None and found is not method:
                yield found

    def conforms(self, of: Def, interface: Def) -> bool:
        """Return whether a type has all methods of an interface, with the same parameters and results."""
        wanted, complete = self.methods(interface)
        if not wanted or not complete:
            return False
        own = self.methods(of)[0]
        if not wanted.keys() <= own.keys():
            return False
        if _is_generic(of) or _is_generic(interface):
            return True
        return all(_match(wanted[name], own[name]) for name in wanted)

    @remembered(({}, False))
    def methods(self, of: Def) -> tuple[Methods, bool]:
        """Return the methods of a type, embedded ones included, and whether all are known."""
        found: Methods = {}
        complete = True
        for owner in (of, *self._types.ancestors(of)):
            for method in self._types.members(owner):
                if method.kind == "method":
                    signature = next((value for _, value in method.bindings.get(SIGNATURE, ())), "")
                    found.setdefault(_key(method), signature)
            for name in self._outside(owner):
                complete = complete and name in STANDARD_INTERFACES
                for method_name, signature in STANDARD_INTERFACES.get(name, {}).items():
                    found.setdefault(method_name, signature)
        return found, complete

    def _outside(self, of: Def) -> Iterator[str]:
        """Yield what it embeds that is not of the project."""
        for reference in of.file.references.inherited_by(of.place):
            if not self._types.supertype(reference, of):
                yield f"{reference.on}.{reference.name}" if reference.on else reference.name

    @remembered([])
    def _declaring(self, method: str) -> list[Def]:
        """Return the interfaces that declare a method, or embed one that does."""
        declared = self._sources.defined(method, Go.family, lambda summary: method in summary.declared)
        around = (definition.parent for definition in declared)
        waiting = [parent for parent in around if parent is not None and parent.kind == "interface"]
        for name, methods in STANDARD_INTERFACES.items():
            if method in methods:
                waiting += [d for d in self._heirs(name.rpartition(".")[2]) if d.kind == "interface"]
        found: dict[Def, None] = {}
        while waiting and len(found) < MAX_CANDIDATES:
            interface = waiting.pop()
            if interface not in found:
                found[interface] = None
                waiting += [d for d in self._heirs(interface.name) if d.kind == "interface"]
        return list(found)

    @remembered([])
    def _heirs(self, name: str) -> list[Def]:
        views = self._sources.inheriting(name, Go.family)
        owners = (view.owner(place) for view in views for place in view.references.heirs_of(name))
        return list(dict.fromkeys(owner for owner in owners if owner is not None and owner.is_type))


def _key(method: Def) -> str:
    """Return the name of a method; one that is not exported is another one in each package."""
    exported = method.name[:1].isupper()
    return method.name if exported else f"{method.name}@{posixpath.dirname(method.file.path)}"


def _names(methods: Methods) -> list[str]:
    return [key.partition("@")[0] for key in methods]


def _match(one: str, other: str) -> bool:
    """Return whether parameters and results are the same; those of an unknown package may be."""
    if "?." in one or "?." in other:
        one, other = (_PACKAGE.sub("", text) for text in (one, other))
    return not one or not other or one == other


def _is_generic(of: Def) -> bool:
    return any(name.startswith("[") for name in of.bindings)
