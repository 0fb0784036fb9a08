"""References that lead to no definition: why each of them may still mean one of its name."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

from findspot.core.facts import ReferenceFact, Relation
from findspot.graph.edges import Node
from findspot.graph.outgoing import Outgoing
from findspot.graph.resolve import AMBIGUOUS, EXTERNAL
from findspot.graph.sources import SourceView

_ROOT_END = re.compile(r"[.(\[]")


class Doubt(IntEnum):
    """Why a reference may mean a definition of its name; the numbers are stored."""

    SEVERAL = 1
    """The receiver is unknown, and several definitions have the name."""
    RECEIVER = 2
    """The receiver is unknown."""
    UNBOUND = 3
    """Nothing defines or imports the name there."""
    EXTERNAL = 4
    """The receiver looks external."""


class Doubtful(NamedTuple):
    """A reference in doubt, by where it is written."""

    source: Node
    relation: Relation
    line: int
    doubt: Doubt


def doubt_about(outgoing: Outgoing, view: SourceView, reference: ReferenceFact) -> Doubt | None:
    """Return why a reference may mean some definition of its name; None where it is known not to."""
    resolution = outgoing.resolver.resolve(view, reference)
    if resolution.targets or reference.relation not in (Relation.CALL, Relation.DECORATE):
        return None
    if resolution.reason == AMBIGUOUS:
        return Doubt.SEVERAL
    if resolution.reason != EXTERNAL:
        return Doubt.RECEIVER
    if _is_imported(outgoing, view, reference):
        return None
    return Doubt.EXTERNAL if reference.on else Doubt.UNBOUND


def _is_imported(outgoing: Outgoing, view: SourceView, reference: ReferenceFact) -> bool:
    """Return whether an import from outside of the project brings in what a reference begins with."""
    root = _ROOT_END.split(reference.on or reference.name, maxsplit=1)[0]
    modules = outgoing.evaluator.modules
    return any(not modules.resolve(view, fact.module) for fact in view.imports.get(root, ()))
