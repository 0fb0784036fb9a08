"""Compare the edges of our graph with those that another tool finds in the same code.

python -m benchmarks.graph.measure FOLDER --truth truth.jsonl [--traces traces.jsonl] [--show N]

All edges count that answers show by default (`FLOOR`).

Calls: one edge per place where code calls something by name. Creating an instance is a call of the
type. A call through a base class, interface or trait counts for the declared method. A decorator is
no call. Precision: of our edges at places where the other tool has an answer, the share that it gives
as well. Recall: of its calls that lead to a function, method or type of the project, the share that
we have. Implementers are measured in the same way, from the type to the supertype that it names.

Importers: pairs of files. Precision: of our pairs, in files that the truth covers, the share that the
truth has. Recall: of its pairs, the share that we have. Empty files are left out: they are not indexed.

The truth is one JSON object per line:

{"kind": "call",    "path", "line", "name", "targets": [{"path", "line", "name"}], "others": [], "resolved"}
{"kind": "inherit", the same}
{"kind": "import",  "path", "line", "targets": [{"path"}], "others": [{"path"}]}

`path` is relative to FOLDER, with slashes. `line` (from 1) is the line of `name`, the name as it is written
there. `targets` are the definitions in the project that it leads to: the line of their name, and their name.
None are given where it leads out of the project. `resolved` is false where the tool does not know; such rows
do not count. `others`, optional, may be found as well, and need not be found. For calls and supertypes only
targets that are functions, methods or types belong into the truth. For imports `targets` are the file that
is named and the file that defines the imported name; `others` are files in between and packages around
them. Every import of a covered file needs a row, even one without targets.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from findspot import Engine
from findspot.core.facts import Relation
from findspot.graph.edges import Edge, Node
from findspot.graph.graph import Graph
from findspot.graph.values import FLOOR

SAMPLE = 1_000


class Share(NamedTuple):
    """So many of so many, and examples of the rest."""

    right: int
    total: int
    wrong: list[str]

    def __str__(self) -> str:
        return f"{self.right / self.total:.3f} ({self.right} of {self.total})" if self.total else "–"


def every_node(graph: Graph) -> list[Node]:
    """All nodes of a project, those of files first in each."""
    views = graph._sources.all_views()
    return [node for view in views for node in (view.node, *(d.node for d in view.definitions))]


def read_edges(folder: Path) -> list[Edge]:
    """Every edge of a project, made through the library with its defaults.

    Ignore files are not heeded: a checkout holds what is tracked, whatever they say of it. Nor are secrets
    looked for: files that are not indexed say nothing about the graph.
    """
    with tempfile.TemporaryDirectory() as home:
        os.environ["FINDSPOT_HOME"] = home
        engine = Engine({"respectGitignore": False, "secretScan": "off"})
        project = engine.project(folder)
        project.update()
        with project.store.snapshot() as snapshot:
            graph = Graph(snapshot)
            edges = [edge for node in every_node(graph) for edge in graph.edges_of(node)]
            edges = [edge for edge in edges if edge.confidence >= FLOOR]
        engine.close()
    return edges


def rows(path: Path, kind: str) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row["kind"] == kind]


def leads_to(edge: Edge, target: dict[str, Any]) -> bool:
    """Whether an edge ends at what the other tool means: the definition around its line."""
    node, line = edge.target, target["line"]
    if node.path != target["path"] or not node.start_line <= line <= node.end_line:
        return False
    return target["name"] in (node.name, "constructor", "__init__", "default") or line == node.start_line


def precision(edges: Iterable[Edge], truth: list[dict[str, Any]]) -> Share:
    said = defaultdict(list)
    for row in truth:
        if row["resolved"]:
            said[row["path"], row["line"]].append(row)
    judged = []
    for edge in edges:
        here = [row for row in said[edge.path, edge.line] if _may_mean(row, edge)]
        if here:
            meant = [target for row in here for target in (*row["targets"], *row.get("others", ()))]
            judged.append((edge, any(leads_to(edge, target) for target in meant)))
    judged = random.Random(7).sample(judged, min(SAMPLE, len(judged)))
    wrong = [f"{e.path}:{e.line} → {e.target.id} ({e.confidence})" for e, right in judged if not right]
    return Share(len(judged) - len(wrong), len(judged), wrong)


def _may_mean(row: dict[str, Any], edge: Edge) -> bool:
    """Whether a call is the one that an edge is about: by name, also where it was imported as another."""
    names = {row["name"], *(target["name"] for target in row["targets"])}
    return edge.target.name in names


def recall(edges: Iterable[Edge], truth: list[dict[str, Any]], folder: Path) -> Share:
    ours = defaultdict(list)
    for edge in edges:
        ours[edge.path, edge.line].append(edge)
    wanted = []
    for row in truth:
        targets = [target for target in row["targets"] if is_definition(folder, target)]
        if targets:
            found = any(leads_to(edge, t) for edge in ours[row["path"], row["line"]] for t in targets)
            wanted.append((row, found))
    wanted = random.Random(7).sample(wanted, min(SAMPLE, len(wanted)))
    missed = [f"{r['path']}:{r['line']} {r['name']} → {r['targets'][0]}" for r, found in wanted if not found]
    return Share(len(wanted) - len(missed), len(wanted), missed)


def is_definition(folder: Path, target: dict[str, Any]) -> bool:
    """Whether a Python target is a function or class; others were told apart by who made the truth."""
    path = folder / target["path"]
    return path.suffix != ".py" or bool(definitions(path).get(target["line"]) == target["name"])


@cache
def definitions(path: Path) -> dict[int, str]:
    """Line → the name of the function or class that is defined there; a parameter is none."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
    return {node.lineno: node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def importers(edges: Iterable[Edge], truth: list[dict[str, Any]], folder: Path) -> tuple[Share, Share]:
    """Return precision and recall of pairs of files of which one imports the other."""
    covered = {row["path"] for row in truth}
    pairs = ((edge.path, edge.target.path) for edge in edges if edge.path in covered)
    ours = {pair for pair in pairs if pair[0] != pair[1]}
    wanted = _pairs(truth, "targets", folder)
    wrong = sorted(ours - wanted - _pairs(truth, "others", folder))
    missed = sorted(wanted - ours)
    return (
        Share(len(ours) - len(wrong), len(ours), [f"{path} imports {target}" for path, target in wrong]),
        Share(
            len(wanted) - len(missed), len(wanted), [f"{path} imports {target}" for path, target in missed]
        ),
    )


def _pairs(truth: list[dict[str, Any]], part: str, folder: Path) -> set[tuple[str, str]]:
    pairs = {(row["path"], target["path"]) for row in truth for target in row.get(part, ())}
    return {pair for pair in pairs if pair[0] != pair[1] and (folder / pair[1]).stat().st_size}


def traced(edges: Iterable[Edge], traces: Path, overrides: Iterable[Edge] = ()) -> Share:
    """Of the calls that really happened, where the callee's name is written at the line, those we have.

    With overrides, an edge to a method that the called one overrides counts as well.
    """
    ours = defaultdict(list)
    for edge in edges:
        ours[edge.path, edge.line].append(edge)
    above = {edge.source.id: edge for edge in overrides}
    wanted = rows(traces, "traced")
    missed = []
    for row in wanted:
        here = ours[row["path"], row["line"]]
        target = row["targets"][0]
        start = next((edge for edge in above.values() if leads_to(_reversed(edge), target)), None)
        found = any(leads_to(edge, target) for edge in here)
        while start is not None and not found:
            found = any(edge.target.id == start.target.id for edge in here)
            start = above.get(start.target.id)
        if not found:
            missed.append(f"{row['path']}:{row['line']} {row['name']} → {target}")
    return Share(len(wanted) - len(missed), len(wanted), missed)


def _reversed(edge: Edge) -> Edge:
    return replace(edge, source=edge.target, target=edge.source)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--show", type=int, default=0, help="examples of what is wrong and what is missed")
    options = parser.parse_args()
    edges = read_edges(options.folder)
    calls = [edge for edge in edges if edge.relation is Relation.CALL]
    bases = [edge for edge in edges if edge.relation is Relation.INHERIT]
    imports = [edge for edge in edges if edge.relation is Relation.IMPORT]
    imports_precision, imports_recall = importers(imports, rows(options.truth, "import"), options.folder)
    figures = {
        "calls, precision": precision(calls, rows(options.truth, "call")),
        "calls, recall": recall(calls, rows(options.truth, "call"), options.folder),
        "implementers, precision": precision(bases, rows(options.truth, "inherit")),
        "implementers, recall": recall(bases, rows(options.truth, "inherit"), options.folder),
        "importers, precision": imports_precision,
        "importers, recall": imports_recall,
    }
    if options.traces:
        decorators = [edge for edge in edges if edge.relation is Relation.DECORATE]
        overrides = [edge for edge in edges if edge.relation is Relation.OVERRIDE]
        figures["calls that happened, recall"] = traced(calls + decorators, options.traces)
        figures["… or of an overridden method"] = traced(calls + decorators, options.traces, overrides)
    for name, share in figures.items():
        sys.stdout.write(f"{options.folder.name:12} {name:30} {share}\n")
        for example in random.Random(1).sample(share.wrong, min(options.show, len(share.wrong))):
            sys.stdout.write(f"    {example}\n")


if __name__ == "__main__":
    main()
