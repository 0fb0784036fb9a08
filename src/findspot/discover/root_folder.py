"""Open the root of a project, or the several roots of one index, and read a file below it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import cast

from findspot.core.folder import BY_HANDLE, Folder, NotRegularError, TooLargeError
from findspot.core.model import Skip, SkipReason, SourceFile
from findspot.core.roots import Roots
from findspot.discover.filenames import real_name


def open_root(root: Path | Roots, *, by_handle: bool = BY_HANDLE) -> Folder:
    """Open the root itself; the one place where a link is followed, as the user named it."""
    roots = Roots.of(root)
    if roots.named:
        return SeveralRoots(roots, by_handle=by_handle)
    return Folder.open(roots.project, by_handle=by_handle)


class SeveralRoots(Folder):
    """A virtual folder that contains the roots under their names."""

    holds_roots = True

    def __init__(self, roots: Roots, *, by_handle: bool) -> None:
        super().__init__("", None, roots.project.stat().st_uid)
        self._roots = dict(roots.named)
        self._by_handle = by_handle

    def enter(self, name: str) -> Folder:
        return open_root(self._root(name), by_handle=self._by_handle)

    def scan(self) -> list[os.DirEntry[str]]:
        entries = [_RootEntry(name, folder) for name, folder in self._roots.items()]
        return cast("list[os.DirEntry[str]]", entries)

    def lstat(self, name: str) -> os.stat_result:
        return self._root(name).stat()

    def read(self, name: str, max_bytes: int) -> bytes:
        raise FileNotFoundError(errno.ENOENT, "no file beside the roots", name)

    def _root(self, name: str) -> Path:
        if name not in self._roots:
            raise FileNotFoundError(errno.ENOENT, "no root of that name", name)
        return self._roots[name]


class _RootEntry:
    """A root as a listing shows it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self._folder.stat()

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return True


def read_file(root: Path | Roots, file: SourceFile, max_bytes: int) -> bytes | Skip:
    """Return a file's bytes, or the Skip that says why not; nothing outside the root is ever opened."""
    try:
        with open_root(root) as top:
            return _read_below(top, file.path.split("/"), max_bytes)
    except OSError as error:
        return _skip(file.path, error)


def _read_below(folder: Folder, parts: list[str], max_bytes: int) -> bytes:
    name, *rest = parts
    if not name.isascii():
        name = real_name(name, (entry.name for entry in folder.scan()))
    if not rest:
        return folder.read(name, max_bytes)
    with folder.enter(name) as inner:
        return _read_below(inner, rest, max_bytes)


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
