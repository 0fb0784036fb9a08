"""Watching several folders that make one index."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from test_sync import holds, until, watched

from contents import contents, fresh_contents
from findspot import Project

FILES = {
    "one/a.py": "first = 1\n",
    "inner/two/b.py": "second = 1\n",
    "three/c.py": "third = 1\n",
}


def test_changes_in_every_root_are_noticed(make_project: Callable[..., Project], tmp_path: Path) -> None:
    project = make_project(FILES | {".findspot.json": json.dumps({"roots": ["one", "inner/two"]})})
    project.update()
    watched(project)
    root = project.root
    (root / "one/a.py").write_text("changed_first = 1\n")
    (root / "inner/two/deep").mkdir()
    (root / "inner/two/deep/new.py").write_text("made_later = 1\n")
    (root / "three/c.py").write_text("nobody_looks_here = 1\n")
    until(lambda: holds(project, "one/a.py", "changed_first") and holds(project, "two/deep/new.py", "made"))
    (root / ".findspot.json").write_text(json.dumps({"roots": ["one", "three"]}))
    until(lambda: holds(project, "three/c.py", "nobody_looks_here") and "two/b.py" not in project.files()[0])
    (root / "three/c.py").write_text("looked_at_now = 1\n")
    until(lambda: holds(project, "three/c.py", "looked_at_now"))
    project.unwatch()
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")
