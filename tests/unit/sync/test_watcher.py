"""What a watcher sees of real changes, by notifications and by looking."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contents import files_wanted, write_files
from findspot.core.platforms import remote_kind
from findspot.sync.watcher import Batches, Watcher

PATIENCE_S = 180.0


class Seen:
    """The batches of one watcher."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        next(batches)  # from here on nothing is missed

    def until(self, enough: Callable[[set[str]], bool]) -> set[str]:
        """All paths up to the batch that makes them enough."""
        seen: set[str] = set()
        deadline = time.monotonic() + PATIENCE_S
        for paths in self._batches:
            seen |= paths
            if enough(seen):
                return seen
            assert time.monotonic() < deadline, seen
        raise AssertionError(f"the watcher ended after {seen}")


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[..., Seen]]:
    stop = threading.Event()
    opened: list[Batches] = []

    def begin(*, polling: bool = False) -> Seen:
        opened.append(Watcher(tmp_path, files_wanted, stop, polling=polling).batches())
        return Seen(opened[-1])

    yield begin
    stop.set()
    for batches in opened:
        batches.close()


@pytest.mark.parametrize("polling", [False, True])
def test_files_that_come_change_and_go(tmp_path: Path, watch: Callable[..., Seen], polling: bool) -> None:
    write_files(tmp_path, {"a.py": "a = 1\n", "b.py": "b = 1\n", "src/c.py": "c = 1\n"})
    seen = watch(polling=polling)
    write_files(tmp_path, {"a.py": "a = 22\n", "src/new.py": "n = 1\n", "node_modules/x.js": "x\n"})
    (tmp_path / "b.py").unlink()
    found = seen.until({"a.py", "b.py", "src/new.py"}.issubset)
    assert not any(path.startswith("node_modules") for path in found)


def test_folders_made_moved_and_removed(tmp_path: Path, watch: Callable[..., Seen]) -> None:
    write_files(tmp_path, {"a.py": "a = 1\n"})
    seen = watch()
    write_files(tmp_path, {"one/two/three.py": "x = 1\n"})
    seen.until(lambda paths: any(path.startswith("one") for path in paths))
    write_files(tmp_path, {"one/two/later.py": "x = 1\n"})
    seen.until(lambda paths: bool({"one/two/later.py", "one/two", "one"} & paths))
    (tmp_path / "one").rename(tmp_path / "uno")
    seen.until({"one", "uno"}.issubset)
    write_files(tmp_path, {"uno/two/last.py": "x = 1\n"})
    seen.until(lambda paths: bool({"uno/two/last.py", "uno/two", "uno"} & paths))
    shutil.rmtree(tmp_path / "uno")
    seen.until(lambda paths: "uno" in paths)


@pytest.mark.parametrize("polling", [False, True])
def test_a_project_that_is_gone_ends_the_watching(tmp_path: Path, polling: bool) -> None:
    project, stop = tmp_path / "project", threading.Event()
    write_files(project, {"a.py": "a = 1\n"})
    batches = Watcher(project, files_wanted, stop, polling=polling).batches()
    next(batches)
    shutil.rmtree(project)
    write_files(tmp_path, {"b.py": "b = 1\n"})
    assert _ends(batches, stop)


def _ends(batches: Batches, stop: threading.Event) -> bool:
    """Return whether a watcher ends by itself."""
    deadline = time.monotonic() + PATIENCE_S
    for _ in batches:
        if time.monotonic() > deadline:
            stop.set()
            return False
    return True


def test_a_folder_that_goes_and_comes_back_is_watched_again(
    tmp_path: Path, watch: Callable[..., Seen]
) -> None:
    """As a branch switch there and back does it; files below another one of its name, too."""
    write_files(tmp_path, {"src/deep/a.py": "a = 1\n", "other/deep/b.py": "b = 1\n"})
    seen = watch()
    shutil.rmtree(tmp_path / "src")
    seen.until(lambda paths: "src" in paths)
    write_files(tmp_path, {"src/deep/a.py": "a = 2\n"})
    seen.until(lambda paths: "src" in paths)
    write_files(tmp_path, {"src/deep/a.py": "a = 3\n"})
    seen.until({"src/deep/a.py"}.issubset)
    (tmp_path / "src").rename(tmp_path / "gone")
    (tmp_path / "other").rename(tmp_path / "src")
    seen.until({"src", "other"}.issubset)
    write_files(tmp_path, {"src/deep/b.py": "b = 2\n"})
    seen.until({"src/deep/b.py"}.issubset)


def test_folders_that_come_one_in_the_other_are_all_watched(
    tmp_path: Path, watch: Callable[..., Seen]
) -> None:
    """Each is made while the watcher may be busy with those above it."""
    write_files(tmp_path, {"a.py": "a = 1\n"})
    seen = watch()
    names = [f"made{tree}/" + "/".join("abcdef"[: depth + 1]) for tree in range(20) for depth in range(6)]

    def make() -> None:
        for name in names:
            (tmp_path / name).mkdir(parents=True)

    maker = threading.Thread(target=make)
    maker.start()
    last = {names[-1].rsplit("/", depth)[0] for depth in range(7)}
    seen.until(lambda paths: not maker.is_alive() and bool(paths & last))
    seen.until(lambda _: True)  # whatever was still on its way has come with the next batch
    files = {f"{name}/new.py" for name in names}
    write_files(tmp_path, dict.fromkeys(files, "n = 1\n"))
    seen.until(files.issubset)


def test_editors_that_write_beside_and_rename(tmp_path: Path, watch: Callable[..., Seen]) -> None:
    write_files(tmp_path, {"a.py": "a = 1\n"})
    seen = watch()
    write_files(tmp_path, {".a.py.swp": "swap", "4913": "", "a.py___jb_tmp___": "a = 3\n"})
    (tmp_path / "4913").unlink()
    (tmp_path / "a.py___jb_tmp___").replace(tmp_path / "a.py")
    found = seen.until(lambda paths: "a.py" in paths)
    assert ".a.py.swp" not in found


def test_remote_file_systems_are_known(tmp_path: Path) -> None:
    table = tmp_path / "mounts"
    table.write_text(
        "/dev/sda1 / ext4 rw 0 0\n"
        "server:/x /mnt/far nfs4 rw 0 0\n"
        "me@host: /mnt/my\\040host fuse.sshfs rw 0 0\n"
    )
    assert remote_kind(Path("/home/me"), str(table)) is None
    assert remote_kind(Path("/mnt/far/project"), str(table)) == "nfs4"
    assert remote_kind(Path("/mnt/my host/p"), str(table)) == "fuse.sshfs"
    assert remote_kind(Path("/home/me"), str(tmp_path / "none")) is None
