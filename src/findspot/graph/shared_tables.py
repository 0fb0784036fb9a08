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

Views = dict[int, "SourceView | None"]
"""Decoded files by number, which stands for one content of a file."""


@dataclass(slots=True)
class Tables:
    """Finished answers of one generation.

    Graphs of several threads share them, so only finished answers are written; what a graph is still
    working out stays in the graph.
    """

    views: Views
    of_project: dict[Any, Any]
    """What follows from paths and settings alone: it holds no numbers of files and no facts."""
    summaries: dict[int, Summary]
    answers: dict[Any, Any] = field(default_factory=dict)

    def emptied(self) -> Tables:
        """Return tables of the same generation with only what is small and costs much to make."""
        return Tables({}, self.of_project, self.summaries)

    @property
    def crowded(self) -> bool:
        """Whether more is kept than memory allows."""
        return len(self.views) > MOST_FILES or len(self.answers) > MOST_ANSWERS


@dataclass(slots=True)
class _Newest:
    """Holds the tables of a generation."""

    tables: Tables | None = None


@dataclass(slots=True)
class _Lasting:
    """What an index keeps from one generation to the next."""

    asked: Views = field(default_factory=dict)
    """The files that questions decoded."""
    resolved: Views = field(default_factory=dict)
    """Those that the last resolver left."""
    summaries: dict[int, Summary] = field(default_factory=dict)
    project: tuple[object, list[str], list[int], dict[Any, Any]] = (None, [], [], {})
    """`Tables.of_project`, and of which paths and settings it is."""


def tables_of(snapshot: Snapshot) -> Tables:
    """Return the tables of a snapshot's generation, begun with the files of the last one.

    A graph keeps the tables that it was made with.
    """
    here, lasting = snapshot.memo(_Newest), snapshot.memo(_Lasting, lasting=True)
    if here.tables is None or here.tables.crowded:
        here.tables = _tables(snapshot, lasting.asked)
        lasting.asked = here.tables.views
    return here.tables


def own_tables(snapshot: Snapshot) -> Tables:
    """Return tables of a snapshot's generation for one user alone, with files that are decoded already."""
    return _tables(snapshot, snapshot.memo(_Lasting, lasting=True).resolved)


def hand_on(snapshot: Snapshot, tables: Tables) -> None:
    """Leave decoded files to the next user of tables of its own, if they are few."""
    lasting = snapshot.memo(_Lasting, lasting=True)
    lasting.resolved = dict(tables.views) if len(tables.views) <= HANDED_ON else {}


def _tables(snapshot: Snapshot, views: Views) -> Tables:
    files, summaries = snapshot.files.by_id, snapshot.memo(_Lasting, lasting=True).summaries
    kept = [(number, view) for number, view in list(views.items()) if number in files]
    if len(kept) > MOST_FILES:
        kept = kept[len(kept) - MOST_FILES // 2 :]  # those that were read last
    if len(summaries) > 2 * len(files):
        for number in [number for number in list(summaries) if number not in files]:
            summaries.pop(number, None)
    return Tables(dict(kept), project_table(snapshot), summaries)


def project_table(snapshot: Snapshot) -> dict[Any, Any]:
    """Return `Tables.of_project`, the same until a path is added or removed or a file of settings changes.

    It is proportional to the project, and most edits leave it as it is.
    """
    lasting, files = snapshot.memo(_Lasting, lasting=True), snapshot.files
    shape, settings, numbers, table = lasting.project
    if shape is not files.shape:
        settings = [path for path in files.by_path if _SETTINGS.search(path)]
    now = [files.by_path[path] for path in settings]
    if shape is not files.shape or numbers != now:
        table = {}
        lasting.project = files.shape, settings, now, table
    return table
