"""Change the source in small ways, one at a time, and count how many changes the tests notice.

    python -m benchmarks.mutants [--sample 100] [--seed 1] [--packages rank search graph documents catalogue]

Each mutant is one changed operator, constant, condition or return value in a copy of the source. The unit
and golden tests of its package run against the copy. A mutant that no test notices is printed. The goal is
that tests notice at least 80 % (`--threshold`); the exit status says whether they do.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

TESTS = {
    "rank": ("tests/unit/rank", "tests/unit/search", "tests/golden/ranking"),
    "search": ("tests/unit/search", "tests/unit/rank", "tests/golden/ranking"),
    "graph": ("tests/unit/graph", "tests/unit/research", "tests/golden/graph"),
    "documents": ("tests/unit/documents",),
    "catalogue": ("tests/unit/catalogue",),
}
"""The tests that run for a mutant of each package, the likeliest to notice it first."""

LIMIT_S = 600
"""A mutant that runs for longer is one that never ends, which counts as noticed."""

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change to one file."""

    path: Path
    line: int
    before: str
    after: str
    text: str

    @property
    def package(self) -> str:
        return self.path.relative_to(SOURCE / "findspot").parts[0]


def changed(node: ast.AST) -> ast.AST | None:
    """Return the node with one thing changed, or None where nothing of it is worth changing."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[operator, *_]) if type(operator) in SWAPS:
            new.ops[0] = SWAPS[type(operator)]()  # type: ignore[call-overload]
        case ast.BoolOp(op=operator):
            new.op = SWAPS[type(operator)]()  # type: ignore[assignment]
        case ast.BinOp(op=operator) if type(operator) in SWAPS:
            new.op = SWAPS[type(operator)]()  # type: ignore[assignment]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Constant(value=bool() as value):
            new.value = not value
        case ast.Constant(value=int() | float() as value):
            new.value = value + 1 if value else 1
        case ast.Return(value=ast.expr()):
            new.value = ast.Constant(None)
        case ast.IfExp():
            new.body, new.orelse = new.orelse, new.body
        case ast.Break():
            return ast.Continue()
        case _:
            return None
    return new


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module; docstrings, annotations and `__all__` stay."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    for node in _code(tree):
        new = changed(node)
        if new is None or not hasattr(node, "lineno"):
            continue
        before, after = ast.unparse(node), ast.unparse(ast.fix_missing_locations(new))
        lines = source.encode().split(b"\n")
        first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
        head = lines[first][: node.col_offset]  # type: ignore[attr-defined]
        tail = lines[last][node.end_col_offset :]  # type: ignore[attr-defined]
        inside = after if isinstance(node, ast.stmt) else f"({after})"
        lines[first : last + 1] = [head + inside.encode() + tail]
        yield Mutant(path, node.lineno, before, after, b"\n".join(lines).decode())


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree that are run: no annotations, no decorators, no parts of f-strings."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield child
                yield from _code(child)


def is_noticed(mutant: Mutant, copy_of_source: Path) -> bool:
    """Run the tests of a mutant's package against it, and return whether one fails."""
    place = copy_of_source / mutant.path.relative_to(SOURCE)
    original = place.read_text("utf-8")
    place.write_text(mutant.text, "utf-8")
    tests = [path for path in TESTS[mutant.package] if (ROOT / path).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(copy_of_source), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        place.write_text(original, "utf-8")
    return run.returncode != 0


def main() -> None:
    """Sample mutants, try each, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--packages", nargs="+", choices=TESTS, default=list(TESTS))
    given = parser.parse_args()
    paths = [path for name in given.packages for path in sorted((SOURCE / "findspot" / name).rglob("*.py"))]
    every = [mutant for path in paths for mutant in mutants(path)]
    sample = random.Random(given.seed).sample(every, min(given.sample, len(every)))
    workers = os.cpu_count() or 1
    noticed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        copies = [Path(folder, str(number)) for number in range(workers)]
        for each in copies:
            shutil.copytree(SOURCE, each, ignore=shutil.ignore_patterns("__pycache__"))

        def attempt(mutant: Mutant) -> tuple[Mutant, bool]:
            mine = copies.pop()
            try:
                return mutant, is_noticed(mutant, mine)
            finally:
                copies.append(mine)

        for mutant, killed in pool.map(attempt, sample):
            noticed[mutant.package] += killed
            if not killed:
                where = f"{mutant.path.relative_to(SOURCE)}:{mutant.line}"
                print(f"survived  {where}  {mutant.before}  ->  {mutant.after}", flush=True)
    tried = Counter(mutant.package for mutant in sample)
    for package in given.packages:
        print(f"{package:10} {noticed[package]} of {tried[package]} noticed")
    share = sum(noticed.values()) / len(sample)
    total = f"{sum(noticed.values())} of {len(sample)} noticed"
    print(f"all        {total}, {share:.0%} (goal {given.threshold:.0%})")
    sys.exit(share < given.threshold)


if __name__ == "__main__":
    main()
