"""What a project takes from a package: from the module and names of an import to the definition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from findspot.chunk.capsule import doc_comment, signature
from findspot.chunk.splitting import SourceLines
from findspot.core.facts import Relation
from findspot.core.paths import SCHEME
from findspot.dependencies.package import NPM, PYPI
from findspot.dependencies.package_modules import OpenPackages, PackageFiles, read_definitions
from findspot.graph import Node

_FIRST_LINE_CHARS = 120
_MAX_BASES = 4
"""Packages through which a method that is inherited is followed."""
_MAX_IMPORTS = 50
"""Of one name from another module, followed to the line that assigns it."""
_IMPORT = re.compile(r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]{0,5000}\)|[^\n]*)", re.MULTILINE)

_DEFAULT = "default"
_WHOLE = r"^(?:declare )?(export default\b|export =|module\.exports\s*=)"
_NAME = r"\b(?:(?:function\*?|class|const|let|var|interface|type|enum|namespace)\s+|exports\.)({}(?![\w$]))"
_TYPED_MEMBER = r"(?:^|[\s{{;,])({}\??\s*[(<:])"
_MEMBER = r"(?:^|[\s{{;,.])({}\s*[:=](?!=))"
"""What declares a name in JavaScript and TypeScript; in plain JavaScript, a name with a bracket is a call."""


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
    """Return the definition of a chain of names that is imported from a module."""
    opened = list(open_packages(module))
    for files in opened:
        for path, inner in _places(files, module, names):
            node = files.graph.exported(path, inner)
            if node is not None:
                return _symbol(files, node)
        by_text = _constant if files.package.ecosystem == PYPI else _declared
        found = by_text(files, module, names)
        if found is None and len(names) > 1 and hops < _MAX_BASES:
            found = _inherited(open_packages, files, module, names, hops)
        if found is not None:
            return found
    return None


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


def _declared(files: PackageFiles, module: str, names: Sequence[str]) -> ExternalSymbol | None:
    """Return the line of a JavaScript or TypeScript module that declares a name, or a member of it."""
    if files.package.ecosystem != NPM or any("(" in name for name in names[:-1]):
        return None
    of_default = names[0] == _DEFAULT
    words = [re.escape(name.partition("(")[0]) for name in (names[1:] if of_default else names)]
    for path in files.module_files(module):
        text = files.text(path)
        member = _TYPED_MEMBER if path.endswith(".ts") else _MEMBER
        start, end = 0, len(text)
        for number, word in enumerate(words or [""]):
            patterns = (_NAME, member) if number or of_default else (_NAME,)
            tried = (pattern.format(word) for pattern in (patterns if words else (_WHOLE,)))
            places = (re.compile(each, re.MULTILINE).search(text, start, end) for each in tried)
            found = next(filter(None, places), None)
            if found is None:
                break
            start = found.start(1)
            line_end = text.find("\n", start)
            is_whole = text.count("{", start, line_end) == text.count("}", start, line_end)
            end = line_end if is_whole else text.find("\n}", start)  # of what is declared at the margin
        else:
            line = text.count("\n", 0, start) + 1
            shown = text.split("\n")[line - 1].strip()[:_FIRST_LINE_CHARS]
            return ExternalSymbol(files.package.label, path, line, shown, "")
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
