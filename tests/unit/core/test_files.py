"""Files: whole or not at all, and the system's refusals in our words."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from pathlib import Path

import pytest

from findspot.core.errors import DiskFullError, PermissionDeniedError
from findspot.core.files import (
    MAX_JSON_BYTES,
    ContentError,
    content_hash,
    disk_full,
    folder_bytes,
    make_private_dir,
    parse_json,
    read_json,
    translated_os_errors,
    write_atomic,
)


def test_a_write_replaces_the_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "f"
    write_atomic(file, b"long content")
    write_atomic(file, b"short")
    assert file.read_bytes() == b"short"
    assert [path.name for path in tmp_path.iterdir()] == ["f"], "no temporary file is left"


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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_real_full_device(tmp_path: Path) -> None:
    with pytest.raises(DiskFullError) as caught, translated_os_errors(tmp_path):
        Path("/dev/full").write_bytes(b"x")
    assert caught.value.code == "DISK_FULL"


def test_a_full_disk_states_a_need_only_where_it_is_known(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    known = disk_full(tmp_path, free + (50 << 20)).developer_message
    assert known == f"DISK_FULL: ENOSPC - need ~{(free + (50 << 20)) >> 20}MB, have {free >> 20}MB"
    assert "need" not in DiskFullError(None, 0).developer_message


def test_a_quota_is_not_called_a_full_disk(tmp_path: Path) -> None:
    error = disk_full(tmp_path, 1000)
    assert "quota" in error.user_message
    assert "need" not in error.developer_message


def test_a_number_of_thousands_of_digits_is_named() -> None:
    with pytest.raises(ContentError, match="a number in it has too many digits"):
        parse_json(b"[" + b"1" * 5000 + b"]")
