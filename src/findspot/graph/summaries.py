"""Summaries of files: which names they define, and as what, without decoding them whole.

A common name is defined in thousands of files. Its summary tells whether a file can matter; only then is
the file decoded. Summaries are small, so they stay when the tables of decoded files are emptied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from findspot.core.facts import DefinitionFact, Facts, dotted
from findspot.graph.source_view import SATELLITE_KINDS, VALUE_KINDS


class Names:
    """A set of names in one string: a tenth of the memory of a set of strings."""

    __slots__ = ("_text",)

    def __init__(self, names: Iterable[str]) -> None:
        unique = set(names)
        self._text = "\n".join(("", *unique, "")) if unique else ""

    def __contains__(self, name: str) -> bool:
        return f"\n{name}\n" in self._text


class Summary(NamedTuple):
    """The package of one file, with dots, and the names in it by what they are."""

    package: str
    tops: Names
    """Defined in no type and no function, and adding to no type: exactly those that `is_top` is true of."""
    members: Names
    """Functions and types inside of another definition, or of a type written elsewhere; all methods."""
    declared: Names
    """Defined inside of an interface."""
    extended: Names
    """Types that the file may add members to from outside of them."""
    bases: Names
    """What its types inherit from."""


_NONE = Names(())
_NO_CODE = Summary("", _NONE, _NONE, _NONE, _NONE, _NONE)


def summary_of(facts: Facts | None) -> Summary:
    """Return the summary of a file's facts."""
    if facts is None:
        return _NO_CODE
    rows = list(map(DefinitionFact._make, zip(*facts.defined, strict=True)))
    inside = [row for row in rows if row.scope or row.parent >= 0]
    scopes = {row.scope.rpartition(".")[2] for row in rows} - {""}
    return Summary(
        dotted(facts.package),
        Names(_tops(rows)),
        Names(row.name for row in inside if row.kind not in VALUE_KINDS),
        Names(row.name for row in inside if row.parent >= 0 and rows[row.parent].kind == "interface"),
        Names(scopes.union(row.name for row in rows if row.kind in SATELLITE_KINDS)),
        Names(facts.bases),
    )


def _tops(rows: Sequence[DefinitionFact]) -> Iterator[str]:
    in_modules: list[bool] = []
    """Of each definition: whether everything around it is a module."""
    for row in rows:
        around = row.parent
        in_modules.append(around < 0 or (rows[around].kind == "module" and in_modules[around]))
        if in_modules[-1] and not row.scope and row.kind not in SATELLITE_KINDS:
            yield row.name
