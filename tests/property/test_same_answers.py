"""Updated and rebuilt indexes give the same answers: a sample of `python -m benchmarks.same_answers`."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from benchmarks.same_answers import Edits, answers, differences, questions

from findspot import Project
from findspot.core.errors import CancelledError
from findspot.core.model import Progress
from findspot.core.progress import CancelToken

SOURCES = Path(__file__).parents[2]
FILES = ("src/findspot/text", "src/findspot/rank", "docs/graph.md")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in FILES:
        copy = shutil.copytree if (SOURCES / name).is_dir() else shutil.copy
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        copy(SOURCES / name, root / name)
    return root


def _stop_half_way(project: Project) -> None:
    """End a first run after some files were read, as an interrupted one does."""
    token = CancelToken()

    def stop(progress: Progress) -> None:
        if progress.phase == "indexing" and progress.done >= 8:
            token.cancel()

    with pytest.raises(CancelledError):
        project.update(progress=stop, cancel=token)


def test_answers_do_not_depend_on_how_an_index_came_about(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding teams BROKEN 6: updated or resumed."""
    edits = Edits(root, seed=5)
    with ExitStack() as stack:

        def opened(home: str) -> Project:
            monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / home))
            return stack.enter_context(closing(Project(root)))

        updated, stopped = opened("home"), opened("stopped")
        _stop_half_way(stopped)
        updated.update()
        edits.make(20)
        projects = {"stopped": stopped, "updated": updated}
        rebuilt = opened("rebuilt")
        for project in (*projects.values(), rebuilt):
            project.update()
        asked = questions(edits.files)
        expected = answers(rebuilt, asked)
        for name, project in projects.items():
            assert (name, differences(answers(project, asked), expected)) == (name, [])
