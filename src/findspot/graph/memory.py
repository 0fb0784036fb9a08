"""What graphs have worked out, for the next graph: files as long as they live, the rest a generation."""

from __future__ import annotations

from dataclasses import dataclass

from findspot.core.facts import Relation
from findspot.graph.evaluate import Evaluator
from findspot.graph.model import Edge
from findspot.graph.reach import Reach
from findspot.graph.resolve import Resolver, Target
from findspot.graph.sources import Def, Sources, SourceView
from findspot.store.snapshot import Snapshot

MOST_FILES = 3_000
"""Read files that are kept, of up to 80 KB each. With more, the next question begins with half as many."""

MOST_REFERENCES = 300_000
"""Resolved references that are kept, of 600 bytes each. With more, the next question begins with none."""


class Memory:
    """What was worked out in one generation; definitions in it are those of its own views."""

    def __init__(self, snapshot: Snapshot, views: dict[int, SourceView | None]) -> None:
        self.views = views
        self.resolver = Resolver(Evaluator(Sources(snapshot, views)))
        self.reach = Reach(self.resolver.evaluator.sources, self.resolver.evaluator.modules)
        self.incoming: dict[tuple[Def, Relation], tuple[Edge, ...]] = {}
        self.named: dict[tuple[str, Relation, int], dict[Target, list[Edge]]] = {}
        self.own: dict[Def, dict[SourceView, frozenset[str]]] = {}
        self.calling: dict[Def, frozenset[str]] = {}
        self.calls: dict[tuple[Def, int], tuple[Edge, ...]] = {}

    @property
    def crowded(self) -> bool:
        return len(self.views) > MOST_FILES or self.resolver.resolved > MOST_REFERENCES


@dataclass(slots=True)
class _Room:
    """Holds the memory of a generation, or the newest memory of an index."""

    memory: Memory | None = None


def memory_of(snapshot: Snapshot) -> Memory:
    """That of a snapshot's generation, begun with the files of the last one.

    The number of a file stands for one content of it. A graph keeps the memory that it was made with.
    """
    here, lasting = snapshot.memo(_Room), snapshot.memo(_Room, lasting=True)
    if here.memory is None or here.memory.crowded:
        known = list(lasting.memory.views.copy().items()) if lasting.memory is not None else []
        kept = [(number, view) for number, view in known if number in snapshot.files.by_id]
        if len(kept) > MOST_FILES:
            kept = kept[len(kept) - MOST_FILES // 2 :]  # those that were read last
        here.memory = lasting.memory = Memory(snapshot, dict(kept))
    return here.memory
