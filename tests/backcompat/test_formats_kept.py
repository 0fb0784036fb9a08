"""An index that an earlier version wrote is built again by itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from contents import MakeProject, contents, fresh_contents
from findspot import Query
from findspot.core.model import IndexState
from findspot.core.progress import CancelToken

OLD = Path(__file__).parent / "format-1"
FILES = {"src/cart.py": "def total():\n    return 0\n", "README.md": "How to run the shop\n"}


def test_it_is_emptied_and_built_again(make_project: MakeProject, tmp_path: Path) -> None:
    """It says so until then; whoever watches the project builds it, and so does the next command."""
    project = make_project(FILES)
    shutil.copytree(OLD, project.store.folder)
    status = project.status()
    assert (status.state, status.total_files) == (IndexState.INCOMPLETE, 0)
    assert "An older version of Findspot made this index: it is built again." in status.notes
    assert project.index.wanted
    project.index.refresh(None, CancelToken())
    assert (project.status().state, project.status().notes) == (IndexState.READY, ())
    assert project.search(Query("total")).hits[0].path == "src/cart.py"
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")
