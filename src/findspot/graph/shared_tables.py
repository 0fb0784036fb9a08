"""What graphs work out, kept for the next graph: files as long as they live, the rest for one generation."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from findspot.graph.summaries import Summary
from findspot.store.snapshot import Snapshot

if TYPE_CHECKING:
    from findspot.graph.source_view import SourceView

MOST_FILES = 3_000
"""Decoded files that are kept, of up to 80 KB each. With more, the next question begins with half as many."""

HANDED_ON = 400
"""Decoded files that resolving one saved file leaves to the next: most are needed again."""

MOST_ANSWERS = 300_000
"""Finished answers that are kept, of 200 to 600 bytes each. With more, the next question begins with none."""

_SETTINGS = re.compile(r"(^|/)(go\.mod|package\.json|Cargo\.toml|[jt]sconfig[^/]*\.json)$")
"""Files whose text says where modules are."""


@dataclass(slots=True)
class Tables:
    """Finished answers of one generation.

    Graphs of several threads share them, so only finished answers are written; what a graph is still
    working out stays in the graph.
    """

    views: dict[int, SourceView | None]
    of_project: dict[Any, Any]
    """What follows from paths and settings alone: it holds no numbers of files and no facts."""
    summaries: dict[int, Summary]
    answers: dict[Any, Any] = field(default_factory=dict)

    def emptied(self) -> Tables:
        """Return tables of the same generation with only what is small and costs much to make."""
        return Tables({}, self.of_project, self.summaries)

    def clear(self) -> None:
        """Drop what `emptied` does not take over, also from whoever still has these tables."""
        self.views.clear()
        self.answers.clear()

    @property
    def crowded(self) -> bool:
        """Whether more is kept than memory allows."""
        return len(self.views) > MOST_FILES or len(self.answers) > MOST_ANSWERS


@dataclass(slots=True)
class _Room:
    """Holds the tables of a generation, or the newest tables of an index."""

    tables: Tables | None = None


def tables_of(snapshot: Snapshot) -> Tables:
    """Return the tables of a snapshot's generation, begun with the files of the last one.

    The number of a file stands for one content of it. A graph keeps the tables that it was made with.
    """
    here, lasting = snapshot.memo(_Room), snapshot.memo(_Room, lasting=True)
    if here.tables is None or here.tables.crowded:
        known = list(lasting.tables.views.copy().items()) if lasting.tables is not None else []
        kept = [(number, view) for number, view in known if number in snapshot.files.by_id]
        if len(kept) > MOST_FILES:
            kept = kept[len(kept) - MOST_FILES // 2 :]  # those that were read last
        here.tables = lasting.tables = _tables(snapshot, dict(kept))
    return here.tables


def own_tables(snapshot: Snapshot) -> Tables:
    """Return tables of a snapshot's generation for one user alone, with files that are decoded already."""
    views = snapshot.memo(_Views, lasting=True)
    return _tables(
        snapshot, {number: view for number, view in views.items() if number in snapshot.files.by_id}
    )


class _Views(dict[int, "SourceView | None"]):
    """Decoded files for the next user of tables of its own."""


def hand_on(snapshot: Snapshot, tables: Tables) -> None:
    """Leave decoded files to the next user of tables of its own, if they are few."""
    views = snapshot.memo(_Views, lasting=True)
    views.clear()
    if len(tables.views) <= HANDED_ON:
        views.update(tables.views)


def _tables(snapshot: Snapshot, views: dict[int, SourceView | None]) -> Tables:
    return Tables(views, project_table(snapshot), _summaries(snapshot))


class _Summaries(dict[int, Summary]):
    """The summaries of an index by file number; a file gets a new number with each new content."""


def _summaries(snapshot: Snapshot) -> dict[int, Summary]:
    held, files = snapshot.memo(_Summaries, lasting=True), snapshot.files.by_id
    if len(held) > 2 * len(files):
        for number in [number for number in list(held) if number not in files]:
            held.pop(number, None)
    return held


class _ProjectTable:
    """Holds the table of a project, and of which paths and settings it is."""

    def __init__(self) -> None:
        self.held: tuple[object, list[str], list[int], dict[Any, Any]] = (None, [], [], {})


def project_table(snapshot: Snapshot) -> dict[Any, Any]:
    """Return `Tables.of_project`, the same until a path is added or removed or a file of settings changes.

    It is proportional to the project, and most edits leave it as it is.
    """
    room = snapshot.memo(_ProjectTable, lasting=True)
    files = snapshot.files
    shape, settings, numbers, table = room.held
    if shape is not files.shape:
        settings = [path for path in files.by_path if _SETTINGS.search(path)]
    now = [files.by_path[path] for path in settings]
    if shape is not files.shape or numbers != now:
        table = {}
        room.held = files.shape, settings, now, table
    return table
