"""Whether the first hit of an exact-name search carries that name.

python -m benchmarks.labels --sets FOLDER --mirrors FOLDER [--names N] [--seed N] [--save NAME] [--json FILE]

Names are drawn from five projects of code_semble. They come from Python's own parser and, for other
languages, from plain patterns, not from Findspot's parser: functions, methods and types outside tests and
vendored code. Names that anything else in the project has, whatever the case, are left out. The query is the
bare name. In each of two views, the structured content and the text:

- other label: the first hit names another symbol as its own
- no label: it names none
- defined: its range holds the line of the definition
- other label of defined: it holds the definition and is labelled as something else: a wrong label
- line shown: the source shown of it has the line of the definition
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.mcp_answers import Passage, Project, serving
from benchmarks.sets import Case, by_checkout, load, options, rounded, save

PROJECTS = ("spf13/cobra", "pallets/flask", "tokio-rs/axum", "trpc/trpc", "google/gson")
VIEWS = ("structured", "text")
LEAST_CHARS = 4
COUNTED = ("other_label", "no_label", "defined", "other_label_of_defined", "line_shown")

_JAVA_MODIFIER = r"(?:(?:public|protected|private|static|final|abstract|synchronized|default)\s+)"
_RUST_VISIBLE = r"^\s*(?:pub(?:\([^)]*\))?\s+)?"
_DEFINITIONS = {
    ".go": r"^func\s+(?:\([^)]*\)\s*)?(\w+)|^type\s+(\w+)",
    ".rs": rf"{_RUST_VISIBLE}(?:const\s+|async\s+|unsafe\s+)*fn\s+(\w+)"
    rf"|{_RUST_VISIBLE}(?:struct|enum|trait|type)\s+(\w+)",
    ".ts": r"^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\*?\s+(\w+)"
    r"|^\s*(?:export\s+)?(?:abstract\s+)?(?:class|interface|enum)\s+(\w+)"
    r"|^(?:export\s+)?type\s+(\w+)\s*[=<]"
    r"|^(?:export\s+)?const\s+(\w+)\s*=\s*(?:async\s*)?(?:\(.*(?:=>|[(,{])$|function\b|<)",
    ".java": rf"^\s*{_JAVA_MODIFIER}*(?:class|interface|enum|@interface)\s+(\w+)"
    rf"|^\s+{_JAVA_MODIFIER}+(?:<[^>]+>\s+)?[\w.<>\[\],?\s]+\s(\w+)\(",
}
_DEFINITIONS[".tsx"] = _DEFINITIONS[".ts"]
_OTHERS = re.compile(
    r"^\s*(?:[\w.<>\[\],?*&]+\s+)*(\w+)\s*(?:<[^>]*>)?\([^;]*\{\s*$"  # a method without modifiers
    r"|^\s*(?:readonly\s+|pub\s+)?(\w+)\??\s*:\s"  # a field
    r"|^\s*(?:static\s+|final\s+|private\s+)*[\w.<>\[\],?]+\s+(\w+)\s*(?:=.*|;)$"
)
"""Whatever else may have a name: too many lines rather than too few."""
_RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]\s*\n(?:#.*\n)*mod\s+\w+\s*\{", re.MULTILINE)
_LEFT_OUT = re.compile(r"(?:^|[/_.])(?:tests?|spec|__tests__|vendor)(?:[/_.]|$)", re.IGNORECASE)
_PART = re.compile(r"\s*(?:>|::|\.|#|/)\s*")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Definition:
    """A name and the one line that defines it."""

    name: str
    path: str
    line: int


def definitions(folder: Path) -> list[Definition]:
    """Return the names that are defined once, outside tests, in the order of their files."""
    defined: list[Definition] = []
    lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or (path.suffix != ".py" and path.suffix not in _DEFINITIONS):
            continue
        relative, text = path.relative_to(folder).as_posix(), path.read_text("utf-8", "replace")
        tests = _RUST_TESTS.search(text)
        end = text.count("\n", 0, tests.start()) if tests else len(text)
        for name, line in _defined(path, text):
            lines[name.lower()].add((relative, line))
            if line <= end and not _LEFT_OUT.search(relative) and len(name) >= LEAST_CHARS:
                defined.append(Definition(name, relative, line))
        for line, words in enumerate(map(_OTHERS.match, text.split("\n")), 1):
            if words:
                lines[next(filter(None, words.groups())).lower()].add((relative, line))
    return [one for one in defined if len(lines[one.name.lower()]) == 1]


def _defined(path: Path, text: str) -> Iterator[tuple[str, int]]:
    """Yield the names that a file defines, with their lines."""
    if path.suffix == ".py":
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        yield from ((node.name, node.lineno) for node in ast.walk(ast.parse(text)) if isinstance(node, kinds))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if match := re.match(_DEFINITIONS[path.suffix], line):
            yield next(filter(None, match.groups())), number


def label_name(label: str) -> str:
    """Return the symbol that a label names: of `Client > params` or `def params(self)` it is `params`."""
    words = label.split("(", maxsplit=1)[0].split("[", maxsplit=1)[0].split("<", maxsplit=1)[0]
    names = _WORD.findall(_PART.split(words.strip())[-1])
    return names[-1] if names else ""


def judge(passage: Passage | None, definition: Definition) -> dict[str, bool]:
    """Return what the first hit says about a name."""
    if passage is None:
        return dict.fromkeys(COUNTED, False)
    name = label_name(passage.label)
    defined = passage.path == definition.path and passage.start <= definition.line <= passage.end
    other = bool(name) and name != definition.name
    return {
        "other_label": other,
        "no_label": not name,
        "defined": defined,
        "other_label_of_defined": other and defined,
        "line_shown": passage.path == definition.path and definition.line in passage.lines,
    }


def ask_names(project: Project, names: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield one row per name and view."""
    known = definitions(project.folder)
    for definition in random.Random(seed).sample(known, min(names, len(known))):
        result, _ = project.ask("search_code", query=definition.name)
        views = project.views(result)
        for view in VIEWS:
            first = next(iter(views[view].passages), None)
            about = {"name": definition.name, "at": f"{definition.path}:{definition.line}", "view": view}
            shown = (
                {"first": f"{first.path}:{first.start}-{first.end}", "label": first.label} if first else {}
            )
            yield {**about, **shown, **judge(first, definition)}


def report(project: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Print one line per view, and return the shares."""
    shares: dict[str, Any] = {}
    for view in VIEWS:
        of_view = [row for row in rows if row["view"] == view]
        shares[view] = {name: sum(row[name] for row in of_view) / len(of_view) for name in COUNTED}
        shares[view]["names"] = len(of_view)
        cells = "".join(f"{shares[view][name]:>24.3f}" for name in COUNTED)
        sys.stdout.write(f"{project:16}{view:12}{len(of_view):>6}{cells}\n")
    return shares


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--names", type=int, default=200, help="names per project")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one row per name and view")
    args = parser.parse_args()
    sys.stdout.write(f"{'':28}{'names':>6}" + "".join(f"{name:>24}" for name in COUNTED) + "\n")
    every: dict[str, list[dict[str, Any]]] = {}
    shares = {}
    for case in chosen(args):
        with serving(case, args.sets, args.mirrors, args.cache) as project:
            every[case.group] = list(ask_names(project, args.names, args.seed))
        shares[case.group] = report(case.group, every[case.group])
    total = report("all", [row for rows in every.values() for row in rows])
    if args.json:
        args.json.write_text(json.dumps(rounded(every), indent=1) + "\n")
    if args.save:
        save({"seed": args.seed, "all": total, "projects": shares}, args.save)


def chosen(args: argparse.Namespace) -> list[Case]:
    """Return one case of each project."""
    first = {group: cases[0] for (group, _, _), cases in by_checkout(load(args.sets, "code_semble")).items()}
    return [first[project] for project in PROJECTS]


if __name__ == "__main__":
    main()
