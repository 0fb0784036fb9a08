"""The files of one snapshot, decoded when they are asked for, and found by the names that they define."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from findspot.core.facts import Facts
from findspot.graph.languages import language_of
from findspot.graph.memo import Memo, remembered
from findspot.graph.project_paths import ProjectPaths
from findspot.graph.shared_tables import Tables, tables_of
from findspot.graph.source_view import Def, SourceView, is_top
from findspot.graph.summaries import Summary, summary_of
from findspot.store.snapshot import Snapshot


def _named(view: SourceView, name: str) -> list[Def]:
    """Return the definitions of a name in a file, as far as code can refer to them."""
    return [d for d in view.definitions if d.name == name and not d.titled]


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
        self.definers = Definers(self)

    def view(self, file_id: int) -> SourceView | None:
        """Return a file's facts, the same object to every thread; None where it is no code."""
        views = self.tables.views
        if file_id in views:
            return views[file_id]
        return self.decoded(file_id, self.stored_facts.of_file(file_id))

    def decoded(self, file_id: int, facts: Facts | None) -> SourceView | None:
        """Return a file made from facts that are read already."""
        stored = self.files.by_id.get(file_id)
        return self.tables.views.setdefault(file_id, SourceView(stored, facts) if stored and facts else None)

    def at(self, path: str) -> SourceView | None:
        """Return the facts of the file at a path."""
        file_id = self.files.by_path.get(path)
        return self.view(file_id) if file_id is not None else None

    def naming(self, name: str) -> list[SourceView]:
        """Return the files that define, import or refer to a name."""
        views = (self.view(number) for number in self.numbers_naming(name))
        return [view for view in views if view is not None]

    def defining(
        self, name: str, family: str | None = None, at: Callable[[str], bool] = _anywhere
    ) -> list[Def]:
        """Return every definition of a name, in the languages of one family and at some paths."""
        definitions = []
        for file_id in self.numbers_defining(name, at):
            view = self.view(file_id) if family is None or self.family_of(file_id) == family else None
            if view is not None:
                definitions += _named(view, name)
        return definitions

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

    def family_of(self, file_id: int) -> str | None:
        """Return the family of a file's language."""
        file = self.files.by_id.get(file_id)
        return language_of(file.language).family if file is not None else None

    def all_views(self) -> Iterator[SourceView]:
        """Yield every file that the graph knows."""
        for file in self.files.files:
            view = self.view(file.id)
            if view is not None:
                yield view


class Definers:
    """Finds the definitions of a name that can matter: of each file a summary is read, of few the rest."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.memo = sources.memo

    @remembered([])
    def tops(self, name: str, family: str, folder: str | None = None) -> list[Def]:
        """Return the definitions of a name for which `is_top` holds, in one folder if one is given."""
        found = self._defined(name, family, lambda summary: name in summary.tops, folder=folder)
        return [definition for definition in found if is_top(definition)]

    def methods(self, name: str, family: str, at: Callable[[str], bool]) -> Iterator[Def]:
        """Yield the definitions of a name at some paths, of files where one of them may be a method."""
        return self._defined(name, family, lambda summary: name in summary.members, at)

    def callable(self, name: str, family: str) -> Iterator[Def]:
        """Yield the definitions of a name, of files where one of them may be called by it."""
        return self._defined(name, family, lambda summary: name in summary.tops or name in summary.members)

    def declared(self, name: str, family: str) -> Iterator[Def]:
        """Yield the definitions of a name, of files where one of them is in an interface."""
        return self._defined(name, family, lambda summary: name in summary.declared)

    def in_package(self, name: str, package: str, family: str) -> Iterator[Def]:
        """Yield the definitions of a name in files whose package is this one or one around it."""
        return self._defined(name, family, lambda summary: package.startswith(summary.package))

    def with_tops(self, names: Iterable[str], paths: Iterable[str], family: str) -> Iterator[SourceView]:
        """Yield the files at some paths that define one of these names at the top."""
        numbers = (self._sources.files.by_path[path] for path in paths)
        return self._accepted(numbers, family, lambda summary: any(name in summary.tops for name in names))

    def extending(self, name: str, family: str, folder: str | None = None) -> Iterator[SourceView]:
        """Yield the files that may add members to a type of this name from outside of it."""
        numbers = self._sources.numbers_naming(name, folder)
        return self._accepted(numbers, family, lambda summary: name in summary.extended)

    def inheriting(self, name: str, family: str, among: Iterable[int] | None = None) -> Iterator[SourceView]:
        """Yield the files with a type that inherits from something of this name: all, or some of them."""
        numbers = self._sources.numbers_naming(name) if among is None else among
        return self._accepted(numbers, family, lambda summary: name in summary.bases)

    def _defined(
        self,
        name: str,
        family: str,
        accept: Callable[[Summary], bool],
        at: Callable[[str], bool] = _anywhere,
        folder: str | None = None,
    ) -> Iterator[Def]:
        for view in self._accepted(self._sources.numbers_defining(name, at, folder), family, accept):
            yield from _named(view, name)

    def _accepted(
        self, numbers: Iterable[int], family: str, accept: Callable[[Summary], bool]
    ) -> Iterator[SourceView]:
        """Yield the files of a family whose summary is accepted; the others are not decoded."""
        sources = self._sources
        views, summaries = sources.tables.views, sources.tables.summaries
        for number in numbers:
            if sources.family_of(number) != family:
                continue
            view, facts, summary = views.get(number), None, summaries.get(number)
            if summary is None:
                facts = view.facts if view is not None else sources.stored_facts.of_file(number)
                summary = summaries[number] = summary_of(facts)
            if accept(summary):
                view = view or (sources.decoded(number, facts) if facts else sources.view(number))
                if view is not None:
                    yield view
