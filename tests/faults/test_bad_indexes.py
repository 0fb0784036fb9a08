"""Indexes that are damaged, of another model or format, on a full disk, or gone."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contents import (
    Contents,
    contents,
    fresh_contents,
    write_files,
    written_by_newer_version,
)
from findspot import Document, NamedIndexes, Project, Query
from findspot.core.errors import (
    CancelledError,
    DiskFullError,
    IndexFormatError,
    IndexNotFoundError,
    PermissionDeniedError,
)
from findspot.core.files import make_private_dir, remove_entry
from findspot.core.model import IndexState
from findspot.core.progress import CancelToken

FILES = {
    **{f"pkg/mod{n}.py": f"class Thing{n}:\n    def method(self):\n        return {n}\n" for n in range(12)},
    "README.md": "# Title\n\nSome words.\n",
}

MakeProject = Callable[..., Project]


def indexed(make_project: MakeProject) -> tuple[Project, Contents]:
    """A project with an index that nobody has open, and what that holds."""
    project = make_project(FILES)
    project.update()
    before = contents(project.store)
    project.close()
    return project, before


def header_overwritten(database: Path) -> None:
    with database.open("r+b") as file:
        file.write(b"this is no database at all")


def pages_zeroed(database: Path) -> None:
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(4096)
        file.write(b"\0" * (size - 2 * 4096))


def another_kind(database: Path) -> None:
    database.unlink()
    with sqlite3.connect(database) as db:
        db.execute("CREATE TABLE something_else (x)")
        db.execute("PRAGMA user_version = 1")
    db.close()


@pytest.mark.parametrize("damage", [header_overwritten, pages_zeroed, another_kind])
def test_a_damaged_database_is_set_aside_and_built_anew(
    make_project: MakeProject, damage: Callable[[Path], None]
) -> None:
    project, before = indexed(make_project)
    damage(project.store.database)
    status = project.status()
    assert status.state is IndexState.FAILED
    assert status.last_error
    assert "INDEX_CORRUPT" in status.last_error
    report = project.update()
    assert report.created
    assert report.files_indexed == report.total_files == len(FILES)
    assert contents(project.store) == before
    assert (project.store.folder / "index.bak" / "index.sqlite").is_file()
    assert project.status().state is IndexState.READY
    assert project.status().last_error is None


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_derived_folder_that_is_something_else_is_made_again(
    make_project: MakeProject, tmp_path: Path, kind: str
) -> None:
    project = make_project(FILES)
    project.update()
    before = contents(project.store)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept.txt").write_text("not ours")
    folder = project.store.folder / "vectors"
    shutil.rmtree(folder)
    if kind == "file":
        folder.write_text("x")
    else:
        folder.symlink_to(elsewhere)
    project.update()
    assert contents(project.store) == before
    assert [path.name for path in elsewhere.iterdir()] == ["kept.txt"]


@pytest.mark.parametrize("name", ["", "indexes", "indexes/*"])
def test_a_file_in_the_place_of_a_folder(make_project: MakeProject, name: str) -> None:
    """The file is named, with what to do; nothing is removed that we did not write."""
    project = make_project(FILES)
    folder = project.store.folder
    blocked = {"": folder.parent.parent, "indexes": folder.parent, "indexes/*": folder}[name]
    remove_entry(blocked)
    make_private_dir(blocked.parent)
    blocked.write_text("mine")
    with pytest.raises(PermissionDeniedError, match=re.escape(f"{blocked} is not a folder")) as caught:
        project.update()
    assert "Remove or rename it" in caught.value.hint
    assert project.status().state is IndexState.NOT_FOUND
    with pytest.raises(IndexNotFoundError):
        project.search(Query("order"))
    assert blocked.read_text() == "mine"


def test_a_newer_format_needs_to_be_asked_for(make_project: MakeProject) -> None:
    project, before = indexed(make_project)
    written_by_newer_version(project.store.folder)
    assert project.status().state is IndexState.FAILED
    with pytest.raises(IndexFormatError):
        project.update()
    assert project.store.exists
    project.update(force=True)
    assert contents(project.store) == before


def test_interrupted_while_changing_models_it_is_not_ready(make_project: MakeProject, tmp_path: Path) -> None:
    project = make_project(FILES)
    with project.store.writer() as writer:
        writer.set_meta(model="other:model@1/64", pipeline="older", created_at="2020-01-01T00:00:00Z")
        writer.set_meta(build="complete")
        writer.commit()
    cancel = CancelToken()
    with pytest.raises(CancelledError):
        project.update(force=True, cancel=cancel, progress=lambda at: at.done and cancel.cancel())
    assert project.status().state is IndexState.INCOMPLETE
    project.update()
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")


def test_a_change_of_strategy_that_is_interrupted_leaves_no_mixture(
    make_project: MakeProject, tmp_path: Path
) -> None:
    """Cut one way, half redone another way, then configured back."""
    project = make_project(FILES)
    project.update()
    before = contents(project.store)
    by_size = Project(project.root, {"chunkingStrategy": "character"})
    by_size_run = CancelToken()
    with pytest.raises(CancelledError):
        by_size.update(cancel=by_size_run, progress=lambda at: at.done > 6 and by_size_run.cancel())
    by_size.close()
    project.update()
    assert contents(project.store) == before


def test_no_room_at_all(make_project: MakeProject) -> None:
    """A limit on the size of files stands for a quota; what was committed before stays."""
    project, before = indexed(make_project)
    write_files(
        project.root, {f"new{n}.py": f"def new{n}():\n    '''{'text ' * 400}'''\n" for n in range(60)}
    )
    script = (
        "import resource, sys\n"
        "from findspot import Project, FindspotError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n    Project(sys.argv[1]).update()\n"
        "except FindspotError as error:\n    print(error.code)\n"
    )
    if os.name == "nt":
        pytest.skip("no limits on Windows")
    done = subprocess.run(
        [sys.executable, "-c", script, str(project.root)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "DISK_FULL\n"
    assert not (project.store.folder / "index.bak").exists()
    assert {
        path: row for path, row in contents(project.store).files.items() if path in before.files
    } == before.files
    project.update()
    assert project.files()[1] == len(FILES) + 60


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Small file systems of our own, where the system lets us mount them."""
    places: list[Path] = []

    def mount(options: str) -> Path:
        place = tmp_path / "mounted"
        place.mkdir(exist_ok=True)
        tool = shutil.which("mount")
        command = [tool or "", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if not tool or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("mounting needs rights that this user does not have")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(
    make_project: MakeProject,
    mounted: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    place = mounted("size=3m")
    monkeypatch.setenv("FINDSPOT_HOME", str(place / "home"))
    project = make_project(FILES)
    project.update()
    before = contents(project.store)
    write_files(
        project.root,
        {f"new{n}.txt": "".join(f"line {k} of {n}: {'text ' * 30}\n" for k in range(400)) for n in range(40)},
    )
    with pytest.raises(DiskFullError) as full:
        project.update()
    assert "need ~" in full.value.developer_message
    assert full.value.needed_mb is not None
    assert full.value.needed_mb >= 3
    assert not (project.store.folder / "index.bak").exists()
    assert project.status().state is IndexState.READY
    assert "DISK_FULL" in str(project.status().last_error)
    subprocess.run(["mount", "-o", "remount,size=32m", str(place)], check=True)
    project.update()
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")
    assert contents(project.store).files.keys() > before.files.keys()


def fill(place: Path) -> None:
    """Leave no byte free on a file system."""
    with contextlib.suppress(OSError), (place / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))


def test_a_full_disk_still_answers(
    make_project: MakeProject, mounted: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several processes at once: none keeps the index to itself between two questions."""
    place = mounted("size=8m")
    monkeypatch.setenv("FINDSPOT_HOME", str(place / "home"))
    project, _ = indexed(make_project)
    documents = NamedIndexes(place / "home", 1_000_000)
    documents.create("notes", "disk")
    documents.add([Document.checked("one", "a note about lanterns")], "notes")
    documents.close()
    fill(place)
    with pytest.raises(DiskFullError):
        documents.add([Document.checked("two", "no room for this one")], "notes")
    script = (
        "import sys\n"
        "from findspot import Project, Query\n"
        "project = Project(sys.argv[1])\n"
        "print(project.status().state.value, project.search(Query('Thing7')).hits[0].path)\n"
    )
    for _ in range(2):
        assert project.search(Query("Thing3")).hits[0].path == "pkg/mod3.py"
        assert project.status().state is IndexState.READY
        assert [found.doc_id for found in documents.search("lanterns", 5, "notes").results] == ["one"]
        done = subprocess.run(
            [sys.executable, "-c", script, str(project.root)], capture_output=True, text=True, check=True
        )
        assert done.stdout == "ready pkg/mod7.py\n"
    (place / "filler").unlink()
    write_files(project.root, {"more.py": "def more_things():\n    return 1\n"})
    assert project.update().files_indexed == 1
    assert project.search(Query("more_things")).hits[0].path == "more.py"
