"""Files written whole or not at all, and what their contents hash to."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from findspot.core.errors import DiskFullError, PermissionDeniedError

PRIVATE_DIR_MODE = 0o700
MAX_JSON_BYTES = 10 * 1024 * 1024

_REPLACE_WAITS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4) if sys.platform == "win32" else ()
"""How long a reader of a small file is waited for; elsewhere nobody needs to be."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A full disk, a quota that is used up, and a limit on the size of files."""


def content_hash(data: bytes) -> str:
    """SHA-256 in hex: what tells one version of a file from another."""
    return hashlib.sha256(data).hexdigest()


def stat_of(path: str | Path) -> os.stat_result | None:
    """What the system says of a path; None where there is nothing, or nothing that we may know."""
    try:
        return os.stat(path)  # noqa: PTH116 - a path's own method costs several times that
    except OSError:
        return None


def make_private_dir(path: Path) -> None:
    """Make a folder, and those above it that are missing, that only its owner can enter."""
    with translated_os_errors(path):
        if not path.parent.exists():
            make_private_dir(path.parent)
        path.mkdir(mode=PRIVATE_DIR_MODE, exist_ok=True)


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file so that readers see the old content or the new, never a part."""
    with replacing(path) as out:
        out.write(data)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """The same for what is written in parts: it takes the file's place when all is written."""
    with translated_os_errors(path):
        handle, temp = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            _replace(temp, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temp)  # noqa: PTH108
            raise


def _replace(temp: str, path: Path) -> None:
    """Windows refuses while another process has the file open, which readers have for a moment."""
    for wait_s in _REPLACE_WAITS_S:
        try:
            os.replace(temp, path)  # noqa: PTH105 - the temp name is a plain string
        except PermissionError:
            time.sleep(wait_s)
        else:
            return
    os.replace(temp, path)  # noqa: PTH105


def write_json(path: Path, value: Any) -> None:
    write_atomic(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """The value of a JSON file; ValueError when it is too large or not JSON."""
    with path.open("rb") as source:
        data = source.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise ValueError(f"{path} is larger than {MAX_JSON_BYTES} bytes")
    return json.loads(data)


def folder_bytes(path: Path) -> int:
    """The size of everything below a folder; files that vanish meanwhile count nothing."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118
    return total


@contextlib.contextmanager
def translated_os_errors(path: Path, needed_bytes: int = 0) -> Iterator[None]:
    """Turn the operating system's refusals into errors that say what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise disk_full(path, needed_bytes) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise PermissionDeniedError(str(error.filename or path)) from error
        raise


def disk_full(path: Path, needed_bytes: int = 0) -> DiskFullError:
    """The error for a full disk at `path`, with what is needed and what is there."""
    folder = next(p for p in (path, *path.parents) if p.exists())
    free = shutil.disk_usage(folder).free
    needed_mb = max(needed_bytes >> 20, (free >> 20) + 1)
    return DiskFullError(needed_mb, free >> 20)
