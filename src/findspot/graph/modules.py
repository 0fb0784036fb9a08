"""Find the files of the project that the module of an import is."""

from __future__ import annotations

import posixpath

from findspot.core.facts import WHOLE, ImportFact, dotted
from findspot.graph.languages import FINDERS
from findspot.graph.languages.language import ModuleFinder
from findspot.graph.memo import remembered
from findspot.graph.source_view import HEADERS, Def, SourceView, is_top
from findspot.graph.sources import Sources


class Modules:
    """The modules of one generation of a project, found by the rules of each language."""

    def __init__(self, sources: Sources) -> None:
        self._finders = {kind: kind(sources.project) for kind in FINDERS}
        self.memo = sources.memo

    def resolve(self, view: SourceView, module: str) -> tuple[str, ...]:
        """Return the paths of a module as a file names it; none where it is not of the project."""
        return self.memo.once(("module", view.module_scope, module), (), self._find_files, view, module)

    def _find_files(self, view: SourceView, module: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.finder(view).files(view.path, module)))

    def inner(self, view: SourceView, fact: ImportFact) -> str | None:
        """Return the file of a module that an import names as a member of a folder."""
        module = self.finder(view).inner_module(fact)
        return next(iter(self.resolve(view, module)), None) if module is not None else None

    def folder(self, view: SourceView, fact: ImportFact) -> str | None:
        """Return the folder that a module without a file of its own is."""
        key = ("folder", view.module_scope, fact.module, fact.original)
        return self.memo.once(key, None, self.finder(view).folder, view.path, fact)

    def member(self, folder: str, name: str) -> tuple[str | None, str | None]:
        """Return the file, or else the folder, that a name of a folder is."""
        for finder in self._finders.values():
            file, below = finder.member(folder, name)
            if file or below:
                return file, below
        return None, None

    def finder(self, view: SourceView) -> ModuleFinder:
        return self._finders[view.language.finder]


class Packages:
    """Top-level definitions by package, folder and project."""

    def __init__(self, sources: Sources, modules: Modules) -> None:
        self._sources = sources
        self._modules = modules
        self.memo = sources.memo

    def visible(self, name: str, view: SourceView) -> list[Def]:
        """Return the definitions of a name that a file sees unsaid: one, or the overloads of one."""
        shares = view.language.shares
        if shares == "file":
            return []
        folder = f"{posixpath.dirname(view.path)}:{view.package}"
        place = {"folder": folder, "package": view.package}.get(shares, "")
        here = f"{shares}:{place}:{view.id if shares != 'folder' else ''}"
        key = ("visible", view.language.family, name, here)
        return self.memo.once(key, [], self._visible, name, view, shares)

    def _visible(self, name: str, view: SourceView, shares: str) -> list[Def]:
        if shares == "folder":
            here = self._sources.tops(name, view.language.family, posixpath.dirname(view.path))
            return [d for d in here if d.file.package == view.package]  # several for several systems
        found = self._sources.tops(name, view.language.family)
        if shares == "package":
            packages = {dotted(view.package), *_starred(view)}
            found = [d for d in found if package_of(d) in packages]
        nearest = _nearest(found, view)
        if not nearest and view.language.by_name and all(d.is_type for d in found):
            return found[:1]  # opened again in other files
        return nearest

    def named(self, fact: ImportFact, view: SourceView) -> list[Def]:
        """Return what an import by package and name brings in."""
        if fact.original == WHOLE:
            return []
        given = (view.language.family, fact.module, fact.original)
        return self.memo.once(("imported", *given), [], self._in_package, *given)

    def _in_package(self, family: str, package: str, name: str) -> list[Def]:
        module = dotted(package)
        found = []
        around_it = self._sources.defined(name, family, lambda summary: module.startswith(summary.package))
        for definition in around_it:
            around = [outer.name for outer in definition.around if outer.kind != "module"]
            whole = ".".join([package_of(definition), *reversed(around)]).strip(".")
            if module == whole or (around and module == f"{whole}.companion"):
                found.append(definition)
        return found

    def imports_called(self, view: SourceView, name: str) -> list[ImportFact]:
        """Return the imports of folders whose package has this name, whatever their paths end in."""
        return self._by_package(view).get(name, [])

    @remembered({})
    def _by_package(self, view: SourceView) -> dict[str, list[ImportFact]]:
        found: dict[str, list[ImportFact]] = {}
        for fact in view.facts.imports:
            folder = self._modules.folder(view, fact)
            for path in self._modules.finder(view).files_in(folder)[:1] if folder is not None else ():
                package = self._sources.at(path)
                if package is not None:
                    found.setdefault(package.package, []).append(fact)
        return found

    def types(self, path: str, view: SourceView) -> list[Def]:
        """Return the types that a package and a name are the path of."""
        module, _, name = path.rpartition(".")
        return [d for d in self.named(ImportFact("", module, name, 0), view) if d.is_type] if module else []

    def used_of(self, fact: ImportFact, folder: str | None, view: SourceView) -> list[SourceView]:
        """Of an import of a whole package or folder, the files that define something used here."""
        if folder is not None or view.language.folders_are_packages:
            by_package = view.language.folders_are_packages and fact.local != WHOLE
            on = view.references.names_on
            names = on.get(fact.local, set()) if by_package else view.references.names
            return self._used_in(folder, names, view)
        found = {}
        for name in filter(str.isidentifier, view.references.names):
            for d in self._sources.tops(name, view.language.family):
                if d.file is not view and package_of(d) == dotted(fact.module):
                    found[d.file.id] = d.file
        return [found[file_id] for file_id in sorted(found)]

    def _used_in(self, folder: str | None, names: set[str], view: SourceView) -> list[SourceView]:
        sources, family = self._sources, view.language.family
        paths = sources.project.by_folder.get(folder, ()) if folder is not None else ()
        numbers = (sources.files.by_path[path] for path in paths)
        inside = sources.accepted(numbers, family, lambda s: any(name in s.tops for name in names))
        others = (v for v in inside if v is not view and not v.package.endswith("_test"))
        return [v for v in others if any(is_top(d) for name in names for d in v.tops.get(name, ()))]


def packages_of(view: SourceView) -> set[str]:
    """Return the packages that a file adds to."""
    inside = {package_of(d) for group in view.tops.values() for d in group if d.kind == "module"}
    inside |= {dotted(d.qualified) for group in view.tops.values() for d in group if d.kind == "module"}
    return ({dotted(view.package)} | inside) - {""}


def package_of(definition: Def) -> str:
    """Return the package of its file, and the namespaces around it."""
    spaces = [outer.name for outer in definition.around if outer.kind == "module"]
    parts = (definition.file.package, *reversed(spaces))
    return ".".join(dotted(part) for part in parts if part)


def _starred(view: SourceView) -> set[str]:
    return {dotted(fact.module) for fact in view.imports.get(WHOLE, ())}


def _nearest(found: list[Def], view: SourceView) -> list[Def]:
    """Return definitions before declarations; then the same package, then the same folder, if that tells."""
    defined = [d for d in found if not d.file.path.endswith(HEADERS)]
    found = defined or found
    own = {*packages_of(view), *_starred(view)}
    folder = posixpath.dirname(view.path)
    for keep in (lambda d: package_of(d) in own, lambda d: posixpath.dirname(d.file.path) == folder):
        if len({d.file.id for d in found}) > 1:
            found = [d for d in found if keep(d)] or found
    return found if len({d.file.id for d in found}) <= 1 else []
