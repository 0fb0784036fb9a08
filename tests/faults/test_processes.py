"""Several processes on one index, and processes that are killed at any moment."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import contents, fresh_contents, write_files
from findspot import Project
from findspot.core.model import IndexState

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")

HOLD = """
import sys
from findspot import Project
with Project(sys.argv[1]).store.writer() as writer:
    print("held", flush=True)
    sys.stdin.readline()
"""

INDEX = """
import sys
from findspot import Project
from findspot.core.progress import CancelToken
from findspot.indexing import pipeline
project = Project(sys.argv[1])
def say(progress):
    print(progress.phase, flush=True)
pipeline.COMMIT_S = 0.0
pipeline.apply(project.index.run(asked=True, progress=say))
print("finished", flush=True)
"""

FILES = {
    **{
        f"pkg/mod{n}.py": f"class Thing{n}:\n    def method{n}(self):\n        return {n}\n"
        for n in range(24)
    },
    "README.md": "# Title\n\nSome words about it.\n",
    "data.json": '{"key": "value"}\n',
    "blob.py": b"\x00\x01\x02",
}


def start(script: str, project: Project) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(project.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_first_writer_that_is_killed_leaves_a_readable_status(make_project: Callable[..., Project]) -> None:
    project = make_project(FILES)
    other = start(HOLD, project)
    assert other.stdout
    assert other.stdout.readline() == "held\n"
    assert project.status().state in (IndexState.NOT_FOUND, IndexState.INDEXING)
    end(other)
    assert project.status().state is IndexState.INCOMPLETE
    assert project.update().created


def test_killed_at_any_moment_an_update_is_taken_up_again(
    make_project: Callable[..., Project], tmp_path: Path
) -> None:
    project = make_project(FILES)
    chance = random.Random(20_260)
    for attempt in range(6):
        write_files(project.root, {f"pkg/mod{attempt}.py": f"def changed{attempt}():\n    return 'new'\n"})
        (project.root / f"pkg/mod{attempt + 10}.py").unlink()
        other = start(INDEX, project)
        assert other.stdout
        for _ in range(chance.randrange(1, 14)):
            other.stdout.readline()
        end(other)
        status = project.status()
        assert status.state in (IndexState.NOT_FOUND, IndexState.INCOMPLETE, IndexState.READY)
        if status.state is not IndexState.NOT_FOUND:
            contents(project.store)
    project.update()
    assert project.status().state is IndexState.READY
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")
