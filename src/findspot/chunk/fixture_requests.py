"""Fixtures that tests request by the names of their parameters, gathered while a file is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from findspot.chunk.expressions import expression
from findspot.core.facts import (
    FIXTURE,
    FIXTURE_DECORATORS,
    LITERAL,
    RETURNED,
    UNKNOWN,
    BindingFact,
    DefinitionFact,
    ReferenceFact,
    Relation,
)

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
