"""Links, devices and pipes that lead out of a project, there already or put there meanwhile."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import write_files
from findspot import Project, Query
from findspot.core.model import Mode

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and devices of POSIX")

MakeProject = Callable[..., Project]
GOOD = {f"pkg/mod{n}.py": f"def good{n}():\n    return {n}\n" for n in range(12)}
SECRET = "def forbidden_fruit():\n    return 'of a stranger'\n"
SOMEBODY_ELSE = 65_534

needs_root = pytest.mark.skipif(
    os.name != "nt" and os.geteuid() != 0, reason="devices and strangers' files take root to make"
)


def skips(project: Project) -> dict[str, str]:
    return {skip.path: skip.reason for skip in project.skipped()}


def test_a_hard_link_of_ones_own_is_a_file_like_any(make_project: MakeProject, tmp_path: Path) -> None:
    """A second name cannot be told from the first; whoever made it could as well have made a copy."""
    project = make_project(GOOD)
    (tmp_path / "mine.py").write_text("def my_own():\n    return 1\n")
    (project.root / "linked.py").hardlink_to(tmp_path / "mine.py")
    project.update()
    assert project.search(Query("my_own")).hits[0].path == "linked.py"
    assert skips(project) == {}


def test_but_secrets_stay_secrets_by_any_name(make_project: MakeProject, tmp_path: Path) -> None:
    project = make_project(GOOD)
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAA\n" * 20
    (tmp_path / "id_ed25519").write_text(f"{key}-----END OPENSSH PRIVATE KEY-----\n")
    (project.root / "notes.txt").hardlink_to(tmp_path / "id_ed25519")
    project.update()
    assert skips(project) == {"notes.txt": "masked"}
    assert not project.search(Query("b3BlbnNzaC1rZXk", mode=Mode.REGEX)).hits


@needs_root
def test_a_hard_link_to_a_strangers_file_is_left_out(make_project: MakeProject, tmp_path: Path) -> None:
    project = make_project(GOOD)
    theirs = tmp_path / "theirs.py"
    theirs.write_text(SECRET)
    os.chown(theirs, SOMEBODY_ELSE, SOMEBODY_ELSE)
    (project.root / "pkg/mod3.py").unlink()
    (project.root / "pkg/mod3.py").hardlink_to(theirs)
    project.update()
    assert skips(project) == {"pkg/mod3.py": "not_regular"}
    theirs.unlink()  # one name only, as after unpacking or checking out as another user
    project.update()
    assert skips(project) == {}


@needs_root
def test_nor_is_one_read_that_came_after_the_walk(make_project: MakeProject, tmp_path: Path) -> None:
    from contents import files_wanted
    from findspot.core.model import Skip
    from findspot.discover.root_folder import read_file
    from findspot.discover.walk import walk

    project = make_project(GOOD)
    (file, *_) = walk(project.root, files_wanted()).files
    (tmp_path / "theirs.py").write_text(SECRET)
    os.chown(tmp_path / "theirs.py", SOMEBODY_ELSE, SOMEBODY_ELSE)
    (project.root / file.path).unlink()
    (project.root / file.path).hardlink_to(tmp_path / "theirs.py")
    assert isinstance(read_file(project.root, file, 1_000), Skip)


@needs_root
def test_devices_are_left_out(make_project: MakeProject) -> None:
    project = make_project(GOOD)
    try:
        os.mknod(project.root / "zero.py", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        os.mknod(project.root / "disk.py", stat.S_IFBLK | 0o666, os.makedev(7, 200))
    except PermissionError:
        pytest.skip("this container makes no devices")
    os.mkfifo(project.root / "pipe.py")
    project.update()
    assert skips(project) == dict.fromkeys(("disk.py", "pipe.py", "zero.py"), "not_regular")
    assert project.status().pending_changes == 0


def test_a_file_that_becomes_a_pipe_is_not_waited_for(make_project: MakeProject) -> None:
    project = make_project(GOOD)
    project.update()
    (project.root / "pkg/mod1.py").unlink()
    os.mkfifo(project.root / "pkg/mod1.py")
    for mode in Mode:
        hits = project.search(Query("good1", mode=mode)).hits
        assert "pkg/mod1.py" not in {hit.path for hit in hits}
    project.update()
    assert skips(project) == {"pkg/mod1.py": "not_regular"}


def test_links_that_come_and_go_lead_nowhere(make_project: MakeProject, tmp_path: Path) -> None:
    """A folder and a file are exchanged for links to the outside, over and over, while all is read."""
    project = make_project({**GOOD, "swap/inner.py": "def inner():\n    return 1\n"})
    outside = tmp_path / "outside"
    write_files(outside, {"inner.py": SECRET, "file.py": SECRET})
    stop = threading.Event()

    def exchange() -> None:
        aside, link = tmp_path / "aside", tmp_path / "link"
        while not stop.is_set():
            for inside, target in (("swap", outside), ("pkg/mod2.py", outside / "file.py")):
                link.symlink_to(target)
                (project.root / inside).rename(aside)
                link.rename(project.root / inside)
                (project.root / inside).unlink()
                aside.rename(project.root / inside)

    exchanging = threading.Thread(target=exchange)
    exchanging.start()
    try:
        for _ in range(12):
            project.update()
            for mode in Mode:
                hits = project.search(Query("forbidden_fruit", mode=mode, limit=50)).hits
                assert not [hit for hit in hits if "forbidden_fruit" in hit.text]
    finally:
        stop.set()
        exchanging.join()
    project.update()
    assert project.files()[1] == len(GOOD) + 1
    traces = [
        path
        for path in project.store.folder.rglob("*")
        if path.is_file() and b"forbidden_fruit" in path.read_bytes()
    ]
    assert not traces
