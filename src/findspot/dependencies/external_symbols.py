"""What a project takes from a package: from the module and names of an import to the definition."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from findspot.chunk.grammars import ParseTimeoutError, grammar_for
from findspot.chunk.splitting import SourceLines
from findspot.chunk.symbols import doc_comment, read_symbols, signature
from findspot.core.facts import Relation
from findspot.core.paths import SCHEME
from findspot.dependencies.package import NPM, PYPI
from findspot.dependencies.package_modules import OpenPackages, PackageFiles
from findspot.graph import Node

_FIRST_LINE_CHARS = 120
_MAX_BASES = 4
"""Packages through which a method that is inherited is followed."""

_DEFAULT = "default"
_WHOLE = r"^(?:declare )?(export default\b|export =|module\.exports\s*=)"
_NAME = r"\b(?:(?:function\*?|class|const|let|var|interface|type|enum|namespace)\s+|exports\.)({}(?![\w$]))"
_TYPED_MEMBER = r"(?:^|[\s{{;,])({}\??\s*[(<:])"
_MEMBER = r"(?:^|[\s{{;,.])({}\s*[:=](?!=))"
"""What declares a name in JavaScript and TypeScript; in plain JavaScript, a name with a bracket is a call."""


class ExternalSymbol(NamedTuple):
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
        found = _declared(files, module, names)
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
    """Return the definition of a node, with its signature and comment where it can be read again."""
    shown = comment = ""
    file, text = files.snapshot.files.find(node.path), files.text(node.path)
    grammar = grammar_for(file.language) if file is not None else None
    if grammar is not None:
        with contextlib.suppress(ParseTimeoutError):
            source, lines = text.encode("utf-8", "surrogatepass"), SourceLines(text)
            matches, _ = grammar.matches(grammar.parse(source).root_node)
            symbols = read_symbols(grammar, matches, source, lines)
            for each in symbols.definitions:
                if (each.row + 1, each.name) == (node.start_line, node.name):
                    shown, comment = signature(each, source), doc_comment(each, source, lines) or ""
            symbols.release()
    return ExternalSymbol(files.package.label, node.path, node.start_line, shown, comment)


def _declared(files: PackageFiles, module: str, names: Sequence[str]) -> ExternalSymbol | None:
    """Return the line of a JavaScript or TypeScript module that declares a name, or a member of it."""
    if files.package.ecosystem != NPM or any("(" in name for name in names[:-1]):
        return None
    for path in files.module_files(module):
        text = files.text(path)
        member = _TYPED_MEMBER if path.endswith(".ts") else _MEMBER
        start = _declaration(text, [name.partition("(")[0] for name in names], member)
        if start is not None:
            line = text.count("\n", 0, start) + 1
            shown = text.split("\n")[line - 1].strip()[:_FIRST_LINE_CHARS]
            return ExternalSymbol(files.package.label, path, line, shown, "")
    return None


def _declaration(text: str, names: Sequence[str], member: str) -> int | None:
    """Return where a text declares the last of some names, each inside of what the one before declares."""
    of_default = names[0] == _DEFAULT
    words = names[1:] if of_default else names
    if not words:
        whole = re.search(_WHOLE, text, re.MULTILINE)
        return whole.start(1) if whole is not None else None
    start, end = 0, len(text)
    for number, word in enumerate(words):
        patterns = (_NAME, member) if number or of_default else (_NAME,)
        tried = (re.compile(each.format(re.escape(word)), re.MULTILINE) for each in patterns)
        found = next(filter(None, (pattern.search(text, start, end) for pattern in tried)), None)
        if found is None:
            return None
        start = found.start(1)
        line_end = text.find("\n", start)
        is_whole = text.count("{", start, line_end) == text.count("}", start, line_end)
        end = line_end if is_whole else text.find("\n}", start)  # of what is declared at the margin
    return start


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
