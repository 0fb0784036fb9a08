"""A run that is told to stop: at once, and without losing what it had finished."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contents import contents, fresh_contents
from findspot import Project
from findspot.core.errors import CancelledError
from findspot.core.model import IndexState, Progress
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
