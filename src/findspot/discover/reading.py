"""Reading a file that discovery admitted, though the disk may have changed since."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from findspot.core.folder import Folder, NotRegularError, TooLargeError
from findspot.core.model import Skip, SkipReason, SourceFile
from findspot.core.roots import Roots
from findspot.discover.folder import open_root
from findspot.discover.walk import real_name


def read_file(root: Path | Roots, file: SourceFile, max_bytes: int) -> bytes | Skip:
    """Return a file's bytes, or why they cannot be had; nothing outside the root is ever opened."""
    try:
        with open_root(root) as top:
            return _read(top, file.path.split("/"), max_bytes)
    except OSError as error:
        return _skip(file.path, error)


def _read(folder: Folder, parts: list[str], max_bytes: int) -> bytes:
    name, *rest = parts
    if not name.isascii():
        name = real_name(name, (entry.name for entry in folder.scan()))
    if not rest:
        return folder.read(name, max_bytes)
    with folder.enter(name) as inner:
        return _read(inner, rest, max_bytes)


def _skip(path: str, error: OSError) -> Skip:
    if isinstance(error, TooLargeError):
        return Skip(path, SkipReason.TOO_LARGE, f"{error.size} bytes")
    if error.errno == errno.EINVAL and not isinstance(error, NotRegularError):
        return Skip(path, SkipReason.UNSAFE_NAME, "not a path inside the project")
    if isinstance(error, NotRegularError | IsADirectoryError) or error.errno == errno.ENXIO:
        return Skip(path, SkipReason.NOT_REGULAR)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Skip(path, SkipReason.VANISHED)
    if error.errno == errno.ELOOP:
        return Skip(path, SkipReason.SYMLINK)
    return Skip(path, SkipReason.UNREADABLE, os.strerror(error.errno or 0))
