"""Files: whole or not at all, regular ones only, no link followed, and refusals in our words."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from pathlib import Path

import pytest

from findspot.core.errors import DiskFullError, PermissionDeniedError, SymlinkError
from findspot.core.files import (
    MAX_JSON_BYTES,
    ContentError,
    Folder,
    LinkError,
    NotRegularError,
    TooLargeError,
    content_hash,
    disk_full,
    folder_bytes,
    make_private_dir,
    open_below,
    open_named,
    parse_json,
    read_below,
    read_json,
    read_named,
    reason,
    replacing,
    replacing_below,
    translated_os_errors,
    write_below,
)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe\x00", b" " * (MAX_JSON_BYTES + 1)])
def test_what_is_not_json_is_a_value_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "v.json").write_bytes(data)
    with pytest.raises(ValueError):
        read_json(tmp_path / "v.json")


def test_a_private_folder_is_closed_to_others(tmp_path: Path) -> None:
    make_private_dir(tmp_path / "a" / "b")
    make_private_dir(tmp_path / "a" / "b")
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_git_never_adds_a_new_home(tmp_path: Path, home: Path) -> None:
    make_private_dir(home / "indexes" / "x")
    assert (home / ".gitignore").read_text() == "*\n"
    assert [path.name for path in home.rglob(".gitignore")] == [".gitignore"]
    (home / ".gitignore").unlink()
    make_private_dir(home / "documents")
    assert not (home / ".gitignore").exists()


def test_content_hash_is_sha256() -> None:
    assert content_hash(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_folder_bytes_counts_files_and_follows_no_link(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_bytes(b"12345")
    (folder / "sub" / "b").write_bytes(b"123")
    (tmp_path / "big").write_bytes(b"x" * 10_000)
    (folder / "link").symlink_to(tmp_path / "big")
    assert folder_bytes(folder) == 8 + len(str(tmp_path / "big"))
    assert folder_bytes(tmp_path / "missing") == 0


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, DiskFullError),
        (errno.EDQUOT, DiskFullError),
        (errno.EFBIG, DiskFullError),
        (errno.EACCES, PermissionDeniedError),
        (errno.EPERM, PermissionDeniedError),
        (errno.EROFS, PermissionDeniedError),
    ],
)
def test_refusals_of_the_system_are_translated(tmp_path: Path, number: int, kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught, translated_os_errors(tmp_path / "not" / "there"):
        raise OSError(number, os.strerror(number))
    assert isinstance(caught.value.__cause__, OSError)


def test_other_errors_pass(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError), translated_os_errors(tmp_path):
        raise IsADirectoryError(errno.EISDIR, "folder")


def test_a_full_disk_states_a_need_only_where_it_is_known(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    known = disk_full(tmp_path, free + (50 << 20)).developer_message
    assert known == f"DISK_FULL: ENOSPC - need ~{(free + (50 << 20)) >> 20}MB, have {free >> 20}MB"
    assert "need" not in DiskFullError(None, 0).developer_message


def test_a_quota_is_not_called_a_full_disk(tmp_path: Path) -> None:
    error = disk_full(tmp_path, 1000)
    assert "quota" in error.user_message
    assert "need" not in error.developer_message


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
