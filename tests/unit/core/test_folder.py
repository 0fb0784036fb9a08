"""The careful reader and writer: regular files only, no link followed, nothing waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from findspot.core.errors import SymlinkError
from findspot.core.files import (
    ContentError,
    Folder,
    LinkError,
    NotRegularError,
    TooLargeError,
    open_below,
    open_named,
    parse_json,
    read_below,
    read_named,
    reason,
    replacing,
    replacing_below,
    write_below,
)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder with a file, links that lead out of it, a FIFO and a folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    base = tmp_path / "base"
    (base / "a/b").mkdir(parents=True)
    (base / "a/b/file").write_text("content")
    (base / "link").symlink_to(outside / "secret")
    (base / "linked").symlink_to(outside)
    (base / "a/linked").symlink_to(outside)
    os.mkfifo(base / "fifo")
    return base


def test_a_file_below_the_base_is_read(base: Path) -> None:
    assert read_below(base, "a/b/file", 100) == b"content"
    with open_below(base, Path("a", "b", "file")) as source:
        assert source.read(3) == b"con"
    with pytest.raises(TooLargeError):
        read_below(base, "a/b/file", 6)


def test_a_base_that_is_a_link_is_followed(base: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(base)
    assert read_below(tmp_path / "alias", "a/b/file", 100) == b"content"


@pytest.mark.parametrize("path", ["link", "linked/secret", "a/linked/secret"])
def test_no_link_is_followed(base: Path, path: str) -> None:
    with pytest.raises(LinkError):
        read_below(base, path, 100)
    with pytest.raises(LinkError):
        open_below(base, path)


@pytest.mark.parametrize("path", ["../outside/secret", "a/../../outside/secret", "/etc/passwd", "", "."])
def test_a_path_that_leads_out_is_refused(base: Path, path: str) -> None:
    with pytest.raises(OSError):
        read_below(base, path, 100)
    with pytest.raises(OSError), replacing_below(base, path):
        pass


@pytest.mark.parametrize("path", ["fifo", "a"])
def test_what_is_not_a_file_is_refused_at_once(base: Path, path: str) -> None:
    with pytest.raises(OSError):
        read_below(base, path, 100)
    with pytest.raises(OSError):
        open_named(base / path)


def test_a_file_that_the_user_names_may_be_a_link(base: Path) -> None:
    assert read_named(base / "link", 100) == b"secret"
    with pytest.raises(NotRegularError):
        read_named(Path("/dev/zero"), 100)
    with pytest.raises(TooLargeError):
        read_named(base / "link", 5)


def test_a_written_file_is_whole_private_and_alone(base: Path) -> None:
    write_below(base, "new/deep/file", b"one")
    write_below(base, "new/deep/file", b"two")
    assert (base / "new/deep/file").read_bytes() == b"two"
    assert stat.S_IMODE((base / "new/deep/file").stat().st_mode) == 0o600
    assert stat.S_IMODE((base / "new").stat().st_mode) == 0o700
    assert [entry.name for entry in (base / "new/deep").iterdir()] == ["file"]


@pytest.mark.parametrize("by_handle", [True, False])
def test_a_failed_write_leaves_the_old_content_and_nothing_else(base: Path, by_handle: bool) -> None:
    with Folder.open(base, by_handle=by_handle) as top, top.enter("a") as a, a.enter("b") as folder:
        with pytest.raises(TypeError), folder.replacing("file", 0o600) as out:
            out.writelines([b"half", "no bytes"])  # type: ignore[list-item]
        assert (base / "a/b/file").read_bytes() == b"content"
        with folder.replacing("file", 0o640) as out:
            out.write(b"whole")
    assert [(entry.name, entry.read_bytes()) for entry in (base / "a/b").iterdir()] == [("file", b"whole")]


@pytest.mark.parametrize("path", ["linked/new", "a/linked/new", "linked/deep/new"])
def test_nothing_is_written_through_a_linked_folder(base: Path, tmp_path: Path, path: str) -> None:
    with pytest.raises(SymlinkError):
        write_below(base, path, b"data")
    assert [entry.name for entry in (tmp_path / "outside").iterdir()] == ["secret"]


def test_a_link_in_the_place_of_the_file_is_replaced(base: Path, tmp_path: Path) -> None:
    write_below(base, "link", b"data")
    with replacing(base / "a/linked") as out:
        out.write(b"more")
    assert (base / "link").read_bytes() == b"data"
    assert not (base / "link").is_symlink()
    assert not (base / "a/linked").is_symlink()
    assert (tmp_path / "outside/secret").read_text() == "secret"


@pytest.mark.parametrize(
    "data", [b"{'token': 'ghp_canary'}", b'["ghp_canary', b"\xffghp_canary", b"[" * 200_000, b"1" * 9_000]
)
def test_a_reason_quotes_nothing_of_the_file(data: bytes) -> None:
    with pytest.raises(ContentError) as refused:
        parse_json(data)
    assert "canary" not in reason(refused.value)
    assert "canary" not in reason(ValueError("canary"))
    assert reason(LinkError("x")) == "symbolic link"
