"""Which names mean something else after a file has changed: what references in other files may depend on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from findspot.core.facts import (
    ALIASED,
    DEFAULT,
    FIXTURE,
    RETURNED,
    WHOLE,
    DefinitionFact,
    Facts,
    Relation,
    importable_names,
    unpack,
)
from findspot.core.model import SkipReason
from findspot.core.sqlite import Connection
from findspot.store.edge_rows import PEND_ALL
from findspot.store.fact_rows import FactRows
from findspot.store.index_rows import SkipRows

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_MANY = 400
"""Files that one change may reach: beyond that, following it costs more than resolving all files."""
_SETTINGS = re.compile(r"(^|/)(go\.mod|package\.json|[jt]sconfig[^/]*\.json)$")
"""Files that say where modules are: what they change cannot be followed by names."""
_MARKS = frozenset("([")
"""What names of results, parameters, type parameters and declarations start with."""
_LOCAL_KINDS = frozenset({"function", "method", "constructor", "test"})
"""Kinds whose variables nothing outside of them can see."""


class Statement(NamedTuple):
    """Something that a file says and other files may depend on."""

    names: frozenset[str]
    """What it is found by: the names whose meaning it decides."""
    text: str
    """What it says, without its line."""


def changed_names(path: str, before: Facts | None, after: Facts | None) -> frozenset[str]:
    """Return the names whose meaning a new revision of a file may change for other files."""
    old = Counter(_statements(path, before)) if before is not None else Counter()
    new = Counter(_statements(path, after)) if after is not None else Counter()
    different = {*(old - new), *(new - old)}
    if before is None or after is None or before.package != after.package:
        different.update(old, new, [Statement(importable_names(path), "")])
    return frozenset().union(*(statement.names for statement in different))


def names_depending_on(path: str, facts: Facts, changed: frozenset[str]) -> frozenset[str]:
    """Return the names whose meaning in this file follows from one of the changed names."""
    follow = (s for s in _statements(path, facts) if not changed.isdisjoint(_IDENTIFIER.findall(s.text)))
    return frozenset().union(*(statement.names for statement in follow))


def _statements(path: str, facts: Facts) -> Iterator[Statement]:
    definitions = facts.definitions
    qualified = _qualified(definitions)
    inside: dict[int, set[str]] = {}
    for fact, name in zip(definitions, qualified, strict=True):
        inside.setdefault(fact.parent, set()).add(fact.name)
        text = f"{fact.kind} {name} in {fact.scope} {fact.least} {fact.most} {fact.hidden}"
        yield Statement(frozenset({fact.name}), text)
    yield from _import_statements(path, facts)
    for owner, target, value in facts.bindings:
        names = _bound_names(path, definitions, owner, target)
        if names:
            yield Statement(names, f"{qualified[owner] if owner >= 0 else ''}.{target} = {value}")
    for reference in facts.references:
        owner = reference.owner
        if reference.relation in (Relation.INHERIT, Relation.DECORATE) and owner >= 0:
            affected = {definitions[owner].name}
            if reference.relation == Relation.INHERIT:  # any of its members may override something else
                affected |= inside.get(owner, set())
            text = f"{qualified[owner]} {reference.relation} {reference.on}.{reference.name}"
            yield Statement(frozenset(affected), text)


def _import_statements(path: str, facts: Facts) -> Iterator[Statement]:
    everything = frozenset(fact.name for fact in facts.definitions) | importable_names(path)
    for fact in facts.imports:
        names = everything if fact.local == WHOLE else frozenset({fact.local})
        yield Statement(names, f"import {fact.local} {fact.module.replace('/', ' ')} {fact.original}")


def _bound_names(
    path: str, definitions: tuple[DefinitionFact, ...], owner: int, target: str
) -> frozenset[str]:
    """Return the names that a binding decides for other files; none for a local variable."""
    attribute = target.partition(".")[2]
    if attribute:
        return frozenset({attribute})
    if target[:1] == "{":  # a field of a struct without a name
        return frozenset({target.partition("}")[2]})
    if target in (RETURNED, ALIASED) or target[:1] in _MARKS:
        return frozenset({definitions[owner].name}) if owner >= 0 else frozenset()
    if target == DEFAULT:
        return importable_names(path) | {DEFAULT}
    if owner >= 0 and definitions[owner].kind in _LOCAL_KINDS:
        return frozenset()
    return frozenset({target.removeprefix(FIXTURE)})


def _qualified(definitions: tuple[DefinitionFact, ...]) -> list[str]:
    names: list[str] = []
    for fact in definitions:
        names.append(f"{names[fact.parent]}.{fact.name}" if fact.parent >= 0 else fact.name)
    return names


class ChangedMeanings:
    """The names that a transaction gives another meaning, and the files that this makes pending."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._facts = FactRows(db)
        self._names: frozenset[str] = frozenset()
        self._everywhere = False
        self._matters = db.execute("SELECT 1 FROM edge_sources LIMIT 1").fetchone() is not None
        """Whether any file is resolved: while an index is built, all are pending."""
        self._packages = self._empty_packages()

    def _empty_packages(self) -> set[str]:
        """Return the paths of empty files that make a folder a package: they are not indexed."""
        skips = SkipRows(self._db).all(SkipReason.EMPTY) if self._matters else ()
        return {skip.path for skip in skips if "__init__.py" in skip.path}

    def note(self, path: str, replaced: int | None, after: bytes | None = None) -> None:
        """Note that a file is about to be replaced, by its number, or removed."""
        if self._matters:
            self._everywhere = self._everywhere or bool(_SETTINGS.search(path))
            before = self._facts.of_file(replaced) if replaced is not None else None
            if before is not None or after is not None:
                self._names |= changed_names(path, before, unpack(after) if after is not None else None)

    def settle(self) -> None:
        """Make the files pending whose references may lead elsewhere now."""
        before, self._packages = self._packages, self._empty_packages()
        self._names |= frozenset().union(*map(importable_names, before ^ self._packages))
        if self._names or self._everywhere:
            reached = None if self._everywhere else self._reached(self._names)
            statement = "INSERT OR IGNORE INTO pending VALUES (?)"
            if reached is None:
                self._db.execute(PEND_ALL)
            else:
                self._db.executemany(statement, ((number,) for number in reached))
        self._names, self._everywhere = frozenset(), False

    def _reached(self, changed: frozenset[str]) -> set[int] | None:
        """Return the files that mention a changed name, or one that follows from it; None for too many."""
        reached: dict[int, tuple[str, Facts]] = {}
        known, fresh = changed, changed
        while fresh:
            for number, path in self._mentioning(fresh):
                facts = self._facts.of_file(number) if number not in reached else None
                if facts is not None:
                    reached[number] = (path, facts)
            if len(reached) > _MANY:
                return None
            following = (names_depending_on(path, facts, fresh) for path, facts in reached.values())
            fresh = frozenset().union(*following) - known
            known |= fresh
        return set(reached)

    def _mentioning(self, names: Iterable[str]) -> list[tuple[int, str]]:
        select = "SELECT file_id, path FROM names JOIN files ON files.id = file_id WHERE name = ?"
        return [row for name in names for row in self._db.execute(select, (name,))]
