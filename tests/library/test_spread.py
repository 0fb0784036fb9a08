"""Indexing on a Ray cluster of several processes: the same index, whichever of them dies."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from contents import contents, fresh_contents, write_files
from findspot import Project
from findspot.core.errors import CancelledError, InvalidArgumentError
from findspot.core.model import Progress, SkipReason
from findspot.core.progress import CancelToken
from findspot.indexing.spread import cut_files
from findspot.indexing.workers import Setup

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")

FATAL = """
import os, sys, time
def watch(frame, event, _):
    if event == "call" and frame.f_code.co_name == "chunk_file":
        while not os.path.exists({go_on!r}):
            time.sleep(0.01)
        if frame.f_locals["file"].path == "fatal.py":
            os._exit(9)
sys.setprofile(watch)
"""
"""Ends any worker that begins to cut the file, as a parser's crash would; none cuts before it may go on."""


@pytest.fixture
def root(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project of several batches, one of whose modules must not be taken for the real one."""
    import ray

    root = tmp_path / "project"
    body = "\n\n".join(f"def area_{n}(width, height):\n    return width * height + {n}" for n in range(30))
    write_files(root, {f"part_{number:02}.py": f"# part {number}\n{body}\n" for number in range(36)})
    write_files(root, {"numpy.py": "raise SystemExit('the project was imported')\n", "guide.md": "# Areas\n"})
    monkeypatch.chdir(root)
    yield root
    ray.shutdown()


def workers_at_work() -> list[int]:
    """The processes below this one that run a task now."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    ours = {os.getpid()}
    for _ in range(4):  # the cluster's own processes stand between
        ours |= {int(pid) for pid, parent, *_ in rows if int(parent) in ours}
    return [int(row[0]) for row in rows if int(row[0]) in ours and row[-1].startswith("ray::cut_files")]


def test_one_is_killed_and_one_file_is_fatal(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(root, {"fatal.py": "def fatal():\n    return 1\n"})
    go_on = tmp_path / "go-on"
    write_files(tmp_path / "hook", {"sitecustomize.py": FATAL.format(go_on=str(go_on))})
    killed: list[int] = []
    over = threading.Event()

    def kill_one() -> None:
        while not killed and not over.is_set():
            for pid in workers_at_work()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            over.wait(0.1)
        go_on.touch()

    killer = threading.Thread(target=kill_one)
    killer.start()
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path / "hook"))
        spread = Project(root, {"workers": "local"})
        try:
            report = spread.update()
        finally:
            over.set()
            killer.join()
    assert killed
    assert report.files_indexed == 38
    assert [(skip.path, skip.reason) for skip in report.errors] == [("fatal.py", SkipReason.WORKER_CRASHED)]
    spread.close()
    (root / "fatal.py").unlink()
    here = Project(root)
    here.update()
    assert contents(here.store) == fresh_contents(here, tmp_path / "other")
    here.close()


@pytest.mark.nightly
def test_a_stopped_run_goes_on_where_it_was(root: Path) -> None:
    token = CancelToken()

    def stop(progress: Progress) -> None:
        if progress.phase == "indexing" and progress.done >= 10:
            token.cancel()

    project = Project(root, {"workers": "ray://local"})
    with pytest.raises(CancelledError):
        project.update(progress=stop, cancel=token)
    project.close()
    assert Project(root).update().files_unchanged >= 10


def test_what_is_missing_is_named(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path / "project", {"one.py": "x = 1\n"})
    project = Project(tmp_path / "project", {"workers": "local"})
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidArgumentError) as refused:
        project.update()
    assert "findspot[ray]" in refused.value.hint
    project.close()


def test_a_node_with_another_version_is_named(root: Path) -> None:
    setup = Setup(root, "local:static", "syntax", 1 << 20)
    with pytest.raises(RuntimeError, match=r"this node .+ the indexer has 0\.0\.9"):
        cut_files(setup, [], "0.0.9")


def test_a_cluster_that_is_not_there_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding teams AWKWARD: an unreachable cluster took half a minute."""
    write_files(tmp_path / "project", {"one.py": "x = 1\n"})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        project = Project(tmp_path / "project", {"workers": f"ray://127.0.0.1:{silent.getsockname()[1]}"})
        for name in ("INITIAL_TIMEOUT_SEC", "MAX_TIMEOUT_SEC"):  # where a port is open
            monkeypatch.setattr(f"ray.util.client.worker.{name}", 0.1)
        with pytest.raises(InvalidArgumentError) as unreachable:
            project.update()
        project.close()
    assert "cannot be used" in unreachable.value.user_message
