"""What a server loads before anybody asks."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from findspot.serve.library import Library
from kept_workers import KeptEngine


def test_a_server_loads_the_indexed_project_that_it_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    inner = project / "package"
    inner.mkdir(parents=True)
    (inner / "a.py").write_text("def begin():\n    return 1\n")
    with closing(KeptEngine()) as engine:
        engine.project(project).update()
    monkeypatch.chdir(inner)
    library = Library()
    library._prepare()
    engine_here = library._engine
    assert engine_here is not None
    with closing(library):
        assert engine_here.detect(inner).root == project
