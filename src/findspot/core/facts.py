"""What one file says about names, before anything is resolved: plain tuples, kept as packed JSON.

Expressions are text in one small notation for all languages: a name, then any of `.member`,
`()` for a call and `[]` for an element: `self.session.get().items[]`. A leading `:` marks a
declared type (`:Session`, `:[]Session` for a container of them); what does not fit is `?`.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from sys import intern
from typing import NamedTuple

UNKNOWN = "?"
"""An expression that the notation cannot say."""

LITERAL = "'"
"""A string, number, list or other value whose members no project defines."""

RETURNED = "()"
"""The name that what a function returns is bound to."""

ALIASED = "="
"""The name that the type behind a type alias is bound to."""

DEFAULT = "default"
"""The name of what a module exports as a whole."""

WHOLE = "*"
"""In place of an imported name: the module itself, or all of its names."""

_LEVEL = 1
"""Of compression: four fifths of what the best level gains, at a tenth of its time."""


class Relation(StrEnum):
    """How one definition refers to another."""

    CALL = "call"
    TYPE_USE = "type_use"
    IMPORT = "import"
    INHERIT = "inherit"
    OVERRIDE = "override"
    DECORATE = "decorate"


class DefinitionFact(NamedTuple):
    """Something defined: its lines, and the place of the definition around it in the list (or -1)."""

    name: str
    kind: str
    line: int
    end_line: int
    parent: int
    scope: str = ""
    """The type it belongs to, where it is written outside of that type."""


class ImportFact(NamedTuple):
    """A name brought into a file; a `local` of `*` brings in all names of the module."""

    local: str
    module: str
    original: str
    line: int


class BindingFact(NamedTuple):
    """What a variable, parameter or attribute is made from, in the definition `owner` (or -1)."""

    owner: int
    target: str
    value: str


class ReferenceFact(NamedTuple):
    """A use of a name at a line, in the definition `owner` (or -1); `on` is the receiver, if any."""

    relation: str
    name: str
    on: str
    line: int
    owner: int


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the graph is made of, of one file."""

    package: str
    definitions: tuple[DefinitionFact, ...]
    imports: tuple[ImportFact, ...]
    bindings: tuple[BindingFact, ...]
    references: tuple[ReferenceFact, ...]


class NameCount(NamedTuple):
    """How often a file defines and uses a name."""

    name: str
    defined: int
    used: int


def names_of(facts: Facts) -> tuple[NameCount, ...]:
    """Every name that a file defines, uses or imports, for finding the file by it."""
    defined = Counter(item.name for item in facts.definitions)
    used = Counter(item.name for item in facts.references)
    used.update(name for item in facts.imports for name in _imported_names(item))
    return tuple(NameCount(name, defined[name], used[name]) for name in defined.keys() | used.keys())


def _imported_names(item: ImportFact) -> set[str]:
    """The imported name, and the last part of the module, by which its importers are found."""
    return {module_name(item.module), item.original} - {WHOLE, ""}


def module_name(module: str) -> str:
    """`a.b.c`, `./a/b/c.js`, `a::b::c` → `c`."""
    last = module.rstrip("/").replace("\\", "/").replace("::", "/").rpartition("/")[2]
    stem, _, suffix = last.rpartition(".")
    if "/" in module and stem:  # a path: its suffix is that of a file
        return stem
    return suffix or last


def pack(facts: Facts) -> bytes:
    """The stored form."""
    value = [facts.package, facts.definitions, facts.imports, facts.bindings, facts.references]
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), _LEVEL)


def unpack(data: bytes) -> Facts:
    """The facts of a stored form."""
    package, definitions, imports, bindings, references = json.loads(zlib.decompress(data))
    # The same few names come again and again: kept once, they take a third of the memory.
    return Facts(
        package,
        tuple(map(DefinitionFact._make, definitions)),
        tuple(map(ImportFact._make, imports)),
        tuple(BindingFact(owner, intern(target), intern(value)) for owner, target, value in bindings),
        tuple(
            ReferenceFact(intern(relation), intern(name), intern(on), line, owner)
            for relation, name, on, line, owner in references
        ),
    )
