"""Which part of a project a question or a run is about."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from contents import write_files
from findspot.serve.project_files import overlap_note
from kept_workers import KeptEngine


def test_folders_with_an_index_of_their_own_are_named(home: Path, tmp_path: Path) -> None:
    """But not those that the index around them leaves out."""
    project = tmp_path / "project"
    files = {f"{name}/a.py": "x = 1" for name in ("one", "two", "left/out", "clone", "other")}
    write_files(project, {**files, ".gitignore": "left/\n", "clone/.git": "gitdir: elsewhere"})
    (tmp_path / "project-2").mkdir()
    with closing(KeptEngine()) as engine:
        around = engine.project(project)
        around.update()
        assert overlap_note(engine, around) is None
        for name in ("one", "left/out", "clone", "../project-2"):
            engine.project(project / name).update()
        assert (overlap_note(engine, around) or "").endswith(f"until it is deleted: {project / 'one'}.")
        engine.project(project / "two").update()
        assert (overlap_note(engine, around) or "").endswith(f": {project / 'one'}, {project / 'two'}.")
        assert overlap_note(engine, engine.project(project / "one")) is None
