"""A run that is told to stop: at once, and without losing what it had finished."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import contents, fresh_contents
from findspot import Project
from findspot.core.errors import CancelledError
from findspot.core.model import IndexState, Progress, Query
from findspot.core.progress import CancelToken

FILES = {f"pkg/mod{n}.py": f"def function{n}():\n    return {n}\n" for n in range(60)}


def test_what_was_finished_is_kept(make_project: Callable[..., Project], tmp_path: Path) -> None:
    project = make_project(FILES)
    kept = []
    for enough in (10, 25, 40):
        cancel = CancelToken()

        def stop(at: Progress, cancel: CancelToken = cancel, enough: int = enough) -> None:
            if at.phase == "indexing" and at.done >= enough:
                cancel.cancel()

        with pytest.raises(CancelledError):
            project.update(cancel=cancel, progress=stop)
        status = project.status()
        assert status.state is IndexState.INCOMPLETE
        kept.append(status.total_files)
    assert kept == sorted(kept)
    assert kept[0] >= 10
    assert kept[-1] >= 40
    report = project.update()
    assert report.files_indexed <= len(FILES) - kept[-1]
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")


STALL = """
import os, signal, sys
def hook(event, args):
    if event == "open" and isinstance(args[0], str) and args[0].endswith("zz_stalls.py"):
        os.kill(os.getpid(), signal.SIGSTOP)
sys.addaudithook(hook)
"""


def test_what_is_done_is_committed_while_one_file_stalls(
    make_project: Callable[..., Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """security 13: files that were done could not be searched until the stalling one was given up."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(STALL)
    monkeypatch.syspath_prepend(str(tmp_path / "hook"))
    project = make_project({"good.py": "def find_me():\n    return 1\n", "zz_stalls.py": "x = 1\n"})
    cancel = CancelToken()
    stopped: list[CancelledError] = []

    def update() -> None:
        try:
            project.update(cancel=cancel)
        except CancelledError as error:
            stopped.append(error)

    running = threading.Thread(target=update)
    running.start()
    while project.status().total_files < 1:  # for ever, if it were not committed
        running.join(0.01)
    assert [hit.path for hit in project.search(Query("find_me")).hits] == ["good.py"]
    cancel.cancel()
    running.join()
    assert stopped
