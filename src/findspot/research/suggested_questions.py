"""What to ask a new index first: names of the project whose search finds what defines them.

Each is tried before it is suggested, and the function has callers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from findspot.core.model import LIKELY_FROM, Query
from findspot.graph import Graph
from findspot.rank.roles import Role, role_of
from findspot.search.reader import IndexReader
from findspot.store.records import StoredChunk
from findspot.text.tokens import parts

_CANDIDATES = 300
"""Names that are looked at, those that most files use first."""
_TRIED = 20
_CALLERS = range(2, 13)
"""Fewer callers are no answer; more are not read."""
_CERTAIN = 0.8
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{3,60}")
"""Public, and safe to paste into any shell."""
_FUNCTION_KINDS = frozenset({"function", "method"})


def suggest_first(reader: IndexReader) -> tuple[str | None, str | None]:
    """Return words to search for, and the name of a function whose callers are worth a look."""
    return next(iter(suggest_searches(reader, 1)), None), _called(reader)


def suggest_searches(reader: IndexReader, count: int) -> list[str]:
    """Return up to so many searches whose best hit is the definition that they name.

    A name of several words is of the project; one word may be of the language.
    """
    found: list[str] = []
    for several in (True, False):
        names = (row for row in _central_names(reader) if (len(parts(row[0])) > 1) is several)
        questions = ((f"how does {name} work", chunk) for name, _, chunk in islice(names, _TRIED))
        fitting = (question for question, chunk in questions if _finds(reader, question, chunk))
        found += islice(fitting, count - len(found))
    return found


def _finds(reader: IndexReader, question: str, chunk: StoredChunk) -> bool:
    hits = reader.search(Query(question, limit=1)).hits
    shown = bool(hits) and hits[0].path == chunk.path and hits[0].span.start <= chunk.end_line
    return shown and hits[0].span.end >= chunk.start_line and hits[0].score > LIKELY_FROM


def _called(reader: IndexReader) -> str | None:
    """Return the function with the most callers among those with few enough to read."""
    graph, best = Graph(reader.snapshot), (1, "")
    names = (name for name, kind, _ in _central_names(reader) if kind in _FUNCTION_KINDS)
    for name in islice(names, _TRIED):
        nodes = graph.find(name)
        calls = graph.callers(nodes[0]) if len(nodes) == 1 else []
        callers = {call.source for call in calls if role_of(call.path) is Role.SOURCE}
        if len(callers) in _CALLERS and all(call.confidence >= _CERTAIN for call in calls):
            best = max(best, (len(callers), name))
    return best[1] or None


def _central_names(reader: IndexReader) -> Iterator[tuple[str, str, StoredChunk]]:
    """Yield the names that most files use first, each with its kind and where it is defined."""
    snapshot = reader.snapshot
    for name, _ in snapshot.facts.widely_used(_CANDIDATES):
        for definition in snapshot.symbols.definitions([name.lower()]) if _NAME.fullmatch(name) else ():
            chunk = snapshot.chunks.by_number([definition.number])[definition.number]
            is_source = role_of(chunk.path) is Role.SOURCE and "/test" not in f"/{chunk.path}"
            if definition.display == name and is_source:  # what tests use most is not what a project is about
                yield name, definition.kind, chunk
                break
