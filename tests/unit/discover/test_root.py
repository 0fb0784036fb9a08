"""Where a project begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.discover.checkouts import MARKERS, checkout_around, find_root, folders_around


@pytest.mark.parametrize("marker", MARKERS)
def test_each_marker_makes_a_root(tmp_path: Path, marker: str) -> None:
    deep = tmp_path / "project" / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "project" / marker).touch()
    assert find_root(deep) == tmp_path / "project"
    assert find_root(tmp_path / "project") == tmp_path / "project"


def test_the_nearest_marker_wins(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "packages" / "one"
    (inner / "src").mkdir(parents=True)
    (inner / "package.json").touch()
    assert find_root(inner / "src") == inner
    assert find_root(tmp_path / "packages") == tmp_path


def test_the_top_of_a_checkout_is_the_last_folder_around(tmp_path: Path) -> None:
    """first-impression B1: what is above a checkout does not hold its files."""
    inner = tmp_path / "worktrees" / "one"
    (inner / "src").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert list(folders_around(inner / "src"))[-1] == tmp_path
    (inner / ".git").write_text("gitdir: elsewhere\n")
    assert list(folders_around(inner / "src")) == [inner / "src", inner]
    assert checkout_around(inner / "src") == inner
    (inner / ".git").unlink()
    (inner / ".git").symlink_to("gone")
    assert find_root(inner / "src") == checkout_around(inner / "src") == inner


def test_it_can_start_from_a_file_or_from_what_is_gone(tmp_path: Path) -> None:
    (tmp_path / "go.mod").touch()
    (tmp_path / "main.go").touch()
    assert find_root(tmp_path / "main.go") == tmp_path
    assert find_root(tmp_path / "gone" / "deeper") == tmp_path


def test_without_a_marker_there_is_no_root() -> None:
    if not any((Path("/") / marker).exists() for marker in MARKERS):
        assert find_root(Path("/")) is None
