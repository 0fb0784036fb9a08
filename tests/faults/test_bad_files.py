"""Files that are wrong in every way there is: each is indexed or has a Skip, and the rest is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import contents, fresh_contents
from findspot import Inquiry, Project, Query
from findspot.core.errors import FileNotIndexedError
from findspot.core.model import IndexState
from findspot.research.findings import Aim
from findspot.serve.project_files import find_files

GOOD = {"good.py": "def good():\n    return 1\n", "notes.md": "# Notes\n\nGood ones.\n"}


def test_odd_contents(make_project: Callable[..., Project]) -> None:
    line = "word " * 1_000_000
    project = make_project(
        {
            **GOOD,
            "latin.py": "# façade\nname = 'café'\n".encode("latin-1"),
            "utf16.py": "name = 'café'\n".encode("utf-16"),
            "bom.py": b"\xef\xbb\xbfname = 1\n",
            "nul.py": b"x = 1\n\0\n",
            "late_nul.txt": b"text " * 3_000 + b"\0 more\n",
            "empty.py": b"",
            "blank.py": b"\n  \n\t\n",
            "line.txt": line,
            "line.py": f"x = '{line}'\n",
            "crlf.py": b"def f():\r\n    return 1\r\n",
        },
        maxFileSize="10MB",
    )
    report = project.update()
    assert report.errors == ()
    skipped = {skip.path: skip.reason for skip in project.skipped()}
    assert skipped == {
        "nul.py": "binary",
        "empty.py": "empty",
        "blank.py": "empty",
        "line.py": "minified",
        "line.txt": "chunk_limit",
    }
    with project.store.snapshot() as snapshot:
        assert "façade" in snapshot.chunks.of_file("latin.py")[0].text
        assert "café" in snapshot.chunks.of_file("utf16.py")[0].text
    contents(project.store)


def test_minified_files_are_found_by_path_and_banner_and_by_nothing_else(
    make_project: Callable[..., Project],
) -> None:
    """What a bundler wrote is indexed with its first passage: names such as `t` would mislead."""
    bundle = "function t(e){return createElement(e)}var n=t(1);" * 10_000
    project = make_project(
        {
            **GOOD,
            "view.js": "export function createElement(e) {\n  return e\n}\n",
            "web/widgets.js": f"/*! Widgets 1.2 by Ada, MIT licence */\n{bundle}\n",
            "web/plain.min.js": bundle,
            "web/plain.min.js.map": "{}",
        }
    )
    project.update()
    begun = ("minified", "only its beginning is indexed")
    assert {skip.path: (skip.reason, skip.detail) for skip in project.skipped()} == {
        "web/widgets.js": begun,
        "web/plain.min.js": begun,
    }
    assert find_files(project, None, "**/*.min.*")[0] == ["web/plain.min.js", "web/plain.min.js.map"]
    assert project.search(Query("Widgets MIT licence")).hits[0].path == "web/widgets.js"
    with project.store.snapshot() as snapshot:
        for path in ("web/widgets.js", "web/plain.min.js"):
            (chunk,) = snapshot.chunks.of_file(path)
            assert len(chunk.text) < 2_000
    callers = project.research(Inquiry(relation=Aim.CALLERS, symbol="createElement"))
    assert not [node for node in callers.nodes if node.path.startswith("web/")]
    assert not [place for place in callers.possible if place.path.startswith("web/")]
    impact = project.research(Inquiry(relation=Aim.IMPACT, symbol="web/plain.min.js"))
    assert not impact.summary.startswith("No ")
    contents(project.store)


def test_a_line_longer_than_a_file_may_be_is_too_large(make_project: Callable[..., Project]) -> None:
    project = make_project({**GOOD, "line.txt": "x" * 5_000_000})
    project.update()
    assert [(skip.path, skip.reason) for skip in project.skipped()] == [("line.txt", "too_large")]


@pytest.mark.parametrize("path", [".", "folder", "nowhere.py", "folder/nowhere.py"])
def test_what_is_no_file_leaves_no_trace(make_project: Callable[..., Project], path: str) -> None:
    project = make_project({**GOOD, "folder/inner.py": "x = 1\n"})
    project.update()
    before = contents(project.store)
    with pytest.raises(FileNotIndexedError):
        project.reindex_file(path)
    assert contents(project.store) == before


def test_a_file_that_may_not_be_read_is_tried_again(make_project: Callable[..., Project]) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    project = make_project({**GOOD, "closed.py": "x = 1\n"})
    (project.root / "closed.py").chmod(0)
    assert [skip.reason for skip in project.update().errors] == ["unreadable"]
    assert project.status().pending_changes == 0
    (project.root / "closed.py").chmod(0o600)
    project.update()
    assert "closed.py" in project.files()[0]


def test_files_that_vanish_or_change_while_they_are_read(
    make_project: Callable[..., Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's own opening of `a.py` takes two files away and changes a third."""
    project = make_project({"a.py": "a = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n", "d/e.py": "e = 1\n"})
    project.update()
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "import os, shutil, sys\n"
        "def hook(event, args):\n"
        "    if event == 'open' and args[0] == 'a.py':\n"
        f"        root = {str(project.root)!r}\n"
        "        if os.path.exists(root + '/d'):\n"
        "            shutil.rmtree(root + '/d'); os.unlink(root + '/b.py')\n"
        "            os.symlink('/etc/hostname', root + '/b.py')\n"
        "            print('c = 2', file=os.fdopen(os.open(root + '/c.py', os.O_WRONLY | os.O_TRUNC), 'w'))\n"
        "sys.addaudithook(hook)\n"
    )
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(hook))
        project.close()  # a worker kept from the first run would not load the hook
        assert project.update(force=True).files_indexed == 2
    assert project.files()[0] == ["a.py", "c.py"]
    project.update()
    assert contents(project.store) == fresh_contents(project, tmp_path / "fresh")
    assert project.status().state is IndexState.READY


def test_a_project_that_is_gone_is_told(make_project: Callable[..., Project]) -> None:
    import shutil

    from findspot.core.errors import PathNotFoundError

    project = make_project(GOOD)
    project.update()
    shutil.rmtree(project.root)
    with pytest.raises(PathNotFoundError):
        project.update()
    last_error = project.status().last_error
    assert last_error is not None
    assert str(project.root) in last_error
    assert project.files()[1] == 2
