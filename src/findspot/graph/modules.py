"""Find the files of the project that the module of an import is."""

from __future__ import annotations

import posixpath

from findspot.core.facts import ImportFact
from findspot.graph.languages import FINDERS
from findspot.graph.languages.language import ModuleFinder
from findspot.graph.sources import Sources, SourceView


class Modules:
    """The modules of one generation of a project, found by the rules of each language."""

    def __init__(self, sources: Sources) -> None:
        self._finders = {kind: kind(sources) for kind in FINDERS}
        self._files: dict[tuple[str, str, str], tuple[str, ...]] = sources.tables.table("module files")

    def resolve(self, view: SourceView, module: str) -> tuple[str, ...]:
        """Return the paths of a module as a file names it; none where it is not of the project."""
        key = (view.language.family, posixpath.dirname(view.path), module)
        if key not in self._files:
            self._files[key] = tuple(dict.fromkeys(self._finder(view).files(view.path, module)))
        return self._files[key]

    def inner(self, view: SourceView, fact: ImportFact) -> str | None:
        """Return the file of a module that an import names as a member of a folder."""
        module = self._finder(view).inner_module(fact)
        return next(iter(self.resolve(view, module)), None) if module is not None else None

    def folder(self, view: SourceView, fact: ImportFact) -> str | None:
        """Return the folder that a module without a file of its own is."""
        return self._finder(view).folder(view, fact)

    def submodule(self, view: SourceView, name: str) -> str | None:
        """Return the file of a module inside of the package that a file is."""
        return self._finder(view).submodule(view.path, name)

    def member(self, folder: str, name: str) -> tuple[str | None, str | None]:
        """Return the file, or else the folder, that a name of a folder is."""
        for finder in self._finders.values():
            file, below = finder.member(folder, name)
            if file or below:
                return file, below
        return None, None

    def _finder(self, view: SourceView) -> ModuleFinder:
        return self._finders[view.language.finder]
