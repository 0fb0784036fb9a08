"""Workers that the system kills, many of them: each costs one file at most, and the run ends well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from killing import FATAL, Killing
from program import Program

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")


def test_a_run_ends_well_however_many_are_killed(tmp_path: Path) -> None:
    root = tmp_path / "project"
    killing = Killing(root, tmp_path / "killing", files=160)
    findspot = Program(home=tmp_path / "home", cwd=root)
    ended = findspot("index", "--json", env={"PYTHONPATH": killing.path})
    assert ended.code == 0, ended.err
    assert killing.killed > 16
    assert ended.json["totalFiles"] == killing.files - 1
    assert [error["path"] for error in ended.json["errors"]] == [FATAL]
    again = findspot("index", "--json")
    assert again.json["totalFiles"] == killing.files
