"""Change the source in small ways, one at a time, and count how many changes the tests notice.

    python -m benchmarks.mutants [--sample 100] [--seed 1] [--packages rank search graph documents catalogue]

Each mutant is one changed operator, constant, condition or return value. For each package the tests run once
as they are, to learn which of them execute which line. A mutant then runs only the tests that execute its
line, in a forked process that imports a copy of the source with the change in it, until one test fails. A
mutant that no test notices is printed. The goal is that tests notice at least 80 % (`--threshold`); the exit
status says whether they do.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import copy
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

TESTS = {
    "rank": ("tests/unit/rank", "tests/unit/search", "tests/golden/ranking", "tests/golden/signals"),
    "search": ("tests/unit/search", "tests/unit/serve/test_search_answers.py", "tests/golden/ranking",
               "tests/golden/signals", "tests/property/test_search.py"),
    "graph": ("tests/unit/graph", "tests/unit/research", "tests/golden/graph"),
    "documents": ("tests/unit/documents",),
    "catalogue": ("tests/unit/catalogue", "tests/golden/catalogue"),
}  # fmt: skip
"""The tests that may notice a mutant of each package."""

WORKERS = 2
NOTICED, SURVIVED, NEVER_ENDED = "noticed", "survived", "never ended"
LIMIT_S, LIMIT_FACTOR = 60, 10
"""A mutant that takes longer than this, and so many times as long as its tests, never ends. That counts as
noticed, and is printed."""

MAX_MEMORY_BYTES = 6 * 1024**3

PHASES = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
"""What hypothesis does for a mutant: a failing example need not be made small."""

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip

PASSED_OVER = ("annotation", "returns", "decorator_list", "type_comment")
"""Parts of the syntax that say nothing about what a program does."""


@dataclass(frozen=True)
class Mutant:
    """One change to one file."""

    path: Path
    line: int
    statement: range
    """The lines of its statement; empty outside of functions, where an import executes them."""
    constant: str | None
    """The name that a statement outside of functions sets."""
    before: str
    after: str
    text: str


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    constants = _constants(tree)
    for node, statement in _code(tree, range(0)):
        new = changed(node)
        if new is None:
            continue
        lines = source.encode().split(b"\n")
        first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
        head = lines[first][: node.col_offset]  # type: ignore[attr-defined]
        tail = lines[last][node.end_col_offset :]  # type: ignore[attr-defined]
        before, after = ast.unparse(node), ast.unparse(ast.fix_missing_locations(new))
        inside = after if isinstance(node, ast.stmt) else f"({after})"
        lines[first : last + 1] = [head + inside.encode() + tail]
        constant = None if statement else constants.get(first + 1)
        yield Mutant(path, first + 1, statement, constant, before, after, b"\n".join(lines).decode())


def _constants(tree: ast.Module | ast.ClassDef) -> dict[int, str]:
    """Return the name that each line outside of functions helps to set."""
    found: dict[int, str] = {}
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            found |= _constants(statement)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            lines = range(statement.lineno, (statement.end_lineno or 0) + 1)
            found |= dict.fromkeys(lines, ast.unparse(target))
    return found


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
            new.value = value + 1 if value <= 10 else value * 2  # nobody cares about 10,001 for 10,000
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            new.value = ast.Constant(None)
        case ast.IfExp():
            new.body, new.orelse = new.orelse, new.body
        case ast.Break():
            return ast.Continue()
        case _:
            return None
    return new


def _code(node: ast.AST, statement: range) -> Iterator[tuple[ast.AST, range]]:
    """Yield the nodes that are run, each with the lines of its statement; no parts of f-strings."""
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return  # `zip(…, strict=True)` states a belief; no test can make it untrue
    in_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or bool(statement)
    for name, value in ast.iter_fields(node):
        if name in PASSED_OVER:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            inner = statement
            if isinstance(child, ast.stmt) and in_function:
                body = getattr(child, "body", None)
                inner = range(child.lineno, body[0].lineno if body else (child.end_lineno or 0) + 1)
            if hasattr(child, "lineno"):
                yield child, inner
            yield from _code(child, inner)


@dataclass(eq=False)
class Executed:
    """A pytest plugin that notes which tests execute which lines of a package, and how long each takes.

    What a fixture of a module or session executes counts for every test that uses the fixture.
    """

    folder: str
    by_user: dict[str, set[tuple[str, int]]] = field(default_factory=lambda: defaultdict(set))
    fixtures: dict[str, list[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _users: list[str] = field(default_factory=lambda: [""])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        _clear_caches()
        self.fixtures[item.nodeid] = list(getattr(item, "fixturenames", ()))
        self._users[:] = [item.nodeid]
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        self._users.append(self._users[-1] if fixturedef.scope == "function" else fixturedef.argname)
        try:
            return (yield)
        finally:
            self._users.pop()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration

    def _trace(self, frame: FrameType, _event: str, _arg: object) -> Any:
        return self._note if frame.f_code.co_filename.startswith(self.folder) else None

    def _note(self, frame: FrameType, _event: str, _arg: object) -> Any:
        self.by_user[self._users[-1]].add((frame.f_code.co_filename, frame.f_lineno))
        return self._note

    def tests(self) -> dict[str, list[tuple[str, int]]]:
        """Return the lines of each test, the fastest test first."""
        order = sorted(self.fixtures, key=lambda test: self.seconds[test])
        users = {test: [test, *self.fixtures[test]] for test in order}
        return {test: sorted(set[tuple[str, int]]().union(*map(self.by_user.__getitem__, users[test])))
                for test in order}  # fmt: skip


def _clear_caches() -> None:
    """Forget remembered results: a test must execute what it depends on, whatever ran before it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("findspot"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


@dataclass(eq=False)
class Chosen:
    """A pytest plugin that runs some tests only, in the order given."""

    tests: list[str]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {test: number for number, test in enumerate(self.tests)}
        items[:] = sorted((item for item in items if item.nodeid in place), key=lambda i: place[i.nodeid])


class Package:
    """A package, its mutants, and which tests execute which of its lines."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._paths = sorted((SOURCE / "findspot" / name).rglob("*.py"))
        self.mutants = [mutant for path in self._paths for mutant in mutants(path)]
        self._tests: dict[str, set[tuple[str, int]]] = {}
        self._seconds: dict[str, float] = {}

    def measure(self, folder: Path) -> None:
        """Run the tests once, in a process of its own, so that this one never imports the source."""
        file = folder / f"{self.name}.json"
        pid = _fork(partial(_measure, self.name, file), folder)
        if os.waitpid(pid, 0)[1] != 0:
            output = (folder / "output.txt").read_text("utf-8", "replace")
            sys.exit(f"{output[-4000:]}\nThe tests of {self.name} fail without any change.")
        measured = json.loads(file.read_text("utf-8"))
        self._tests = {test: {(path, line) for path, line in lines} for test, lines in measured["tests"]}
        self._seconds = measured["seconds"]
        for name in measured["modules"]:
            with contextlib.suppress(Exception):
                importlib.import_module(name)

    def limit_s(self, tests: list[str]) -> int:
        """Return how long tests may take with a mutant."""
        return LIMIT_S + int(LIMIT_FACTOR * sum(self._seconds[test] for test in tests))

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that execute a mutant's statement, or lines that use what it sets.

        If an import executes it and nothing says who uses it, all tests of its module, or of the package.
        """
        lines = {(str(mutant.path), line) for line in mutant.statement}
        if mutant.constant:
            lines = self._uses(mutant.constant)
        tests = [test for test, executed in self._tests.items() if not lines.isdisjoint(executed)]
        if tests or mutant.statement:
            return tests
        of_module = [test for test, executed in self._tests.items() if str(mutant.path) in dict(executed)]
        return of_module or list(self._tests)

    def _uses(self, name: str) -> set[tuple[str, int]]:
        word = re.compile(rf"\b{re.escape(name)}\b")
        return {
            (str(path), number)
            for path in self._paths
            for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)
            if word.search(line)
        }


def _measure(name: str, file: Path) -> int:
    executed = Executed(f"{SOURCE / 'findspot' / name}{os.sep}")
    before = set(sys.modules)
    status = pytest.main(_arguments(TESTS[name]), [executed])
    ours = ("findspot", "benchmarks", *(path.stem for path in (ROOT / "tests").rglob("*.py")))
    modules = [new for new in sys.modules if new not in before and new.partition(".")[0] not in ours]
    found = {"tests": list(executed.tests().items()), "seconds": executed.seconds, "modules": modules}
    file.write_text(json.dumps(found), "utf-8")
    return int(status)


def _arguments(paths: Iterable[str]) -> list[str]:
    return ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "--hypothesis-seed=1",
            *(str(ROOT / path) for path in paths)]  # fmt: skip


def _run_tests(source: Path, tests: list[str], limit_s: int) -> int:
    """Return whether the tests notice the source in a folder; 0 where they do not."""
    sys.path.insert(0, str(source))
    os.environ["PYTHONPATH"] = str(source)
    signal.alarm(limit_s)
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    status = pytest.main(_arguments(files), [Chosen(tests)])
    return 0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else int(status)


def _fork(function: Callable[[], int], folder: Path) -> int:
    """Run a function in a forked process, in a group of its own, and return its number."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        status = function()
    finally:
        os._exit(status)


def outcomes(package: Package, sample: list[Mutant], folder: Path) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant with what became of it; `WORKERS` run at a time, each in its own copy."""
    copies = [folder / str(number) for number in range(WORKERS)]
    for each in copies:
        shutil.copytree(SOURCE, each)
        compileall.compile_dir(each, quiet=1)
    running: dict[int, tuple[Path, Mutant]] = {}
    waiting = list(reversed(sample))
    while waiting or running:
        while waiting and copies:
            mutant = waiting.pop()
            tests = package.tests_of(mutant)
            if not tests:
                yield mutant, SURVIVED
                continue
            source = copies.pop()
            (source / mutant.path.relative_to(SOURCE)).write_text(mutant.text, "utf-8")
            run = partial(_run_tests, source, tests, package.limit_s(tests))
            running[_fork(run, source)] = source, mutant
        if running:
            pid, status = os.wait()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            source, mutant = running.pop(pid)
            shutil.copy2(mutant.path, source / mutant.path.relative_to(SOURCE))
            copies.append(source)
            ended = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
            yield mutant, NEVER_ENDED if ended else NOTICED if status else SURVIVED


def main() -> None:
    """Sample mutants of each package, try each, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--sample", type=int, default=100, help="mutants per package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--packages", nargs="+", choices=TESTS, default=list(TESTS))
    given = parser.parse_args()
    os.nice(5)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    hypothesis.settings.register_profile("mutants", deadline=None, database=None, phases=PHASES)
    hypothesis.settings.load_profile("mutants")
    total = noticed = 0
    for package in map(Package, given.packages):
        with tempfile.TemporaryDirectory() as folder:
            package.measure(Path(folder))
            count = min(given.sample, len(package.mutants))
            sample = random.Random(given.seed).sample(package.mutants, count)
            killed = 0
            for mutant, outcome in outcomes(package, sample, Path(folder)):
                killed += outcome != SURVIVED
                if outcome != NOTICED:
                    where = f"{mutant.path.relative_to(SOURCE)}:{mutant.line}"
                    print(f"{outcome}  {where}  {mutant.before}  ->  {mutant.after}", flush=True)
        print(f"{package.name:10} {killed} of {count} noticed, {killed / count:.0%}", flush=True)
        total, noticed = total + count, noticed + killed
    print(f"all        {noticed} of {total} noticed, {noticed / total:.0%} (goal {given.threshold:.0%})")
    sys.exit(noticed / total < given.threshold)


if __name__ == "__main__":
    main()
