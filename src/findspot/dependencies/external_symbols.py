"""What a project takes from a package: from the module and names of an import to the definition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from findspot.chunk.capsule import doc_comment, signature
from findspot.chunk.splitting import SourceLines
from findspot.core.facts import Relation
from findspot.core.paths import SCHEME
from findspot.dependencies.declarations import Declarations
from findspot.dependencies.package import NPM, PYPI
from findspot.dependencies.package_modules import OpenPackages, PackageFiles, read_definitions
from findspot.graph import Node

_FIRST_LINE_CHARS = 120
_MAX_BASES = 4
"""Packages through which a method that is inherited is followed."""
_MAX_IMPORTS = 50
"""Of one name from another module, followed to the line that assigns it."""
_IMPORT = re.compile(r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]{0,5000}\)|[^\n]*)", re.MULTILINE)


class ExternalSymbol(NamedTuple):
    """A definition in a package."""

    package: str
    path: str
    line: int
    signature: str
    comment: str

    def __str__(self) -> str:
        first = self.comment.strip().partition("\n")[0][:_FIRST_LINE_CHARS]
        shown = " — ".join(filter(None, (self.signature, first)))
        return f"{SCHEME}{self.package}/{self.path}:{self.line} {shown}".rstrip()


def find_symbol(
    open_packages: OpenPackages, module: str, names: Sequence[str], hops: int = 0
) -> ExternalSymbol | None:
    """Return the definition of a chain of names that is imported from a module; declared types first."""
    opened = list(open_packages(module))
    for files in opened:
        declared = Declarations(open_packages).find(files, module, names) if _is_npm(files) else None
        if declared is not None:
            package = declared.files.package.label
            return ExternalSymbol(package, declared.path, declared.line, *declared.shown())
    for files in opened:
        for path, inner in _places(files, module, names):
            node = files.graph.exported(path, inner)
            if node is not None:
                return _symbol(files, node)
        found = _constant(files, module, names) if files.package.ecosystem == PYPI else None
        if found is None and len(names) > 1 and hops < _MAX_BASES:
            found = _inherited(open_packages, files, module, names, hops)
        if found is not None:
            return found
    return None


def _is_npm(files: PackageFiles) -> bool:
    return files.package.ecosystem == NPM


def _places(files: PackageFiles, module: str, names: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the files that may define names, and the names; the first ones may be modules inside of it."""
    for count in range(len(names) if files.package.ecosystem == PYPI else 1):
        inner = ".".join((module, *names[:count]))
        yield from ((path, names[count:]) for path in files.module_files(inner))


def _symbol(files: PackageFiles, node: Node) -> ExternalSymbol:
    file = files.snapshot.files.find(node.path)
    text = files.text(node.path)
    for definition, source in read_definitions(file.language, text) if file is not None else ():
        if definition.row + 1 == node.start_line and definition.name == node.name:
            comment = doc_comment(definition, source, SourceLines(text)) or ""
            shown = signature(definition, source)
            return ExternalSymbol(files.package.label, node.path, node.start_line, shown, comment)
    return ExternalSymbol(files.package.label, node.path, node.start_line, "", "")


def _constant(
    files: PackageFiles, module: str, names: Sequence[str], tried: set[tuple[str, str]] | None = None
) -> ExternalSymbol | None:
    """Return the line that assigns a name of a Python module or declares its type; stubs first.

    `tried` are the modules and names that led here, each of them once: imports may go in circles.
    """
    tried = set() if tried is None else tried
    for path, inner in sorted(_places(files, module, names), key=lambda each: not each[0].endswith(".pyi")):
        text = files.text(path) if len(inner) == 1 else ""
        assigned = re.search(rf"^{re.escape(inner[0])}[ \t]*(?::[^=\n]|=(?!=))[^\n]*", text, re.MULTILINE)
        if assigned is not None:
            line, shown = text.count("\n", 0, assigned.start()) + 1, assigned[0].strip()
            return ExternalSymbol(files.package.label, path, line, shown[:_FIRST_LINE_CHARS], "")
        for source, listed in _IMPORT.findall(text):
            for part in listed.strip("()").split(","):
                original, _, alias = part.partition("#")[0].strip().partition(" as ")
                if (alias or original).strip() == inner[0]:
                    target = _absolute(path, source)
                    if (target, original) in tried or len(tried) >= _MAX_IMPORTS:
                        continue
                    tried.add((target, original))
                    for other in files.module_files(target):
                        node = files.graph.exported(other, [original.strip()])
                        if node is not None:
                            return _symbol(files, node)
                    found = _constant(files, target, [original.strip()], tried)
                    if found is not None:
                        return found
    return None


def _absolute(path: str, module: str) -> str:
    """Return the full name of a module that a file of a Python package imports."""
    dots = len(module) - len(module.lstrip("."))
    if not dots:
        return module
    around = path.split("/")[:-dots]
    return ".".join([*around, *filter(None, [module.lstrip(".")])])


def _inherited(
    open_packages: OpenPackages, files: PackageFiles, module: str, names: Sequence[str], hops: int
) -> ExternalSymbol | None:
    """Return a member that a class of one package inherits from another package."""
    graph = files.graph
    for path, inner in _places(files, module, names[:-1]):
        node = graph.exported(path, inner)
        if node is None:
            continue
        bases = [node, *(edge.target for edge in graph.supertypes(node, transitive=True))]
        for use in (use for base in bases for use in graph.unresolved(base)):
            taken = graph.leftovers.import_of(use) if use.relation is Relation.INHERIT else None
            found = find_symbol(open_packages, taken[0], [*taken[1], names[-1]], hops + 1) if taken else None
            if found is not None:
                return found
    return None
