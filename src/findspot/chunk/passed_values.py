"""Functions, methods and types that a file passes, assigns, returns or keeps without calling them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from findspot.core.facts import LITERAL, UNKNOWN, WHOLE, ReferenceFact, Relation

if TYPE_CHECKING:
    from findspot.chunk.references import Reading

SELVES = ("self", "this", "cls")
PASSIVE = frozenset({"constant", "field", "variable"})
"""Kinds that run nothing themselves: what stands in them belongs to what is around them."""

_VARIABLES = PASSIVE | {"property"}
_NAMED_IN_FILE = frozenset({"python", "javascript", "typescript", "tsx"})
"""Languages in which a file defines or imports every name of the project that it uses."""
_ROOT = re.compile(r"[.(\[]")


def root_of(chain: str) -> str:
    """Return the name that a chain starts with."""
    return _ROOT.split(chain, maxsplit=1)[0]


def refer_to_values(reading: Reading) -> None:
    """Record the names that are passed and may be functions, methods or types: variables are not."""
    if not reading.passed:
        return
    bound: dict[tuple[int, str], bool] = {}
    """By owner and name of a variable: whether something is known of its value."""
    imported = {each.local for each in reading.imports}
    for owner, target, value in reading.bindings:
        if owner >= 0 or target not in imported:
            bound[owner, target] = bound.get((owner, target), False) or value not in (UNKNOWN, LITERAL)
    attributes = {target.rpartition(".")[2] for _, target in bound if "." in target}
    names = imported.union(each.name for each in reading.definitions if each.kind not in _VARIABLES)
    is_open = reading.language not in _NAMED_IN_FILE or WHOLE in names
    for node in reading.passed:
        root, dot, member = reading.text(node).partition(".")
        is_variable = root.isidentifier() and not is_open and root not in names
        if (member in attributes and root in SELVES) if dot else is_variable:
            continue
        chain = reading.expression(node)
        on, _, name = chain.rpartition(".")
        root, at = root_of(chain), node.start_byte
        if not name.isidentifier() or UNKNOWN in on or LITERAL in on or (at, "") in reading.references:
            continue
        owner = reading.owner(at)
        if root in SELVES:
            is_kept = bool(on) and (on != root or name not in attributes)
        else:
            known = _value_is_known(reading, bound, owner, root)
            is_kept = root in names or is_open if known is None else bool(on) and known
        if is_kept:
            fact = ReferenceFact(Relation.VALUE, name, on, node.start_point[0] + 1, owner)
            reading.references[at, ""] = fact


def _value_is_known(
    reading: Reading, bound: dict[tuple[int, str], bool], owner: int, name: str
) -> bool | None:
    """Return whether the value of a variable is known; None where no definition around binds the name."""
    while True:
        if (owner, name) in bound:
            return bound[owner, name]
        if owner < 0:
            return None
        owner = reading.owner_of(owner)
