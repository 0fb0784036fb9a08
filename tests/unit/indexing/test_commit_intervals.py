"""How often a run commits, and in which order it takes up files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from findspot import Project
from findspot.core.model import Progress
from findspot.indexing import pipeline
from findspot.store.writer import Writer

FILES = {f"pkg/mod{n}.py": f"def function{n}():\n    return {n}\n" for n in range(60)}


class Clock:
    """Advances by a second with each file, and by what a commit takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, commit_s: float) -> None:
        self.seconds = 0.0
        monkeypatch.setattr(pipeline.time, "monotonic", lambda: self.seconds)
        commit = Writer.commit

        def timed(writer: Writer) -> None:
            commit(writer)
            self.seconds += commit_s

        monkeypatch.setattr(Writer, "commit", timed)

    def committed(self, project: Project) -> list[int]:
        """Index a project and return the numbers of files that were kept, had the run been killed."""
        seen: set[int] = set()

        def look(at: Progress) -> None:
            if at.phase == "indexing":
                self.seconds += 1
                seen.add(int(project.store.meta()["done"]))

        pipeline.apply(project.index.run(asked=True, progress=look))
        return sorted(seen)


def test_a_run_that_is_killed_resumes_where_it_was(
    make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits that take no time come every second, from the first to the last."""
    assert Clock(monkeypatch, 0).committed(make_project(FILES)) == list(range(60))


def test_commits_take_a_tenth_of_a_run(
    make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Speed and scale: each commit rewrites segments."""
    assert Clock(monkeypatch, 1).committed(make_project(FILES)) == [0, 1, 11, 21, 31, 41, 51]


def test_large_files_come_after_small_ones(make_project: Callable[..., Project]) -> None:
    large = "".join(f"def large{n}():\n    return {n}\n" for n in range(5_000))
    project = make_project({"a.py": large, **FILES})
    project.update()
    with project.store.snapshot() as snapshot:
        stored = sorted(snapshot.known_files().indexed.values(), key=lambda file: file.id)
    assert [file.path for file in stored].index("a.py") > len(FILES) // 2  # workers end at their own pace
