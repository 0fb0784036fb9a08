"""Paths: roots that exist, and relative paths that stay inside them."""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path

import pytest

from findspot.core.errors import InvalidArgumentError, PathNotFoundError, PermissionDeniedError
from findspot.core.paths import index_folder, index_key, project_root, relative_path, storable_root

ROOT = Path("/srv/project")


def test_a_root_is_absolute_and_free_of_links(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    assert project_root(tmp_path / "link" / ".." / "link") == real.resolve()


@pytest.mark.parametrize("name", ["missing", "file", "loop", "nul\0"])
def test_a_root_must_be_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(PathNotFoundError):
        project_root(tmp_path / name)


@pytest.mark.skipif(sys.platform != "linux", reason="macOS and Windows allow names in Unicode only")
def test_a_root_has_a_name_that_can_be_stored(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    with pytest.raises(InvalidArgumentError, match=r"caf\? is not UTF-8"):
        storable_root(folder)
    assert project_root(folder).is_dir()  # what is told about it is no error


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_root_must_be_readable(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    with pytest.raises(PermissionDeniedError):
        project_root(closed)


@pytest.mark.parametrize(
    ("given", "relative"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/./a.py", "src/a.py"),
        ("src/../b.py", "b.py"),
        ("src\\a.py", "src/a.py"),
        ("/srv/project/src/a.py", "src/a.py"),
        ("/srv/other/../project/a.py", "a.py"),
        (unicodedata.normalize("NFD", "café.py"), unicodedata.normalize("NFC", "café.py")),
    ],
)
def test_a_path_is_spelled_as_the_index_spells_it(given: str, relative: str) -> None:
    assert relative_path(ROOT, given) == relative


@pytest.mark.parametrize(
    "given",
    ["../a.py", "src/../../a.py", "/etc/passwd", "/srv/project/../other/a.py", "/srv/project2/a.py",
     "..\\a.py", "~/a.py", "", "a\0b"],
)  # fmt: skip
def test_a_path_outside_is_refused(given: str) -> None:
    with pytest.raises(InvalidArgumentError):
        relative_path(ROOT, given)


def test_an_index_folder_is_named_by_its_project(tmp_path: Path) -> None:
    key = index_key(ROOT)
    assert len(key) == 32
    assert int(key, 16) >= 0
    assert index_folder(tmp_path, ROOT) == tmp_path / "indexes" / key
    assert index_key(ROOT / "src") != key


def test_a_legacy_folder_is_used_where_it_exists(tmp_path: Path) -> None:
    legacy = tmp_path / "indexes" / index_key(ROOT)[:16]
    legacy.mkdir(parents=True)
    assert index_folder(tmp_path, ROOT) == legacy
