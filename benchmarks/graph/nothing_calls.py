"""Count how often `callers` says that nothing calls a symbol, though the text of the project calls it.

python -m benchmarks.graph.nothing_calls FOLDER... [--symbols 200]

Each FOLDER is a checkout. A symbol is the name of a function, method or type of the project. It is sampled
where some line has the name and an opening bracket after it, in a file of the same language, outside of
comments, strings and definitions of that name. The sample has the same number of symbols from each language.
An answer without callers and without possible places claims that nothing calls the symbol; each such claim is
listed with the lines that call something of that name.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.graph.measure import every_node
from findspot import Engine
from findspot.graph.edges import Node
from findspot.graph.graph import Graph
from findspot.graph.source_view import TYPE_KINDS
from findspot.project import Project
from findspot.research.findings import Aim, Inquiry

KINDS = frozenset({"function", "method"}) | TYPE_KINDS - {"impl", "extension", "module"}
LANGUAGES = {
    "Python": (".py",),
    "JavaScript": (".js", ".jsx", ".mjs", ".cjs"),
    "TypeScript": (".ts", ".tsx"),
    "Go": (".go",),
    "Java": (".java",),
    "C": (".c", ".h"),
    "Rust": (".rs",),
    "Kotlin": (".kt",),
    "C#": (".cs",),
}
_OF_SUFFIX = {suffix: language for language, suffixes in LANGUAGES.items() for suffix in suffixes}
_QUOTED = r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\""
_TEXT = {
    "Python": re.compile(rf"'''.*?'''|\"\"\".*?\"\"\"|{_QUOTED}|#[^\n]*", re.DOTALL),
    "": re.compile(rf"/\*.*?\*/|//[^\n]*|`(?:\\.|[^`\\])*`|{_QUOTED}", re.DOTALL),
}
_CALL = re.compile(r"(?<![\w$@#])([A-Za-z_$][\w$]*)\s*\(")
_DEFINES = re.compile(r"\b(?:def|func|function|fn|fun|class|interface|record)\b[^=;]*\Z")


class Symbol(NamedTuple):
    """A name, and lines that call something of that name."""

    project: Path
    language: str
    name: str
    places: tuple[str, ...]


def symbols(folder: Path, nodes: list[Node]) -> Iterator[Symbol]:
    """Yield the names of a project that are called in the text of a file of their language."""
    defined = {(node.path, node.start_line, node.name) for node in nodes}
    names: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        if node.kind in KINDS:
            names[_OF_SUFFIX.get(Path(node.path).suffix, "")].add(node.name)
    calls: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted({node.path for node in nodes}):
        language = _OF_SUFFIX.get(Path(path).suffix, "")
        for line, text in enumerate(_code(folder / path, language).split("\n"), 1):
            for call in _CALL.finditer(text):
                named = call[1] in names[language] and (path, line, call[1]) not in defined
                if named and not _DEFINES.search(text[: call.start()]):
                    calls[language, call[1]].append(f"{path}:{line}")
    for (language, name), places in calls.items():
        if language:
            yield Symbol(folder, language, name, tuple(places))


def _code(path: Path, language: str) -> str:
    """Return a file with blanks in place of its comments and strings."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return _TEXT.get(language, _TEXT[""]).sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def claims(project: Project, symbol: Symbol) -> bool:
    """Return whether the answer says that nothing calls a symbol."""
    found = project.research(Inquiry(relation=Aim.CALLERS, symbol=symbol.name, depth=1))
    return not found.edges and not found.possible


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--symbols", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["FINDSPOT_HOME"] = home
        engine = Engine({"respectGitignore": False, "secretScan": "off"})
        projects = {folder: engine.project(folder) for folder in options.folders}
        known: dict[str, list[Symbol]] = defaultdict(list)
        for folder, project in projects.items():
            project.update()
            with project.store.snapshot() as snapshot:
                for symbol in symbols(folder, every_node(Graph(snapshot))):
                    known[symbol.language].append(symbol)
        each = -(-options.symbols // len(known))
        sample = [
            s for found in known.values() for s in random.Random(7).sample(found, min(each, len(found)))
        ]
        false = [symbol for symbol in sample if claims(projects[symbol.project], symbol)]
        engine.close()
    for language in known:
        asked = sum(symbol.language == language for symbol in sample)
        wrong = sum(symbol.language == language for symbol in false)
        sys.stdout.write(f"{language:12} {asked} symbols, {wrong} claims that nothing calls it\n")
    for symbol in false:
        sys.stdout.write(f"    {symbol.language} {symbol.name}: {', '.join(symbol.places[:3])}\n")


if __name__ == "__main__":
    main()
