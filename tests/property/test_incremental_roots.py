"""Incremental equals full, where two folders make one index."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from test_incremental import CONTENTS, Tree, apply, edit

from contents import contents, fresh_contents
from kept_workers import open_project

ROOTS = ("one", "inner/two")

steps = st.lists(st.tuples(st.sampled_from(ROOTS), edit), min_size=1, max_size=5)


@settings(max_examples=2, derandomize=True, phases=[Phase.generate])
@given(st.lists(steps, min_size=2, max_size=3))
def test_updates_and_a_rebuild_hold_the_same_with_two_roots(
    rounds: list[list[tuple[str, tuple[str, str, object]]]],
) -> None:
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        root = Path(place) / "workspace"
        patch.setenv("FINDSPOT_HOME", str(Path(place) / "home"))
        trees = {name: Tree(root / name) for name in ROOTS}
        for tree in trees.values():
            tree.write("a.py", CONTENTS[0])
            tree.write("docs/e.md", CONTENTS[3])
        (root / ".findspot.json").write_text(json.dumps({"roots": ROOTS}))
        project = open_project(root)
        try:
            for round_of_edits in ([], *rounds):
                for name, step in round_of_edits:
                    action, path, value = step
                    indexed = f"{Path(name).name}/{path}" if action == "reindex" else path
                    apply(trees[name], project, (action, indexed, value))
                project.update()
            assert project.status().pending_changes == 0
            assert {path.partition("/")[0] for path in project.files()[0]} <= {"one", "two"}
            assert contents(project.store) == fresh_contents(project, Path(place) / "fresh")
        finally:
            project.close()
