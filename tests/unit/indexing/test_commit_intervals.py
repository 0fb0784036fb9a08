"""How often a run commits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from findspot import Project
from findspot.core.model import Progress
from findspot.indexing import pipeline

FILES = {f"pkg/mod{n}.py": f"def function{n}():\n    return {n}\n" for n in range(60)}


def test_a_long_run_commits_ever_less_often(
    make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Speed and scale: each commit rewrites segments, so a first run makes few of them."""
    seconds = 0
    monkeypatch.setattr(pipeline.time, "monotonic", lambda: seconds)
    project = make_project(FILES)
    committed: set[int] = set()

    def one_second_per_file(at: Progress) -> None:
        nonlocal seconds
        if at.phase == "indexing":
            seconds += 1
            committed.add(int(project.store.meta()["done"]))

    pipeline.apply(project.index.run(asked=True, progress=one_second_per_file))
    assert sorted(committed) == [0, 2, 6, 14, 29, 44, 59]
