"""Work that nobody asked for: it creates no index, and continues none that was stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from contents import MakeProject
from findspot import Engine, Project
from findspot.core.errors import (
    CancelledError,
    FileLimitError,
    IndexCorruptError,
    IndexNotFoundError,
    IndexStoppedError,
)
from findspot.core.model import IndexState, Progress
from findspot.core.progress import CancelToken
from findspot.sync.supervisor import Supervisor

FILES = {f"pkg/module{n}.py": f"def function_{n}():\n    return {n}\n" for n in range(40)}
PATHS = (None, frozenset({"pkg/module1.py"}))


class Stopping:
    """Cancels a run as soon as a file is done."""

    def __init__(self, *, interrupt: bool = False) -> None:
        self.cancel = CancelToken()
        self._stop = self.cancel.interrupt if interrupt else self.cancel.cancel

    def __call__(self, progress: Progress) -> None:
        if progress.phase == "indexing":
            self._stop()


def stop(project: Project, **options: bool) -> None:
    stopping = Stopping(**options)
    with pytest.raises(CancelledError):
        project.update(progress=stopping, cancel=stopping.cancel)
    assert project.status().state is IndexState.INCOMPLETE


@pytest.mark.parametrize("paths", PATHS)
def test_it_creates_no_index(make_project: MakeProject, paths: frozenset[str] | None) -> None:
    """A deletion in another process may come at any moment."""
    project = make_project(FILES)
    other = Project(project.root)
    with pytest.raises(IndexNotFoundError):
        project.index.refresh(paths, CancelToken())
    project.update()
    other.delete()
    with pytest.raises(IndexNotFoundError):
        project.index.refresh(paths, CancelToken())
    with pytest.raises(IndexNotFoundError):
        project.reindex_file("pkg/module1.py")
    assert not project.store.folder.exists()
    other.close()


def test_a_damaged_index_is_rebuilt_all_the_same(make_project: MakeProject) -> None:
    project = make_project(FILES)
    project.update()
    project.close()
    (project.store.folder / "index.sqlite").write_bytes(b"no database" * 1000)
    project.index.refresh(None, CancelToken())
    assert project.status().total_files == len(FILES)


@pytest.mark.parametrize("paths", PATHS)
def test_what_was_stopped_waits_until_somebody_asks(
    make_project: MakeProject, paths: frozenset[str] | None
) -> None:
    project = make_project(FILES)
    stop(project)
    assert not project.index.wanted
    before = project.status().total_files
    with pytest.raises(IndexStoppedError):
        project.index.refresh(paths, CancelToken())
    assert project.status().total_files == before
    (note,) = project.status().notes
    assert note.startswith("Indexing was stopped: only ")
    project.reindex_file("pkg/module1.py")
    assert not project.index.wanted
    project.update()
    assert project.index.wanted
    assert (project.status().state, project.status().notes) == (IndexState.READY, ())


def test_a_stop_while_files_are_looked_for_counts_too(make_project: MakeProject) -> None:
    project = make_project(FILES)
    stop(project, interrupt=True)
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        project.update(cancel=cancel)
    assert not project.index.wanted


def test_a_stopped_rebuild_leaves_a_complete_index_as_it_was(make_project: MakeProject) -> None:
    project = make_project(FILES)
    project.update()
    stopping = Stopping()
    with pytest.raises(CancelledError):
        project.update(force=True, progress=stopping, cancel=stopping.cancel)
    assert project.index.wanted
    assert project.status().state is IndexState.READY


def test_agreement_to_a_large_project_is_remembered_until_it_grows(make_project: MakeProject) -> None:
    """search-mcp A5."""
    project = make_project(FILES, maxFiles=10)
    with pytest.raises(FileLimitError):
        project.update()
    project.update(allow_large=True)
    project.update()
    project.update(force=True)
    for number in range(20):
        (Path(project.root) / f"more{number}.py").write_text("x = 1\n")
    with pytest.raises(FileLimitError):
        project.update()


def test_a_project_that_cannot_be_watched_yet_is_tried_again(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project answers all the same, so that whoever asks it something can have it repaired."""
    asked: list[Path] = []
    watch = Project.watch

    def fails_once(project: Project, *, delay_s: float = 0.0) -> Supervisor:
        asked.append(project.root)
        engine.opened()  # the engine is not locked meanwhile
        if len(asked) == 1:
            raise IndexCorruptError("the copy is damaged")
        return watch(project, delay_s=delay_s)

    monkeypatch.setattr(Project, "watch", fails_once)
    root = tmp_path / "project"
    root.mkdir()
    engine = Engine(watching=True)
    project = engine.project(root)
    assert engine.project(root) is project
    assert engine.project(root) is project
    assert asked == [root, root]
    engine.close()
