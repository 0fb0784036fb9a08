"""How soon a run that is told to stop has stopped, and that it loses nothing which was finished."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import Any

from findspot import Project
from findspot.core.errors import CancelledError
from findspot.core.progress import CancelToken

_PATIENCE_S = 60.0


def run(root: Path, count: int, seed: int) -> dict[str, Any]:
    """Stop `count` runs at random instants; then let one go through."""
    chance = random.Random(seed)
    project = Project(root)
    waits: list[float] = []
    kept: list[int] = []
    for _ in range(count):
        wait_s = _stopped(project, chance.uniform(0.1, 3.0))
        if wait_s is not None:
            waits.append(wait_s)
        kept.append(project.status(check_disk=False).total_files)
    report = project.update()
    project.close()
    return {
        "stopped": len(waits),
        "median_ms": round(1000 * sorted(waits)[len(waits) // 2]) if waits else None,
        "worst_ms": round(1000 * max(waits)) if waits else None,
        "files_kept_after_each": kept,
        "left_for_the_last": report.files_indexed,
        "files": report.total_files,
    }


def _stopped(project: Project, after_s: float) -> float | None:
    """Seconds from the word to the end; None where the run was through before."""
    cancel = CancelToken()
    asked: list[float] = []

    def stop() -> None:
        asked.append(time.perf_counter())
        cancel.cancel()

    timer = threading.Timer(after_s, stop)
    timer.start()
    try:
        project.update(cancel=cancel)
    except CancelledError:
        return time.perf_counter() - asked[0]
    finally:
        timer.cancel()
    return None
