"""An index where SQLite cannot share memory between processes, as on network file systems."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import contents, fresh_contents, write_files
from findspot import Project, Query
from findspot.core.model import IndexState

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a folder in place of the shared memory's file")

MakeProject = Callable[..., Project]
FILES = {
    **{
        f"pkg/mod{n}.py": f"class Thing{n}:\n    def method{n}(self):\n        return {n}\n" for n in range(9)
    },
    "README.md": "# Title\n\nSome words about it.\n",
}

SEARCH = """
import sys
from findspot import Project, Query
project = Project(sys.argv[1])
for line in sys.stdin:
    print(project.search(Query("method3")).hits[0].path, flush=True)
"""


def without_shared_memory(project: Project) -> None:
    """SQLite cannot make the file that it would map: what stands there is a folder."""
    project.close()
    project.store.folder.mkdir(parents=True, exist_ok=True)
    (project.store.folder / "index.sqlite-shm").mkdir()


def journal_of(project: Project) -> bytes:
    """The two bytes of the header that say which journal is used: 1 for rollback, 2 for the log."""
    return project.store.database.read_bytes()[18:20]


@pytest.fixture
def project(make_project: MakeProject) -> Project:
    return make_project(FILES)


def test_an_index_that_was_moved_there(project: Project, tmp_path: Path) -> None:
    project.update()
    assert journal_of(project) == b"\2\2"
    assert project.status().notes == ()
    without_shared_memory(project)
    assert project.search(Query("method3")).hits[0].path == "pkg/mod3.py", "it can be read as it is"
    project.close()
    write_files(project.root, {"pkg/more.py": "def more():\n    return 1\n"})
    assert project.update().files_indexed == 1
    assert journal_of(project) == b"\1\1"
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")


def test_others_search_while_it_is_written(
    project: Project, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    without_shared_memory(project)
    with caplog.at_level(logging.WARNING):
        project.update()
    assert journal_of(project) == b"\1\1"
    assert any("no shared memory" in note for note in project.status().notes)
    assert "no shared memory" in caplog.text
    other = subprocess.Popen(
        [sys.executable, "-c", SEARCH, str(project.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdin
    assert other.stdout
    running = threading.Event()
    answers: list[str] = []

    def ask() -> None:
        while not running.is_set() or len(answers) < 5:
            print("go", file=other.stdin, flush=True)
            assert other.stdout
            answers.append(other.stdout.readline())

    asking = threading.Thread(target=ask)
    asking.start()
    for turn in range(5):
        write_files(project.root, {f"pkg/new{n}.py": f"def new{n}_{turn}(): ...\n" for n in range(5)})
        project.update()
    running.set()
    asking.join()
    other.stdin.close()
    assert other.wait() == 0
    assert set(answers) == {"pkg/mod3.py\n"}
    assert project.status().state is IndexState.READY
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")


def test_a_writer_that_is_killed(project: Project, tmp_path: Path) -> None:
    without_shared_memory(project)
    project.update()
    before = contents(project.store)
    script = (
        "import os, signal, sys\nfrom findspot import Project\n"
        "with Project(sys.argv[1]).store.writer() as writer:\n"
        "    writer.remove('pkg/mod1.py')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(project.root)], check=False)
    assert contents(project.store) == before
    project.update()
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")


def test_named_indexes(tmp_path: Path) -> None:
    from findspot import Document, NamedIndexes

    indexes = NamedIndexes(tmp_path, 10_000_000)
    indexes.create("shelf", "disk", {})
    file = next(path for path in tmp_path.iterdir() if path.read_bytes()[:6] == b"SQLite")
    assert file.read_bytes()[18:20] == b"\2\2", "where it works there is a log"
    indexes.drop("shelf")
    Path(f"{file}-shm").mkdir()
    indexes.create("shelf", "disk", {})
    indexes.add([Document.checked("a", "some tea")], "shelf")
    assert indexes.search("tea", 3, "shelf").total_matches == 1
    assert file.read_bytes()[18:20] == b"\1\1"
    indexes.close()
