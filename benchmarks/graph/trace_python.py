"""Which functions of a project really call which, while its own tests run: a plugin for pytest.

TRACE_ROOT=FOLDER TRACE_OUT=traces.jsonl python -m pytest -p benchmarks.graph.trace_python …

Kept are calls whose callee's name is written at the line they come from: what runs behind an
operator, a property, a decorator or a callback has no call that a reader could follow. One JSON
object a line: {kind: "traced", path, line, name, targets: [{path, line, name}]}.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import threading
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(os.environ.get("TRACE_ROOT", ".")).resolve()
_seen: set[tuple[CodeType, int, CodeType]] = set()


def _profile(frame: FrameType, event: str, _argument: Any) -> None:
    caller = frame.f_back
    if event == "call" and caller is not None:
        _seen.add((caller.f_code, caller.f_lineno, frame.f_code))


def pytest_sessionstart() -> None:
    threading.setprofile(_profile)
    sys.setprofile(_profile)


def pytest_sessionfinish() -> None:
    sys.setprofile(None)
    threading.setprofile(None)
    rows = {json.dumps(row) for row in map(_row, _seen) if row is not None}
    Path(os.environ["TRACE_OUT"]).write_text("".join(f"{row}\n" for row in sorted(rows)), encoding="utf-8")


def _row(call: tuple[CodeType, int, CodeType]) -> dict[str, Any] | None:
    caller, line, callee = call
    source, target = _inside(caller.co_filename), _inside(callee.co_filename)
    if source is None or target is None or "<" in callee.co_name:
        return None
    name = callee.co_name
    written = callee.co_qualname.split(".")[-2] if name == "__init__" else name
    calls = _calls(caller.co_filename).get(written, ())
    at = next((at for at, first, last in calls if first <= line <= last), None)
    if at is None:
        return None
    defined = _defined(callee.co_filename).get(callee.co_firstlineno, callee.co_firstlineno)
    targets = [{"path": target, "line": defined, "name": name}]
    return {"kind": "traced", "path": source, "line": at, "name": written, "targets": targets}


@cache
def _inside(filename: str) -> str | None:
    if not filename.endswith(".py") or not Path(filename).is_file():  # code made at run time has no file
        return None
    try:
        return Path(filename).resolve().relative_to(ROOT).as_posix()
    except (OSError, ValueError):
        return None


@cache
def _tree(filename: str) -> ast.AST:
    return ast.parse(Path(filename).read_text(encoding="utf-8"))


@cache
def _calls(filename: str) -> dict[str, list[tuple[int, int, int]]]:
    """Name → where it is written, and the lines of the whole call."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    for node in ast.walk(_tree(filename)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            place = node.func.end_lineno or node.lineno, node.lineno, node.end_lineno or node.lineno
            found.setdefault(name, []).append(place)
    return found


@cache
def _defined(filename: str) -> dict[int, int]:
    """First line of a function, its decorators included → the line of its `def`."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = (node for node in ast.walk(_tree(filename)) if isinstance(node, kinds))
    return {min([f.lineno, *(d.lineno for d in f.decorator_list)]): f.lineno for f in functions}
