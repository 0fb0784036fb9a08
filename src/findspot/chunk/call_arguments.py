"""The arguments of calls: their number, values that are passed on, and fixtures that tests ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from findspot.chunk.expressions import expression, iterated_values
from findspot.chunk.reading import PASSIVE, Reading
from findspot.core.facts import (
    FIXTURE,
    FIXTURE_DECORATORS,
    LITERAL,
    RETURNED,
    UNKNOWN,
    WHOLE,
    BindingFact,
    DefinitionFact,
    ReferenceFact,
    Relation,
    root_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from findspot.chunk.grammars import Captures

OVERLOADING = frozenset({"java", "csharp"})
"""Languages that distinguish functions of one name by their parameters."""

UNKNOWN_ARITY = (-1, -1)
ANY_NUMBER = 255
"""The most arguments of a function that takes any number."""

_MAX_STEPS = 3
"""From the name of what is called up to the call."""

_VARIADIC = frozenset({"spread_parameter", "params"})


def argument_count(name: Node) -> int:
    """Return how many arguments the call of a name has, or -1."""
    call = name.parent
    for _ in range(_MAX_STEPS):
        if call is None:
            return -1
        given = call.child_by_field_name("arguments")
        if given is not None:
            count = given.named_child_count
            return sum(not child.is_extra for child in given.named_children) if count > 1 else count
        call = call.parent
    return -1


def parameter_range(function: Node) -> tuple[int, int]:
    """Return how many arguments a function takes, at least and at most."""
    listed = function.child_by_field_name("parameters")
    if listed is None:
        return UNKNOWN_ARITY
    least = most = 0
    for child in listed.children:
        words = {child.type, *(token.type for token in child.children)}
        modifiers = (part.text or b"" for part in child.children if "modifier" in part.type)
        words.update(modifier.decode("utf-8", "replace").strip() for modifier in modifiers)
        if child.type == "=" or _VARIADIC & words:
            least -= child.type == "="  # the parameter before it has a default
            most = ANY_NUMBER if _VARIADIC & words else most
        elif child.type.endswith("parameter") and child.type != "receiver_parameter":
            most += most < ANY_NUMBER
            least += "=" not in words and "this" not in words
    return least, most


SELVES = ("self", "this", "cls")
_VARIABLES = PASSIVE | {"property"}
_NAMED_IN_FILE = frozenset({"python", "javascript", "typescript", "tsx"})
"""Languages in which a file defines or imports every name of the project that it uses."""


def refer_to_values(reading: Reading) -> None:
    """Record the names that are passed and may be functions, methods or types: variables are not."""
    if not reading.passed:
        return
    names = _Names(reading)
    for node in reading.passed:
        if names.rule_out(reading.text(node)):
            continue
        on, _, name = reading.expression(node).rpartition(".")
        at = node.start_byte
        if not name.isidentifier() or UNKNOWN in on or LITERAL in on or (at, "") in reading.references:
            continue
        owner = reading.owner(at)
        if names.may_be_passed(owner, on, name):
            fact = ReferenceFact(Relation.VALUE, name, on, reading.row(at) + 1, owner)
            reading.references[at, ""] = fact


class _Names:
    """What the names of a file may be when they are passed."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._bound: dict[tuple[int, str], bool] = {}
        """By owner and name of a variable: whether something is known of its value."""
        imported = {each.local for each in reading.imports}
        for owner, target, value in reading.bindings:
            if owner >= 0 or target not in imported:
                is_known = value not in (UNKNOWN, LITERAL)
                self._bound[owner, target] = self._bound.get((owner, target), False) or is_known
        self._attributes = {target.rpartition(".")[2] for _, target in self._bound if "." in target}
        self._defined = imported.union(d.name for d in reading.definitions if d.kind not in _VARIABLES)
        self._is_open = reading.language not in _NAMED_IN_FILE or WHOLE in self._defined

    def rule_out(self, text: str) -> bool:
        """Return whether the text alone says that something is a variable: expressions are slow to read."""
        root, dot, member = text.partition(".")
        if dot:
            return member in self._attributes and root in SELVES
        return not self._is_open and root not in self._defined and root.isidentifier()

    def may_be_passed(self, owner: int, on: str, name: str) -> bool:
        root = root_of(on or name)
        if root in SELVES:
            return bool(on) and (on != root or name not in self._attributes)
        while (owner, root) not in self._bound:
            if owner < 0:  # nothing around binds the name
                return self._is_open or root in self._defined
            owner = self._reading.owner_of(owner)
        return bool(on) and self._bound[owner, root]


def used_bindings(reading: Reading, references: tuple[ReferenceFact, ...]) -> Iterator[BindingFact]:
    """Yield the bindings that a lookup can come upon: of attributes, types and modules, and of names used."""
    receivers = {on: root_of(on) for on in {reference.on for reference in references}}
    roots = {receivers[reference.on] or reference.name for reference in references}
    values = {binding.value for binding in reading.bindings}
    roots.update(root_of(part) for value in values for part in value.split("|"))
    kinds = {place: d.kind for d, place in reading.places.items()}
    for binding in reading.bindings:
        if _is_used(binding, kinds.get(binding.owner), roots):
            yield binding


def _is_used(binding: BindingFact, kind: str | None, roots: set[str]) -> bool:
    _, target, value = binding
    head, dot, _ = target.partition(".")
    if dot:
        return head in SELVES and value != UNKNOWN
    if kind in ("function", "method"):
        return target[0] in "({[" or target in roots
    return value not in (UNKNOWN, LITERAL) or target in roots


_TUPLES = frozenset({"pattern_list", "tuple_pattern"})
"""What several variables of Python are assigned by: parts of one value."""


def several_values(reading: Reading, node: Node, count: int, kind: str) -> Iterator[str]:
    """Yield what each of several variables is made from."""
    values = node.named_children if node.type in ("expression_list", "tuple") else [node]
    if len(values) == count:
        yield from map(reading.expression, values)
        return
    value = reading.expression(values[0]) if values else UNKNOWN
    for place in range(1, count + 1):
        if place == 1 and kind not in _TUPLES:  # the first of several results is that of the call itself
            yield value
        else:
            yield f"{value[:-1]}{place})" if value.endswith("()") and "|" not in value else UNKNOWN


def bind_several(reading: Reading, group: Node, match: Captures) -> None:
    """Bind variables to as many values, to the results of the only one, or to what is iterated over."""
    targets = group.children_by_field_name("name") or group.named_children
    if "each" in match:
        values = iterated_values(match["each"][0], reading.source)
    else:
        values = several_values(reading, match["values"][0], len(targets), group.type)
    for node, value in zip(targets, values, strict=False):
        target = reading.text(node)
        if target != "_" and (target.isidentifier() or target.startswith("self.")) and target.count(".") <= 1:
            reading.bindings[BindingFact(reading.owner(node.start_byte), target, value)] = None


_NAMED_FIXTURE = re.compile(r"\bname\s*=\s*[\"']([A-Za-z_]\w*)[\"']")
_PARAMETRIZED = re.compile(r"\(\s*(?:argnames\s*=\s*)?(\[[^]]*]|\([^)]*\)|\"[^\"]*\"|'[^']*')")
_WORD = re.compile(r"[A-Za-z_]\w*")
_ALL = "*"
"""In place of a parameter's name: any of them."""

_MANAGERS = frozenset({"contextmanager", "asynccontextmanager"})
"""Decorators of functions whose `yield` gives what `with` binds."""

References = dict[tuple[int, str], ReferenceFact]


def may_test(path: str, source: bytes) -> bool:
    """Return whether a file may hold tests, fixtures or context managers; most do not, and are spared it."""
    return "test" in path or b"fixture" in source or b"contextmanager" in source


@dataclass(slots=True)
class Requests:
    """What bears on fixtures in one file, gathered while it is read, settled at its end."""

    parameters: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """By definition and name: the byte and the line."""
    yields: list[tuple[int, str]] = field(default_factory=list)
    options: list[tuple[int, str, str]] = field(default_factory=list)
    """Of decorators: the definition below, the decorator, its arguments."""

    def add(self, reading: Reading, capture: str, node: Node, match: Captures) -> None:
        """Note a parameter, a `yield`, or the arguments of a decorator."""
        text, at = reading.text(node), node.start_byte
        if capture == "parameter" and text not in SELVES:
            self.parameters[reading.owner(at), text] = at, reading.row(at) + 1
        elif capture == "yield":
            self.yields.append((reading.owner(at), text))
        elif capture == "options":
            above = match["decorate"][0]
            self.options.append((reading.decorated(above), reading.text(above), text))

    def settle(
        self,
        definitions: Sequence[DefinitionFact],
        references: References,
        bindings: dict[BindingFact, None],
    ) -> None:
        """Bind parameters to fixtures, and let fixtures return what they yield."""
        above = [fact for fact in references.values() if fact.relation == Relation.DECORATE]
        fixtures = {fact.owner for fact in above if fact.name in FIXTURE_DECORATORS}
        self._ask(definitions, fixtures, references, bindings)
        self._give(fixtures | {fact.owner for fact in above if fact.name in _MANAGERS}, bindings)
        for owner, decorator, options in self.options:
            named = _NAMED_FIXTURE.search(options)
            if named and owner in fixtures and decorator.rpartition(".")[2] in FIXTURE_DECORATORS:
                fixture = definitions[owner]
                bindings[BindingFact(fixture.parent, FIXTURE + named[1], fixture.name)] = None

    def _ask(
        self,
        definitions: Sequence[DefinitionFact],
        fixtures: set[int],
        references: References,
        bindings: dict[BindingFact, None],
    ) -> None:
        """Bind what tests and fixtures have to be given; what declares a type keeps it."""
        taken = set(self._parametrized())
        for (owner, name), (at, line) in self.parameters.items():
            if owner not in fixtures and not _is_test(definitions, owner):
                continue
            if not any({(place, name), (place, _ALL)} & taken for place in _around(definitions, owner)):
                references[at, FIXTURE] = ReferenceFact(Relation.CALL, name, FIXTURE, line, owner)
                untyped = BindingFact(owner, name, UNKNOWN)
                if untyped in bindings or definitions[owner].name == name:
                    bindings.pop(untyped, None)
                    bindings[untyped._replace(value=FIXTURE + name)] = None

    def _parametrized(self) -> Iterator[tuple[int, str]]:
        """Yield the parameters that a decorator gives values to, whatever fixtures have their names."""
        for owner, decorator, options in self.options:
            if decorator.rpartition(".")[2] == "parametrize":
                names = _PARAMETRIZED.match(options)
                yield from ((owner, name) for name in (_WORD.findall(names[1]) if names else (_ALL,)))

    def _give(self, fixtures: set[int], bindings: dict[BindingFact, None]) -> None:
        """Bind what a fixture yields: an element of what it declares to return."""
        yields = [(owner, text) for owner, text in self.yields if owner in fixtures]
        yielding = {owner for owner, _ in yields}
        for fact in [each for each in bindings if each.target == RETURNED and each.owner in yielding]:
            del bindings[fact]
            if fact.value.startswith(":"):
                element = "|".join(part.removeprefix("[]") for part in fact.value[1:].split("|"))
                bindings[BindingFact(fact.owner, RETURNED, f":{element}")] = None
        for owner, text in yields:
            given = text.removeprefix("yield").strip()
            value = UNKNOWN if not given or given.startswith("from ") else expression(given)
            if value not in (UNKNOWN, LITERAL):
                bindings[BindingFact(owner, RETURNED, value)] = None


def _is_test(definitions: Sequence[DefinitionFact], owner: int) -> bool:
    """Return whether a definition is a function that is run as a test, by its name and place."""
    if owner < 0 or not definitions[owner].name.startswith("test") or definitions[owner].kind == "class":
        return False
    return all(
        definitions[place].kind == "class" for place in _around(definitions, definitions[owner].parent)
    )


def _around(definitions: Sequence[DefinitionFact], place: int) -> Iterator[int]:
    """Yield a definition, and what encloses it."""
    while place >= 0:
        yield place
        place = definitions[place].parent
