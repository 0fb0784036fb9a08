"""What one file says about names, before anything is resolved: plain tuples, kept as packed columns.

Expressions are text in one small notation for all languages: a name, then any of `.member`,
`()` for a call and `[]` for an element: `self.session.get().items[]`. A leading `:` marks a
declared type (`:Session`, `:[]Session` for a container of them, `:()Session` for a function that
returns one, `:{12:4}` for the struct without a name at that place), a leading `@` what a fixture
hands to a test; what does not fit is `?`. A chain may start at a value of a type, `<:[]Session>[]`,
take a later one of several results, `open(2)`, and what a function is given for a parameter: `open(>0)`.
`:{=:Session,?;:Item}` is a function that takes a session and something unknown, and returns an item.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any, NamedTuple

UNKNOWN = "?"
"""An expression that the notation cannot say."""

LITERAL = "'"
"""A string, number, list or other value whose members no project defines."""

RETURNED = "()"
"""The name that what a function returns is bound to."""

SIGNATURE = "("
"""The name that the parameters and results of a method are bound to, where interfaces compare them."""

OBJECT = "{}"
"""What a function returns that returns an object literal; `()` and a name are bound to its properties."""

GETTER = "(get)"
"""Bound in a method that is called by naming it."""

PARAMETERS = "(>)"
"""The name that the declared types of a function's parameters are bound to: `?,:Handler,*:[]Item`, the last
one for the rest of the arguments."""

FUNCTION = "{="
"""What the type of a function starts with; its parameters and, after `;`, its result follow."""

STATIC = "(static)"
"""Bound in a method of a class that its objects do not have."""

ALIASED = "="
"""The name that the type behind a type alias is bound to."""

DEFAULT = "default"
"""The name of what a module exports as a whole."""

FIXTURE = "@"
"""Before a name: what the fixture of that name gives. As a receiver: the name is that of a fixture."""

FIXTURE_DECORATORS = frozenset({"fixture", "yield_fixture"})
"""What stands above a fixture, whatever it is imported from."""

LOADED = "$"
"""Before a name made from that of a module: the module, loaded inside of an expression."""

WHOLE = "*"
"""In place of an imported name: the module itself, or all of its names."""

TYPING, LOCAL = "typing", "local"
"""Marks of imports that do not run with their file: for type checkers only, and inside a function."""

MAX_BYTES = 64 << 20
"""Of the facts of one file, stored uncompressed: a hundred times those of a long one."""

_LEVEL = 1
"""Of compression: four fifths of what the best level gains, at a tenth of its time."""


_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def split_outside(text: str, mark: str) -> list[str]:
    """Return the parts of notation between the marks that stand in no braces."""
    if "{" not in text:
        return text.split(mark)
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == mark and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


_STEP = re.compile(r"\(>?\d*\)|\[\]|\.[\w$@#]+")


@lru_cache(maxsize=20_000)
def root_of(chain: str) -> str:
    first = _STEP.search(chain)
    return chain[: first.start()] if first else chain


@lru_cache(maxsize=20_000)
def steps_of(steps: str) -> tuple[str, ...]:
    """Return the attributes, calls and subscripts of a chain without its root."""
    return tuple(_STEP.findall(steps))


class Relation(StrEnum):
    """How one definition refers to another."""

    CALL = "call"
    TYPE_USE = "type_use"
    IMPORT = "import"
    INHERIT = "inherit"
    OVERRIDE = "override"
    DECORATE = "decorate"
    VALUE = "value"
    """A function, method or type that is passed, assigned, returned or kept, without being called."""


class DefinitionFact(NamedTuple):
    """Something defined: its lines, and the place of the definition around it in the list (or -1)."""

    name: str
    kind: str
    line: int
    end_line: int
    parent: int
    scope: str = ""
    """The type it belongs to, where it is written outside of that type."""
    least: int = -1
    """How many arguments a function takes at least; -1 in languages without overloads."""
    most: int = -1
    hidden: int = 0
    """1 if its own file alone sees it, as with `static` in C."""


class ImportFact(NamedTuple):
    """A name brought into a file; a `local` of `*` brings in all names of the module."""

    local: str
    module: str
    original: str
    line: int
    mark: str = ""
    """`TYPING`, `LOCAL`, or nothing where it runs with the file."""


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
    arguments: int = -1
    """How many arguments a call has; -1 in languages without overloads."""


_INHERIT = Relation.INHERIT.value
_NAME, _ON = ReferenceFact._fields.index("name"), ReferenceFact._fields.index("on")


class Facts:
    """All that the graph is made of, of one file; what is stored is read part by part, when asked for."""

    package: str
    definitions: tuple[DefinitionFact, ...]
    imports: tuple[ImportFact, ...]
    bindings: tuple[BindingFact, ...]
    references: tuple[ReferenceFact, ...]
    defined: tuple[tuple[Any, ...], ...]
    """The definitions by column."""
    columns: tuple[tuple[Any, ...], ...]
    """The references by column: a question about one name makes tuples of few of them."""
    bases: frozenset[str]
    """What its types inherit from, by name: what the subtypes of a type are soon found by."""

    def __init__(
        self,
        package: str,
        definitions: Iterable[DefinitionFact],
        imports: Iterable[ImportFact],
        bindings: Iterable[BindingFact],
        references: Iterable[ReferenceFact],
    ) -> None:
        self.package = package
        self.definitions = tuple(definitions)
        self.imports = tuple(imports)
        self.bindings = tuple(bindings)
        self.references = tuple(references)
        self.defined = _columns(self.definitions, DefinitionFact)
        self.columns = _columns(self.references, ReferenceFact)
        named = zip(self.columns[0], self.columns[_NAME], strict=True)
        self.bases = frozenset([name for relation, name in named if relation == _INHERIT])

    @classmethod
    def stored(cls, parts: Sequence[str]) -> Facts:
        facts = cls.__new__(cls)
        facts.__dict__["_parts"] = parts
        return facts

    def __getattr__(self, name: str) -> Any:
        """Return a part of what is stored; those that are asked for again and again are kept."""
        if name not in _READERS or "_parts" not in self.__dict__:
            raise AttributeError(name)
        if name == "references":
            return _rows(ReferenceFact, self.columns)
        if name == "definitions":
            return _rows(DefinitionFact, self.defined)
        place, read = _READERS[name]
        value = read(json.loads(self.__dict__["_parts"][place]))
        if name in _KEPT:
            setattr(self, name, value)
        return value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Facts) and all(
            getattr(self, part) == getattr(other, part) for part in _READERS
        )

    __hash__ = None  # type: ignore[assignment]  # how Python marks a class as unhashable; mypy does not know it


def _shared(column: Sequence[Any]) -> tuple[Any, ...]:
    """Return a column whose strings are those of other files, where they are equal: most names recur."""
    try:
        return tuple(map(sys.intern, column))
    except TypeError:  # numbers
        return tuple(column)


def _all_shared(columns: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(map(_shared, columns))


def _rows(kind: Any, columns: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Return the rows of columns as named tuples, made without a call of Python for each."""
    return tuple(map(partial(tuple.__new__, kind), zip(*columns, strict=True)))


def _shared_rows(kind: Any, columns: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    return _rows(kind, _all_shared(columns))


_READERS: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "package": (0, str),
    "definitions": (1, partial(_shared_rows, DefinitionFact)),
    "defined": (1, _all_shared),
    "imports": (2, partial(_shared_rows, ImportFact)),
    "bindings": (3, partial(_shared_rows, BindingFact)),
    "references": (4, partial(_shared_rows, ReferenceFact)),
    "columns": (4, _all_shared),
    "bases": (5, frozenset),
}
"""Where each part stands in the stored form, and what is made of it."""

_KEPT = frozenset({"package", "imports", "columns", "bases"})


def names_of(facts: Facts) -> tuple[tuple[str, int, int], ...]:
    """Return every name that a file defines, uses, imports or mentions, for finding the file by it: with how
    often it is defined and used.
    """
    defined = Counter([item.name for item in facts.definitions])
    used = Counter(facts.columns[_NAME])
    imported = ({module_name(item.module), item.original} - {WHOLE, ""} for item in facts.imports)
    used.update([name for names in imported for name in names])
    texts = {*facts.columns[_ON], *(item.value for item in facts.bindings)}
    mentioned = _IDENTIFIER.findall(" ".join((*texts, *(item.module for item in facts.imports))))
    names = list({*defined, *used, *mentioned})
    return tuple((name, defined.get(name, 0), used.get(name, 0)) for name in names)


def module_name(module: str) -> str:
    """`a.b.c`, `./a/b/c.js`, `a::b::c` → `c`."""
    last = module.rstrip("/").replace("\\", "/").replace("::", "/").rpartition("/")[2]
    stem, _, suffix = last.rpartition(".")
    if "/" in module and stem:  # a path: its suffix is that of a file
        return stem
    return suffix or last


def dotted(package: str) -> str:
    """Return a package as names with dots between them, however its language writes it."""
    return package.replace("\\", ".").replace("::", ".").strip(".")


_INDEXES = frozenset({"__init__", "index", "mod", "lib", "main"})
"""Stems of files that are imported by the name of their folder."""


def importable_names(path: str) -> frozenset[str]:
    """Return what imports call a file: its stem, or its folder where the stem is that of an index."""
    stem = module_name(f"/{path}").partition(".")[0]
    folder = path.rpartition("/")[0].rpartition("/")[2]
    return frozenset({stem, folder} - {""} if stem in _INDEXES else {stem})


def pack(facts: Facts) -> bytes:
    """Return the stored form: one line per part, stored by columns, which are small and quick to read."""
    parts: list[object] = [
        facts.package,
        facts.defined,
        _columns(facts.imports, ImportFact),
        _columns(facts.bindings, BindingFact),
        facts.columns,
        sorted(facts.bases),
    ]
    lines = "\n".join(json.dumps(part, separators=(",", ":")) for part in parts).encode()
    if len(lines) > MAX_BYTES:
        raise ValueError("more facts than one file may have")
    return zlib.compress(lines, _LEVEL)


def _columns(rows: Sequence[tuple[Any, ...]], kind: type[NamedTuple]) -> tuple[tuple[Any, ...], ...]:
    """Tuples of strings and numbers: the garbage collector looks at them once, and never again."""
    return tuple(zip(*rows, strict=True)) or ((),) * len(kind._fields)


def unpack(data: bytes) -> Facts:
    """Return the facts of a stored form, which may come from anyone; ValueError where it is not one.

    A few kilobytes can stand for gigabytes.
    """
    try:
        inflater = zlib.decompressobj()
        inflated = inflater.decompress(data, MAX_BYTES)
    except (zlib.error, TypeError) as error:
        raise ValueError(f"facts cannot be decompressed: {error}") from error
    if not inflater.eof or not inflated:
        raise ValueError("facts are cut short, or larger than those of any file")
    return Facts.stored(inflated.decode().split("\n"))
