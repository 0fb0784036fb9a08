"""Where a project begins."""

from __future__ import annotations

import os
from pathlib import Path

MARKERS = (".git", "package.json", "pyproject.toml", "Cargo.toml", "go.mod")
"""In the order in which they are looked for; `.git` is a file in worktrees and submodules."""


def find_root(start: Path) -> Path | None:
    """The nearest folder, from `start` upwards, that holds a marker of a project."""
    here = start.resolve()
    for folder in (here, *here.parents):
        if any(os.path.exists(folder / marker) for marker in MARKERS):  # noqa: PTH110 - never raises
            return folder
    return None
