"""Reading what discovery admitted, though the disk may have changed since."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from findspot.core.files import Folder, TooLargeError
from findspot.core.model import Corpus, Skip, SkipReason, SourceFile
from findspot.discover.root_folder import read_file
from findspot.discover.walk import not_indexable


def source(path: str) -> SourceFile:
    return SourceFile(path, Corpus.CODE, "python", 0, 0)


def reason_of(root: Path, path: str, max_bytes: int = 100) -> SkipReason:
    answer = read_file(root, source(path), max_bytes)
    assert isinstance(answer, Skip)
    assert answer.path == path
    return answer.reason


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "cafe\u0301").mkdir()
    (tmp_path / "link").symlink_to("cafe\u0301")
    for size in (0, 1, 99, 100):
        (tmp_path / "cafe\u0301/e\u0301.py").write_bytes(b"x" * size)
        assert read_file(tmp_path, source("caf\u00e9/\u00e9.py"), 100) == b"x" * size
        assert read_file(tmp_path / "link", source("\u00e9.py"), 100) == b"x" * size
    (tmp_path / "x.py").write_bytes(b"x" * 101)
    assert reason_of(tmp_path, "x.py") is SkipReason.TOO_LARGE


def test_a_file_without_a_size_is_read_to_the_limit() -> None:
    if not Path("/proc/self").exists():
        pytest.skip("needs a /proc")
    with Folder.open(Path("/proc/self")) as folder:
        assert folder.read("status", 100_000).startswith(b"Name:")
        with pytest.raises(TooLargeError):
            folder.read("status", 10)


def test_what_changed_since(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/secret.py").write_text("secret")
    (root / "folder").mkdir(parents=True)
    (root / "file").write_text("")
    (root / "link.py").symlink_to(outside / "deep/secret.py")
    (root / "linked").symlink_to(outside)
    os.mkfifo(root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root / "socket.py"))
        for reason, paths in (
            (SkipReason.VANISHED, ("gone.py", "gone/x.py", "file/x.py")),
            (SkipReason.NOT_REGULAR, ("folder", "pipe.py", "socket.py")),
            (SkipReason.SYMLINK, ("link.py", "linked/deep/secret.py", "linked/secret.py")),
        ):
            assert [reason_of(root, path) for path in paths] == [reason] * 3
    assert reason_of(tmp_path / "no-root", "x.py") is SkipReason.VANISHED


def test_without_handles_links_are_refused_too(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "inner/x.py").write_text("x")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (root / "linked").symlink_to(tmp_path)
    (tmp_path / "outside.py").write_text("secret")
    with Folder.open(root, by_handle=False) as top:
        assert {entry.name for entry in top.scan()} == {"inner", "link.py", "linked"}
        with top.enter("inner") as inner:
            assert inner.read("x.py", 10) == b"x"
            (root / "inner/x.py").unlink()
            (root / "inner").rmdir()
            (root / "inner").symlink_to(tmp_path)
            with pytest.raises(OSError, match="symbolic link"):
                inner.read("outside.py", 10)
        for refused in ("linked", "..", "link.py", "gone"):
            with pytest.raises(OSError):
                top.enter(refused)
        with pytest.raises(OSError, match="symbolic link"):
            top.read("link.py", 10)


def test_a_file_asked_for_by_name_that_cannot_be_read() -> None:
    """search-mcp B11: `reindex_file` on an unreadable file said FILE_NOT_FOUND."""
    error = not_indexable("a.py", Skip("a.py", SkipReason.UNREADABLE, "Permission denied"))
    assert error.code == "PERMISSION_DENIED"
    assert "a.py" in error.developer_message
