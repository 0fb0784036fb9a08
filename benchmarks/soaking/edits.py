"""Edits replayed from a real git history into a watched project."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.soaking.answers import held, rebuilt
from findspot import Project
from findspot.core.files import content_hash

_PATIENCE_S = 30.0
_CHECKPOINTS = 10

Edit = tuple[str, bytes | None]
"""A path and its new content; None where it is deleted."""


def run(place: Path, repository: Path, count: int) -> dict[str, Any]:
    """Save one file after the other; each is waited for, and now and then all is compared."""
    root = place / "project"
    root.mkdir()
    commits = _git(repository, "rev-list", "--first-parent", "--reverse", "HEAD").decode().split()
    first = max(0, len(commits) - count)
    _unpack(repository, commits[first], root)
    project = Project(root)
    project.update()
    while not project.watch().status.watching:
        time.sleep(0.05)
    waits: list[float] = []
    compared = equal = 0
    for number, edit in enumerate(_edits(repository, commits[first:], count), 1):
        waits.append(_save(project, root, *edit))
        if number % max(1, count // _CHECKPOINTS) == 0:
            compared += 1
            equal += _settled(project) and held(project) == rebuilt(root)
            print(json.dumps(_figures(waits, compared, equal)), file=sys.stderr, flush=True)  # noqa: T201
    project.close()
    return _figures(waits, compared, equal)


def _figures(waits: list[float], compared: int, equal: int) -> dict[str, Any]:
    ranked = sorted(waits)
    return {
        "edits": len(waits),
        "checkpoints": compared,
        "equal": equal,
        "p50_s": round(statistics.median(ranked), 3),
        "p95_s": round(ranked[int(0.95 * len(ranked))], 3),
        "worst_s": round(ranked[-1], 3),
    }


def _edits(repository: Path, commits: list[str], count: int) -> Iterator[Edit]:
    for before, after in itertools.pairwise(commits):
        changed = (
            _git(repository, "diff", "--name-status", "--no-renames", "-z", before, after)
            .decode()
            .split("\0")
        )
        for status, path in zip(changed[::2], changed[1::2], strict=False):
            if count == 0:
                return
            if path.endswith((".py", ".md", ".rst", ".txt", ".go", ".js", ".ts", ".rb", ".java", ".c", ".h")):
                count -= 1
                yield path, None if status == "D" else _git(repository, "show", f"{after}:{path}")


def _save(project: Project, root: Path, path: str, data: bytes | None) -> float:
    """Seconds from the save until the index has it."""
    target = root / path
    started = time.perf_counter()
    if data is None:
        target.unlink(missing_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    wanted = None if data is None else content_hash(data)
    while time.perf_counter() - started < _PATIENCE_S:
        with project.store.snapshot() as snapshot:
            file = snapshot.files.find(path)
            left_out = file is None and any(skip.path == path for skip in snapshot.skips.all())
        if (file.sha256 if file else None) == wanted or (data is not None and left_out):
            return time.perf_counter() - started
        time.sleep(0.01)
    return time.perf_counter() - started


def _settled(project: Project) -> bool:
    deadline = time.monotonic() + _PATIENCE_S
    while project.status().pending_changes and time.monotonic() < deadline:
        time.sleep(0.1)
    return project.status().pending_changes == 0


def _unpack(repository: Path, commit: str, root: Path) -> None:
    archive = _git(repository, "archive", commit)
    subprocess.run(["tar", "-x", "-C", str(root)], input=archive, check=True)


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout
