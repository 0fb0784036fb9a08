"""A second worktree of a project that is indexed already."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.soaking.answers import held, rebuilt
from findspot import Project

COMMITS_BACK = 30
"""How far the second worktree is behind the first."""


def run(place: Path, repository: Path) -> dict[str, Any]:
    """Seconds for the first and for the second; and whether the second equals an index from nothing."""
    figures: dict[str, Any] = {}
    root = place
    for name, commit in (("first", "HEAD"), ("second", f"HEAD~{COMMITS_BACK}")):
        root = place / name
        root.mkdir()
        archive = ["git", "-C", str(repository), "archive", commit]
        data = subprocess.run(archive, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(root)], input=data, check=True)
        project = Project(root)
        started = time.perf_counter()
        report = project.update(allow_large=True)
        figures[f"{name}_s"] = round(time.perf_counter() - started, 1)
        figures[f"{name}_files_cut"] = report.files_indexed
        figures["files"] = report.total_files
        figures["chunks"] = report.total_chunks
        project.close()
    second = Project(root)
    figures["same"] = held(second) == rebuilt(root)
    second.close()
    return figures
