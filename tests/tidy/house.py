"""Count what makes a codebase hard to walk through. `make house` prints it, `make check` limits it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "findspot"

BUDGET = Path(__file__).with_name("budget.txt")
"""Lines of Python below `src/`, blank ones included. A deletion lowers it in the same commit."""

COMPLEX = 15
MOST_COMPLEX = 26
MOST_IN_CIRCLES = 0
"""Functions of that cyclomatic complexity or more, and modules that import each other in a circle, for types
only too. The goals are 30 and none: these numbers only fall."""

MOST_CHARACTERS = 72
FIRST_COMMIT = "100aa45"
"""Subjects of the commits after this one are limited."""

FEWEST_LINES = 40
"""A module below this with a single importer belongs into that importer, unless it is a registry entry."""

REGISTRIES = (
    "graph/languages/",
    "serve/mcp/tools/",
    "store/migrations/",
)
"""Folders whose modules are entries of a registry: one per language, provider, mode, tool or format."""


@dataclass(frozen=True)
class Module:
    """One Python file of the package."""

    name: str
    path: str
    lines: int
    tree: ast.Module


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the package, with its lines and syntax tree."""
    result = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        relative = path.relative_to(SOURCE).as_posix()
        name = ".".join(("findspot", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
            ".__init__"
        )
        result.append(Module(name, relative, text.count("\n"), ast.parse(text)))
    return tuple(result)


@cache
def importers() -> dict[str, set[str]]:
    """Return the modules that import each module of the package."""
    known = {module.name for module in modules()}
    result: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        for node in ast.walk(module.tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in known else node.module for name in names]
            for name in names:
                if name in known and name != module.name:
                    result[name].add(module.name)
    return result


def repeated_names() -> dict[str, list[str]]:
    """Return the modules that share a basename with another one; `__init__` and `__main__` do not count."""
    paths: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        base = module.path.rpartition("/")[2]
        if not base.startswith("__"):
            paths[base].append(module.path)
    return {base: found for base, found in sorted(paths.items()) if len(found) > 1}


def small_modules() -> list[str]:
    """Return the modules that are too small to stand alone: few lines, and a single importer."""
    return [
        module.path
        for module in modules()
        if module.lines < FEWEST_LINES
        and not module.path.rpartition("/")[2].startswith("__")
        and not module.path.startswith(REGISTRIES)
        and len(importers()[module.name]) == 1
    ]


def long_subjects() -> list[str]:
    """Return the subjects of commits that are too long; none where there is no history to look at."""
    command = ["git", "-C", str(SOURCE), "log", "--format=%s", f"{FIRST_COMMIT}..HEAD"]
    log = subprocess.run(command, capture_output=True, text=True, check=False)
    return [subject for subject in log.stdout.splitlines() if len(subject) > MOST_CHARACTERS]


def private_imports() -> list[str]:
    """Return the imports of names that begin with an underscore from another module of ours."""
    return [
        f"{module.path}:{node.lineno} {node.module}.{alias.name}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("findspot")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]


_LOOPS = ast.For | ast.AsyncFor | ast.While | ast.comprehension
_BRANCHES = ast.If | ast.IfExp | ast.ExceptHandler | ast.match_case | _LOOPS


def complexity(function: ast.AST) -> int:
    """Return the number of ways through a function: one, and one more for each decision."""
    nodes = list(ast.walk(function))
    words = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return 1 + words + sum(isinstance(node, _BRANCHES) for node in nodes)


def complex_functions() -> list[str]:
    """Return the functions with many decisions."""
    return [
        f"{module.path}:{node.lineno} {node.name}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and complexity(node) >= COMPLEX
    ]


def in_circles() -> list[str]:
    """Return the modules from which imports lead back to them."""

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        waiting = list(importers().get(name, ()))
        while waiting:
            if (module := waiting.pop()) not in found:
                found.add(module)
                waiting += importers().get(module, ())
        return found

    return sorted(module.name for module in modules() if module.name in reached(module.name))


def check() -> list[str]:
    """Return what breaks the limits, one line each."""
    broken = [f"basename used twice: {', '.join(paths)}" for paths in repeated_names().values()]
    broken += [f"small module with one importer: {path}" for path in small_modules()]
    broken += [f"subject over {MOST_CHARACTERS} characters: {subject}" for subject in long_subjects()]
    broken += [f"private import: {place}" for place in private_imports()]
    for what, found, most in (
        (f"functions of complexity {COMPLEX} and more", complex_functions(), MOST_COMPLEX),
        ("modules in circles of imports", in_circles(), MOST_IN_CIRCLES),
    ):
        if len(found) > most:
            broken.append(f"{len(found)} {what}; at most {most}: {', '.join(found)}")
    lines, budget = sum(module.lines for module in modules()), int(BUDGET.read_text())
    if lines > budget:
        broken.append(f"{lines:,} lines below src/; the budget is {budget:,} (tests/tidy/budget.txt)")
    return broken


def main() -> None:
    """Print the counts, and what stands behind each; with `--check`, only what breaks the limits."""
    if "--check" in sys.argv[1:]:
        broken = check()
        print(*broken, sep="\n")
        sys.exit(1 if broken else 0)
    sizes = sorted(module.lines for module in modules())
    packages = Counter(module.path.partition("/")[0] for module in modules() if "/" in module.path)
    repeated, small = repeated_names(), small_modules()
    print(f"modules                                    {len(sizes)}")
    print(f"lines of Python                            {sum(sizes):,}")
    print(f"lines per module, median and most          {sizes[len(sizes) // 2]}, {sizes[-1]}")
    print(f"basenames used more than once              {len(repeated)}")
    print(f"modules under {FEWEST_LINES} lines with one importer   {len(small)}")
    print(f"functions of complexity {COMPLEX} and more         {len(complex_functions())}")
    print(f"modules in circles of imports              {len(in_circles())}")
    from call_path import call_path  # needs the package and its dependencies, the rest only the source

    path = call_path()
    print(f"modules from an MCP request to search      {len(path)}")
    print("\nfrom an MCP request to search:", " > ".join(path))
    print("\nmodules per package:", ", ".join(f"{name} {count}" for name, count in packages.most_common()))
    for title, rows in (
        ("repeated basenames", [f"{base}: {', '.join(paths)}" for base, paths in repeated.items()]),
        ("small modules", small),
    ):
        print(f"\n{title}:", *(rows or ["none"]), sep="\n  ")


if __name__ == "__main__":
    main()
