"""A second worktree, clone or copy begins from the index of the first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contents import contents, fresh_contents, write_files
from findspot import Project, Query
from findspot.core.model import IndexState
from findspot.indexing.adoption import MIN_FILES
from kept_workers import open_project

FILES = {
    **{
        f"pkg/mod{n}.py": f"class Thing{n}:\n    def method{n}(self):\n        return {n}\n"
        for n in range(MIN_FILES)
    },
    "README.md": "# Title\n\nSome words about it.\n",
    "blob.py": b"\x00\x01\x02",
}

Copied = Callable[..., Project]


@pytest.fixture
def first(make_project: Callable[..., Project]) -> Project:
    project = make_project(FILES)
    project.update()
    return project


@pytest.fixture
def copied(first: Project, tmp_path: Path) -> Iterator[Copied]:
    """Another folder with the same files, which are written later."""
    opened: list[Project] = []

    def copy(flags: dict[str, object] | None = None) -> Project:
        root = tmp_path / "second"
        shutil.copytree(first.root, root)
        for path in root.rglob("*.py"):
            os.utime(path, ns=(1, 1))
        opened.append(open_project(root, flags))
        return opened[-1]

    yield copy
    for project in opened:
        project.close()


def test_what_is_the_same_is_taken_over(first: Project, copied: Copied, tmp_path: Path) -> None:
    second = copied()
    report = second.update()
    assert (report.created, report.files_indexed) == (True, 0)
    assert report.files_unchanged == MIN_FILES + 1
    assert str(first.root) in report.notes[-1]
    assert contents(second.store) == fresh_contents(second, tmp_path / "fresh")
    status = second.status()
    assert (status.state, status.pending_changes, status.project_path) == (
        IndexState.READY,
        0,
        str(second.root),
    )
    assert second.search(Query("method7")).hits[0].path == "pkg/mod7.py"
    assert second.store.folder.stat().st_mode & 0o077 == 0 or os.name == "nt"


def test_what_differs_is_not(first: Project, copied: Copied, tmp_path: Path) -> None:
    """Another content of the same size and time, a file more, and a file less."""
    second = copied()
    same_size = (second.root / "pkg/mod3.py").read_text().replace("method3", "methodX")
    write_files(second.root, {"pkg/mod3.py": same_size, "pkg/more.py": "def more():\n    return 1\n"})
    before = (first.root / "pkg/mod3.py").stat()
    os.utime(second.root / "pkg/mod3.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    (second.root / "pkg/mod4.py").unlink()
    report = second.update()
    assert (report.files_indexed, report.files_removed) == (2, 1)
    assert contents(second.store) == fresh_contents(second, tmp_path / "fresh")
    assert contents(first.store) == fresh_contents(first, tmp_path / "fresh-first")


def test_an_index_that_is_cut_otherwise_is_no_beginning(copied: Copied) -> None:
    report = copied({"chunkingStrategy": "character"}).update()
    assert report.files_indexed == MIN_FILES + 1


def test_nor_one_that_is_unfinished_or_damaged_or_busy(first: Project, copied: Copied) -> None:
    second = copied()
    with first.store.writer() as writer:
        writer.set_meta(build="incomplete")
        writer.commit()
        assert second.update().files_indexed == MIN_FILES + 1
        writer.set_meta(build="complete")
        writer.commit()
        second.delete()
        assert second.update().files_indexed == MIN_FILES + 1, "it is being written"
    first.close()
    first.store.database.write_bytes(b"no database" * 100)
    second.delete()
    assert second.update().files_indexed == MIN_FILES + 1


def test_what_a_killed_beginning_left_is_in_nobodys_way(
    first: Project, copied: Copied, tmp_path: Path
) -> None:
    second = copied()
    folder = second.store.folder
    shutil.copytree(first.store.folder / "vectors", folder / "vectors")
    (folder / "index.sqlite.new").write_bytes(b"half a copy")
    assert second.status().state is IndexState.NOT_FOUND
    second.update()
    assert contents(second.store) == fresh_contents(second, tmp_path / "fresh")
    assert not (folder / "index.sqlite.new").exists()
