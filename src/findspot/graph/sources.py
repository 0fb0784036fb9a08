"""The files of one snapshot, decoded when they are asked for, and found by the names that they define.

What is worked out is kept for the next graph: files as long as they live, the rest for one generation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from findspot.graph.languages import language_of
from findspot.graph.memo import Memo, remembered
from findspot.graph.project_paths import ProjectPaths
from findspot.graph.source_view import Def, SourceView, is_top
from findspot.graph.summaries import Summary, summary_of
from findspot.store.snapshot import Snapshot

MOST_FILES = 3_000
"""Decoded files that are kept, of up to 80 KB each. With more, the next question begins with half as many."""

HANDED_ON = 400
"""Decoded files that resolving leaves to whoever comes next, if they are no more: most are needed again."""

MOST_ANSWERS = 300_000
"""Finished answers that are kept, of 200 to 600 bytes each. With more, the next question begins with none."""

_SETTINGS = re.compile(r"(^|/)(go\.mod|package\.json|Cargo\.toml|[jt]sconfig[^/]*\.json)$")
"""Files whose text says where modules are."""

Views = dict[int, SourceView | None]
"""Decoded files by their number: a file gets a new one when its content changes."""


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

    views: Views = field(default_factory=dict)
    summaries: dict[int, Summary] = field(default_factory=dict)
    project: tuple[object, list[str], list[int], dict[Any, Any]] = (None, [], [], {})
    """`Tables.of_project`, and of which paths and settings it is."""


def tables_of(snapshot: Snapshot) -> Tables:
    """Return the tables of a snapshot's generation, begun with the files of the last one.

    A graph keeps the tables that it was made with.
    """
    here = snapshot.memo(_Newest)
    if here.tables is None or here.tables.crowded:
        here.tables = own_tables(snapshot)
        snapshot.memo(_Lasting, lasting=True).views = here.tables.views
    return here.tables


def own_tables(snapshot: Snapshot) -> Tables:
    """Return tables of a snapshot's generation for one user alone, with files that are decoded already."""
    lasting, files = snapshot.memo(_Lasting, lasting=True), snapshot.files.by_id
    kept = [(number, view) for number, view in list(lasting.views.items()) if number in files]
    if len(kept) > MOST_FILES:
        kept = kept[len(kept) - MOST_FILES // 2 :]  # those that were read last
    summaries = lasting.summaries
    if len(summaries) > 2 * len(files):
        for number in [number for number in list(summaries) if number not in files]:
            summaries.pop(number, None)
    return Tables(dict(kept), project_table(snapshot), summaries)


def hand_on(snapshot: Snapshot, tables: Tables) -> None:
    """Leave the files that a user of its own tables decoded to the next one, if they are few."""
    kept = snapshot.memo(_Lasting, lasting=True).views
    for number, view in tables.views.items() if len(tables.views) <= HANDED_ON else ():
        kept.setdefault(number, view)  # questions compare the definitions that they have


def project_table(snapshot: Snapshot) -> dict[Any, Any]:
    """Return `Tables.of_project`, the same until a path is added or removed or a file of settings changes.

    It is proportional to the project, and most edits leave it as it is.
    """
    lasting, files = snapshot.memo(_Lasting, lasting=True), snapshot.files
    shape, settings, numbers, table = lasting.project
    if shape != files.shape:
        settings = [path for path in files.by_path if _SETTINGS.search(path)]
    now = [files.by_path[path] for path in settings]
    if shape != files.shape or numbers != now:
        table = {}
        lasting.project = files.shape, settings, now, table
    return table


Accept = Callable[[Summary], bool]
"""Returns by its summary whether a file can matter."""


def _anywhere(path: str) -> bool:
    del path
    return True


class Sources:
    """The files of one snapshot, each decoded when it is first asked for."""

    def __init__(self, snapshot: Snapshot, tables: Tables | None = None) -> None:
        self.tables = tables or tables_of(snapshot)
        self.memo = Memo(self.tables.answers)
        self.project = ProjectPaths(snapshot, self.tables.of_project)
        self.files = snapshot.files
        self.stored_facts = snapshot.facts
        self.symbols, self.chunks = snapshot.symbols, snapshot.chunks

    def view(self, file_id: int) -> SourceView | None:
        """Return a file's facts, the same object to every thread; None where it is no code."""
        views = self.tables.views
        if file_id not in views:
            stored, facts = self.files.by_id.get(file_id), self.stored_facts.of_file(file_id)
            views.setdefault(file_id, SourceView(stored, facts) if stored and facts else None)
        return views[file_id]

    def at(self, path: str) -> SourceView | None:
        """Return the facts of the file at a path."""
        file_id = self.files.by_path.get(path)
        return self.view(file_id) if file_id is not None else None

    def all_views(self) -> Iterator[SourceView]:
        """Yield every file that the graph knows."""
        return filter(None, (self.view(file.id) for file in self.files.files))

    def naming(self, name: str) -> list[SourceView]:
        """Return the files that define, import or refer to a name."""
        views = (self.view(number) for number in self.numbers_naming(name))
        return [view for view in views if view is not None]

    def defining(
        self, name: str, family: str | None = None, at: Callable[[str], bool] = _anywhere
    ) -> list[Def]:
        """Return every definition of a name, in the languages of one family and at some paths."""
        numbers = self.numbers_defining(name, at)
        views = (self.view(n) for n in numbers if family is None or self._family_of(n) == family)
        return [d for view in views if view is not None for d in _named(view, name)]

    def numbers_defining(
        self, name: str, at: Callable[[str], bool] = _anywhere, folder: str | None = None
    ) -> list[int]:
        """Return the numbers of the files at some paths that define a name; in one folder if one is given."""
        files, (first, last) = self.files.by_id, self.project.range_of(folder)
        here = files if folder is None else self.project.numbers_in(folder)
        numbers = self.stored_facts.files_defining(name, first, last)
        return self.files.sorted_by_path(n for n in numbers if n in here and at(files[n].path))

    def numbers_naming(self, name: str, folder: str | None = None) -> list[int]:
        """Return the numbers of the files that define, import or refer to a name; in one folder if given."""
        first, last = self.project.range_of(folder)
        here = self.files.by_id if folder is None else self.project.numbers_in(folder)
        naming = self.stored_facts.files_naming(name, first, last)
        return self.files.sorted_by_path(number for number, _, _ in naming if number in here)

    def _family_of(self, file_id: int) -> str | None:
        file = self.files.by_id.get(file_id)
        return language_of(file.language).family if file is not None else None

    @remembered([])
    def tops(self, name: str, family: str, folder: str | None = None) -> list[Def]:
        """Return the definitions that other files see at the top of a file, in one folder if one is given."""
        found = self.defined(name, family, lambda summary: name in summary.tops, folder=folder)
        return [definition for definition in found if is_top(definition) and not definition.is_hidden]

    def inheriting(self, name: str, family: str, among: Iterable[int] | None = None) -> Iterator[SourceView]:
        """Yield the files with a type that inherits from something of this name: all, or some of them."""
        numbers = self.numbers_naming(name) if among is None else among
        return self.accepted(numbers, family, lambda summary: name in summary.bases)

    def defined(
        self,
        name: str,
        family: str,
        accept: Accept,
        at: Callable[[str], bool] = _anywhere,
        folder: str | None = None,
    ) -> Iterator[Def]:
        """Yield the definitions of a name, of files whose summary is accepted."""
        for view in self.accepted(self.numbers_defining(name, at, folder), family, accept):
            yield from _named(view, name)

    def accepted(self, numbers: Iterable[int], family: str, accept: Accept) -> Iterator[SourceView]:
        """Yield the files of a family whose summary is accepted; the others are not decoded."""
        views, summaries = self.tables.views, self.tables.summaries
        for number in numbers:
            if self._family_of(number) != family:
                continue
            if number not in summaries:
                known = views.get(number)
                summaries[number] = summary_of(known.facts if known else self.stored_facts.of_file(number))
            view = self.view(number) if accept(summaries[number]) else None
            if view is not None:
                yield view


def _named(view: SourceView, name: str) -> list[Def]:
    """Return the definitions of a name in a file, as far as code can refer to them."""
    return [d for d in view.definitions if d.name == name and not d.titled]
