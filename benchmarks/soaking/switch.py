"""A branch switch that touches thousands of files of a watched project."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.soaking.answers import held, rebuilt
from findspot import Project

_PATIENCE_S = 300.0
_FOLDERS = 60


def run(place: Path, count: int) -> dict[str, Any]:
    """How long after `git checkout` the index equals a rebuild, by itself."""
    root = place / "project"
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    for branch in ("main", "other"):
        if branch != "main":
            _git(root, "checkout", "-q", "-b", branch)
        for number in range(count):
            path = root / f"d{number % _FOLDERS}" / f"f{number}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"def {branch}_{number}(n):\n    return n * {number}\n")
        _git(root, "add", "-A")
        _git(root, "commit", "-q", "-m", branch)
    project = Project(root)
    project.update()
    supervisor = project.watch()
    while not (supervisor.status.watching and supervisor.status.checked):
        time.sleep(0.05)
    _git(root, "checkout", "-q", "main")
    switched = time.monotonic()
    while project.status().pending_changes and time.monotonic() - switched < _PATIENCE_S:
        time.sleep(0.2)
    seconds = time.monotonic() - switched
    project.unwatch()
    same = held(project) == rebuilt(root)
    project.close()
    return {"files": count, "settled_s": round(seconds, 1), "same": same}


def _git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=soak", "-c", "user.email=soak@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)
