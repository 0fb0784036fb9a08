"""Folders opened so that no link can lead out of the project, not even one made meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from findspot.core.roots import Roots

_BY_HANDLE = os.open in os.supports_dir_fd and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER_FLAGS = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
# Without O_NONBLOCK the opening of a FIFO waits for someone to write to it, for ever.
_FILE_FLAGS = (
    os.O_RDONLY
    | _NOFOLLOW
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class NotRegularError(OSError):
    """Something else than a file: a folder, FIFO, socket or device."""


class TooLargeError(OSError):
    """More bytes than asked for; `size` is how many there are."""

    def __init__(self, size: int) -> None:
        super().__init__(errno.EFBIG, "file too large")
        self.size = size


class Folder:
    """A folder at or below the root, reached by real folders only.

    Where the system allows it, each is opened relative to its parent's handle and never through
    a link, so that what was checked is what is read. Elsewhere the path is checked before use.
    """

    def __init__(self, path: str, handle: int | None, owner: int) -> None:
        self._path = path  # used where there is no handle
        self._handle = handle
        self.owner = owner
        """Whose the root is: a hard link to somebody else's file is none of the project's files."""

    @staticmethod
    def open_root(root: Path | Roots, *, by_handle: bool = _BY_HANDLE) -> Folder:
        """The root itself; the one place where a link is followed, as the user named it."""
        roots = Roots.of(root)
        if roots.named:
            return SeveralRoots(roots, by_handle=by_handle)
        path = os.path.realpath(roots.project)
        owner = Path(path).stat().st_uid
        return Folder(path, os.open(path, _FOLDER_FLAGS) if by_handle else None, owner)

    @property
    def holds_roots(self) -> bool:
        """Whether its folders are roots, which the user named: no rule leaves them out."""
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def enter(self, name: str) -> Folder:
        """A folder in this one; OSError when it is a link, no folder, or not readable."""
        at = self._at(name)
        if self._handle is None:
            self._check_by_path(at)
            return Folder(at, None, self.owner)
        return Folder(name, os.open(at, _FOLDER_FLAGS, dir_fd=self._handle), self.owner)

    def scan(self) -> list[os.DirEntry[str]]:
        """Its entries, in no order."""
        with os.scandir(self._path if self._handle is None else self._handle) as entries:
            return list(entries)

    def lstat(self, name: str) -> os.stat_result:
        """What an entry is, links not followed."""
        return os.stat(self._at(name), dir_fd=self._handle, follow_symlinks=False)

    def read(self, name: str, max_bytes: int) -> bytes:
        """A regular file's bytes; OSError when it is none, a link, gone, closed to us, or too large."""
        if self._handle is None:
            self._check_by_path(self._path)
            if stat.S_ISLNK(self.lstat(name).st_mode):
                raise OSError(errno.ELOOP, "symbolic link")
        handle = os.open(self._at(name), _FILE_FLAGS, dir_fd=self._handle)
        try:
            return _read_handle(handle, max_bytes, self.owner)
        finally:
            os.close(handle)

    def _at(self, name: str) -> str:
        """How to name an entry to the system; only what lies directly in this folder has a name."""
        if name in ("", ".", "..") or "/" in name or "\0" in name or os.sep in name:
            raise OSError(errno.EINVAL, "not the name of an entry")
        return name if self._handle is not None else os.path.join(self._path, name)  # noqa: PTH118

    def _check_by_path(self, path: str) -> None:
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode) or os.path.realpath(path) != path:
            raise OSError(errno.ELOOP, "symbolic link")
        if not stat.S_ISDIR(info.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder")


def is_strangers(info: os.stat_result, owner: int) -> bool:
    """Whether a file has other names and another owner than the project: linked in from elsewhere.

    With one owner nobody can tell a second name from the first, and `cp -al` makes them by thousands.
    """
    return info.st_nlink > 1 and info.st_uid != owner


class SeveralRoots(Folder):
    """A folder that is on no disk and holds the roots under their names."""

    def __init__(self, roots: Roots, *, by_handle: bool) -> None:
        super().__init__("", None, roots.project.stat().st_uid)
        self._roots = dict(roots.named)
        self._by_handle = by_handle

    @property
    def holds_roots(self) -> bool:
        return True

    def enter(self, name: str) -> Folder:
        return Folder.open_root(self._root(name), by_handle=self._by_handle)

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


def _read_handle(handle: int, max_bytes: int, owner: int) -> bytes:
    info = os.fstat(handle)
    if not stat.S_ISREG(info.st_mode) or is_strangers(info, owner):
        raise NotRegularError(errno.EINVAL, "not a regular file")
    if info.st_size > max_bytes:
        raise TooLargeError(info.st_size)
    parts: list[bytes] = []
    left = max_bytes + 1
    # The first read is sized by the listing; a file that grows meanwhile is read to the limit.
    wanted = info.st_size + 1
    while left > 0 and (part := os.read(handle, min(wanted, left))):
        parts.append(part)
        left -= len(part)
        wanted = left
    if left <= 0:
        raise TooLargeError(max_bytes - left + 1)
    return parts[0] if len(parts) == 1 else b"".join(parts)
