"""Watching when things go wrong: processes that end, indexes and projects that go, trouble of all kinds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import contents, fresh_contents, write_files
from e2e.harness import until
from findspot import Project, Query
from findspot.core.model import IndexState
from findspot.sync.changed_paths import read_dirty
from findspot.sync.supervisor import LOCK_NAME
from findspot.sync.watcher import Watcher

FILES = {
    **{
        f"pkg/mod{n}.py": f"class Thing{n}:\n    def method{n}(self):\n        return {n}\n" for n in range(6)
    },
    "README.md": "# Title\n\nSome words.\n",
}

WATCH = """
import sys
import time
from findspot import Project
project = Project(sys.argv[1])
while not project.watch().status.watching:
    time.sleep(0.01)
print("watching", flush=True)
sys.stdin.readline()
"""

MakeProject = Callable[..., Project]


def watched(project: Project) -> None:
    """Watch, and wait until the first check is over."""
    supervisor = project.watch()
    until(lambda: supervisor.status.watching and supervisor.status.checked)


def holds(project: Project, path: str, text: str) -> bool:
    with project.store.snapshot() as snapshot:
        return any(text in chunk.text for chunk in snapshot.chunks.of_file(path))


@pytest.fixture
def project(make_project: MakeProject) -> Project:
    made = make_project(FILES)
    made.update()
    return made


def test_a_day_of_edits_ends_in_the_index_of_a_rebuild(project: Project, tmp_path: Path) -> None:
    watched(project)
    root = project.root
    write_files(root, {"pkg/mod1.py": "def changed():\n    return 1\n", "new/deep/a.py": "deep = 1\n"})
    (root / "pkg/mod2.py").unlink()
    (root / "pkg/mod3.py").rename(root / "pkg/renamed.py")
    until(lambda: holds(project, "new/deep/a.py", "deep") and holds(project, "pkg/renamed.py", "Thing3"))
    (root / "new").rename(root / "moved")
    write_files(root, {".gitignore": "mod4.py\n", "blob.bin": b"\0\1", "moved/deep/b.py": "later = 1\n"})
    until(lambda: holds(project, "moved/deep/b.py", "later") and not holds(project, "pkg/mod4.py", "Thing4"))
    until(lambda: not holds(project, "new/deep/a.py", "deep") and not holds(project, "pkg/mod2.py", "Thing2"))
    until(lambda: project.status().pending_changes == 0)
    until(lambda: contents(project.store) == fresh_contents(project, tmp_path / "fresh"))


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_one_watches_and_another_takes_over(project: Project) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", WATCH, str(project.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout
    assert other.stdout.readline() == "watching\n"
    supervisor = project.watch()
    assert project.status().watcher_active
    write_files(project.root, {"pkg/mod0.py": "def by_the_other():\n    return 0\n"})
    until(lambda: holds(project, "pkg/mod0.py", "by_the_other"))
    assert not supervisor.status.watching
    other.kill()
    other.communicate()
    write_files(project.root, {"pkg/mod1.py": "def while_nobody():\n    return 0\n"})
    until(lambda: holds(project, "pkg/mod1.py", "while_nobody"))
    assert supervisor.status.watching
    project.unwatch()
    assert not project.status().watcher_active


def test_a_watcher_that_crashes_is_started_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first notification fails, as a bug or the system might make it."""
    batches = Watcher.batches
    failed = []

    def failing(self: Watcher):  # type: ignore[no-untyped-def]
        for paths in batches(self):
            if paths and not failed:
                failed.append(paths)
                raise RuntimeError("the watcher broke")
            yield paths

    monkeypatch.setattr(Watcher, "batches", failing)
    watched(project)
    write_files(project.root, {"pkg/mod0.py": "def lost_event():\n    return 0\n"})
    until(lambda: holds(project, "pkg/mod0.py", "lost_event"))
    assert failed
    assert project.watch().status.restarts == 1


def test_an_index_deleted_and_made_again_is_watched_again(project: Project) -> None:
    watched(project)
    shutil.rmtree(project.store.folder)
    until(lambda: not project.watch().status.watching)
    assert project.status().state is IndexState.NOT_FOUND
    assert project.update().created
    until(lambda: (project.store.folder / LOCK_NAME).exists() and project.watch().status.watching)
    write_files(project.root, {"pkg/mod0.py": "def again():\n    return 0\n"})
    until(lambda: holds(project, "pkg/mod0.py", "again"))


def test_a_project_that_is_moved_away_and_back(project: Project) -> None:
    watched(project)
    elsewhere = project.root.with_name("elsewhere")
    project.root.rename(elsewhere)
    until(lambda: not project.watch().status.watching)
    assert project.files()[1] == len(FILES)
    elsewhere.rename(project.root)
    write_files(project.root, {"pkg/mod0.py": "def back():\n    return 0\n"})
    until(lambda: holds(project, "pkg/mod0.py", "back"))


def test_the_user_goes_first(project: Project) -> None:
    """An update that is asked for never meets this process's own watcher."""
    watched(project)
    for number in range(5):
        write_files(project.root, {"pkg/mod0.py": f"def turn{number}():\n    return 0\n"})
        project.update()
        assert project.reindex_file("pkg/mod1.py") == 2
    assert holds(project, "pkg/mod0.py", "turn4")
    assert project.delete()


def test_strategies_change_while_it_runs(project: Project) -> None:
    watched(project)
    settings = project.store.folder / "config.json"
    given = json.loads(settings.read_text())
    settings.write_text(json.dumps(given | {"indexingStrategy": "lazy", "lazyIdleThreshold": 3600}))

    until(lambda: project.watch().status.strategy == "lazy")
    write_files(project.root, {"pkg/mod0.py": "def unhurried():\n    return 0\n"})
    until(lambda: "pkg/mod0.py" in read_dirty(project.store.folder))
    assert not holds(project, "pkg/mod0.py", "unhurried")
    assert project.search(Query("unhurried", limit=1)).hits[0].path == "pkg/mod0.py"
    assert holds(project, "pkg/mod0.py", "unhurried")
    write_files(project.root, {"pkg/mod1.py": "def hurried():\n    return 0\n"})
    until(lambda: project.watch().status.pending)
    settings.write_text(json.dumps(given | {"indexingStrategy": "realtime"}))
    until(lambda: holds(project, "pkg/mod1.py", "hurried"))
