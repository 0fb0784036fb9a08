"""Updated and rebuilt indexes give the same answers: a sample of `python -m benchmarks.same_answers`."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from benchmarks.same_answers import Edits, answers, differences, questions

from findspot import Project
from kept_workers import open_project

SOURCES = Path(__file__).parents[2]
FILES = ("src/findspot/text", "src/findspot/rank", "docs/glossary.md")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in FILES:
        copy = shutil.copytree if (SOURCES / name).is_dir() else shutil.copy
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        copy(SOURCES / name, root / name)
    return root


def test_updated_indexes_answer_like_a_rebuilt_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding teams BROKEN 6: the same hits in the same order with the same scores, after any edits."""
    pytest.importorskip("lancedb", reason="LanceDB is not installed")
    edits = Edits(root, seed=3)
    with ExitStack() as stack:

        def opened(name: str, store: str = "default") -> Project:
            monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / name))
            return stack.enter_context(closing(open_project(root, {"store": store})))

        projects = [opened("home"), opened("tables", "lancedb")]
        for _ in range(3):
            for project in projects:
                project.update()
            edits.make(15)
        rebuilt = opened("rebuilt")
        for project in (*projects, rebuilt):
            project.update()
        asked = questions(edits.files)
        assert len(asked) == 20
        expected = answers(rebuilt, asked)
        for project in projects:
            assert differences(answers(project, asked), expected) == []
