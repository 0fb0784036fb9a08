"""Which path has to be looked at when the system reports a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.indexing.delta import outermost
from findspot.sync.changed_paths import EVERYTHING, changed_path


@pytest.mark.parametrize(
    ("reported", "path"),
    [
        ("a.py", "a.py"),
        ("src/deep/a.py", "src/deep/a.py"),
        ("node_modules/x/index.js", None),
        ("src/__pycache__/a.cpython-311.pyc", None),
        (".git/index", None),
        (".git", None),
        ("src/.git", "src"),
        ("src/.git/index", None),
        ("node_modules/x/.git", None),
        ("src/.a.py.swp", None),
        (".env.local", None),
        ("server.key", None),
        ("a.py~", "a.py~"),
        (".gitignore", EVERYTHING),
        (".findspot.json", EVERYTHING),
        ("src/.gitignore", "src"),
        ("src/.findspotignore", "src"),
        ("src/cafe\u0301.py", "src"),
        ("build", "build"),
        ("", EVERYTHING),
        ("../outside.py", None),
    ],
)
def test_the_deny_list_comes_first_and_rules_hold_below_them(
    tmp_path: Path, reported: str, path: str | None
) -> None:
    assert changed_path(tmp_path, f"{tmp_path}/{reported}".rstrip("/")) == path


def test_a_denied_name_counts_for_folders_only(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    assert changed_path(tmp_path, f"{tmp_path}/build") is None


def test_what_happens_in_the_home_changes_no_index(tmp_path: Path, home: Path) -> None:
    for path in ("", "/.gitignore", "/indexes/x/config.json"):
        assert changed_path(tmp_path, f"{home}{path}") is None
    assert changed_path(home, f"{home}/indexes/x/config.json") is None
    assert changed_path(home / "indexes", f"{home}/indexes/x/config.json") is None
    assert changed_path(home, f"{home}/a.py") == "a.py"
    assert changed_path(tmp_path, f"{home}-2/a.py") == "findspot-home-2/a.py"


def test_paths_below_others_are_left_out() -> None:
    assert outermost(["a/b/c.py", "a/b", "a.py", "ab", "a/bc", "a/b/d/e.py"]) == ("a.py", "a/b", "a/bc", "ab")
