"""Workers that the system kills, many of them: each costs one file at most, and the run ends well."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from findspot import Project
from findspot.core.model import IndexState, Progress
from findspot.indexing import pipeline
from findspot.indexing.workers import SparePool
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


def workers_of(pid: int) -> list[int]:
    with subprocess.Popen(
        ["ps", "-ww", "-A", "-o", "pid=,ppid=,args="], stdout=subprocess.PIPE, text=True
    ) as listing:
        lines = [line.split(maxsplit=2) for line in listing.communicate()[0].splitlines()]
    return [int(own) for own, parent, what in lines if int(parent) == pid and "indexing.worker" in what]


def test_killed_from_outside_at_any_moment(make_project: Callable[..., Project]) -> None:
    """All workers at once, where they happen to be: what they were at is tried again last."""
    body = "\n\n".join(f"def area_{n}(width, height):\n    return width * height + {n}" for n in range(60))
    project = make_project({f"part_{n:03}.py": f"# part {n}\n{body}\n" for n in range(240)})
    project.index.workers = SparePool()
    kills = 0

    def kill(at: Progress) -> None:
        nonlocal kills
        if at.phase == "indexing" and at.done % 20 == 0 and at.done <= 200:
            for pid in workers_of(os.getpid()):
                os.kill(pid, signal.SIGKILL)
                kills += 1

    report = pipeline.apply(project.index.run(asked=True, progress=kill))
    assert kills > 4
    assert (report.total_files, report.errors) == (240, ())
    assert project.status().state is IndexState.READY
