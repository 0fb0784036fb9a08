"""Folders opened so that no link can lead out of them, not even one made meanwhile.

`Folder` is the one way to files that somebody else may have written: a repository, an archive, another
user of a shared folder. `core/files.py` has functions on top of it that take paths.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, Self

BY_HANDLE = os.open in os.supports_dir_fd and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_COMMON_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _COMMON_FLAGS
# Without O_NONBLOCK the opening of a FIFO waits for someone to write to it, for ever.
_FILE_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _COMMON_FLAGS
_NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _COMMON_FLAGS

_REPLACE_WAITS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4) if sys.platform == "win32" else ()
"""How long a reader of a small file is waited for; elsewhere nobody needs to be."""


class NotRegularError(OSError):
    """Not a file: a folder, FIFO, socket or device, or a stranger's file linked in."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


class LinkError(OSError):
    """A symbolic link, where none is followed."""

    def __init__(self, name: str = "") -> None:
        super().__init__(errno.ELOOP, "symbolic link", name)


class TooLargeError(OSError):
    """More bytes than asked for; `size` is how many there are."""

    def __init__(self, size: int) -> None:
        super().__init__(errno.EOVERFLOW, "file too large")  # EFBIG is for writing
        self.size = size


class Folder:
    """A folder at or below a trusted base, reached by real folders only.

    Where the system allows it, each is opened relative to its parent's handle and never through
    a link, so that what was checked is what is read. Elsewhere the path is checked before use.
    """

    holds_roots = False
    """Whether its folders are roots, which the user named: no rule leaves them out."""

    def __init__(self, path: str, handle: int | None, owner: int) -> None:
        self._path = path  # used where there is no handle
        self._handle = handle
        self.owner = owner
        """Whose the base is: a hard link to somebody else's file is none of the base's files."""

    @classmethod
    def open(cls, base: Path, *, by_handle: bool = BY_HANDLE) -> Folder:
        """Open the base itself; the one place where a link is followed, as the user named it."""
        if by_handle:
            handle = os.open(base, _FOLDER_FLAGS & ~_NOFOLLOW)
            return Folder(os.fspath(base), handle, os.fstat(handle).st_uid)
        path = os.path.realpath(base)
        return Folder(path, None, Path(path).stat().st_uid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def enter(self, name: str) -> Folder:
        """Open a folder in this one; OSError when it is a link, no folder, or not readable."""
        at = self._at(name)
        if self._handle is None:
            _check_is_folder(at)
            return Folder(at, None, self.owner)
        try:
            return Folder(name, os.open(at, _FOLDER_FLAGS, dir_fd=self._handle), self.owner)
        except OSError as error:
            raise self._or_link(name, error) from None

    def make(self, name: str, mode: int) -> Folder:
        """Open a folder in this one, made where it is missing."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._at(name), mode, dir_fd=self._handle)
        return self.enter(name)

    @contextlib.contextmanager
    def holding(self, parts: Sequence[str], *, make_mode: int | None = None) -> Iterator[Folder]:
        """Enter the folders that `parts` name, one in the other; with `make_mode` make missing ones."""
        with contextlib.ExitStack() as opened:
            folder = self
            for name in parts:
                inner = folder.enter(name) if make_mode is None else folder.make(name, make_mode)
                folder = opened.enter_context(inner)
            yield folder

    def scan(self) -> list[os.DirEntry[str]]:
        """Return its entries, in no order."""
        with os.scandir(self._path if self._handle is None else self._handle) as entries:
            return list(entries)

    def lstat(self, name: str) -> os.stat_result:
        """Return what an entry is, links not followed."""
        return os.stat(self._at(name), dir_fd=self._handle, follow_symlinks=False)

    def read(self, name: str, max_bytes: int) -> bytes:
        """Return a regular file's bytes; OSError when it is none, a link, gone, unreadable, or too large."""
        handle = self._open_file(name)
        try:
            return read_regular(handle, max_bytes)
        finally:
            os.close(handle)

    def open_file(self, name: str) -> BinaryIO:
        """Open a regular file for reading in parts; the caller bounds what it reads."""
        return os.fdopen(self._open_file(name), "rb")

    def new_file(self, name: str, mode: int) -> NewFile:
        """Begin a file that takes its place when it is published; a link there is replaced, not followed."""
        if self._handle is None:
            _check_is_folder(self._path)
        self._at(name)
        temporary = f".{name}.{secrets.token_hex(8)}"
        try:
            handle = os.open(self._at(temporary), _NEW_FILE_FLAGS, mode, dir_fd=self._handle)
        except OSError as error:
            error.filename = None  # the name of a temporary file helps nobody
            raise
        return NewFile(self, temporary, name, os.fdopen(handle, "wb"))

    @contextlib.contextmanager
    def replacing(self, name: str, mode: int) -> Iterator[IO[bytes]]:
        """Write a file that takes its place when all is written."""
        with self.new_file(name, mode) as new:
            yield new.file
            new.finish()
            new.publish()

    def replace(self, source: str, target: str) -> None:
        """Rename one of its files over another."""
        os.replace(self._at(source), self._at(target), src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def remove(self, name: str) -> None:
        """Delete one of its files."""
        os.unlink(self._at(name), dir_fd=self._handle)

    def _open_file(self, name: str) -> int:
        at = self._at(name)
        if self._handle is None:
            _check_is_folder(self._path)
            if stat.S_ISLNK(self.lstat(name).st_mode):
                raise LinkError(name)
        try:
            handle = os.open(at, _FILE_FLAGS | _NOFOLLOW, dir_fd=self._handle)
        except OSError as error:
            raise self._or_link(name, error) from None
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or is_strangers(info, self.owner):
            os.close(handle)
            raise NotRegularError
        return handle

    def _or_link(self, name: str, error: OSError) -> OSError:
        """Return the reason behind a refusal: systems differ in how they refuse a link."""
        if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
            with contextlib.suppress(OSError):
                if stat.S_ISLNK(self.lstat(name).st_mode):
                    return LinkError(name)
        return error

    def _at(self, name: str) -> str:
        """Return how to name an entry to the system; only what lies directly in this folder has a name."""
        if name in ("", ".", "..") or "/" in name or "\0" in name or os.sep in name:
            raise OSError(errno.EINVAL, "not the name of an entry")
        return name if self._handle is not None else os.path.join(self._path, name)  # noqa: PTH118


class NewFile:
    """A file on its way: written under another name, finished, then published; dropped unless it is."""

    def __init__(self, folder: Folder, temporary: str, name: str, file: BinaryIO) -> None:
        self.file = file
        self._folder = folder
        self._temporary = temporary
        self._name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # what could not be written has raised already
            self.file.close()
        with contextlib.suppress(OSError):  # published
            self._folder.remove(self._temporary)

    def finish(self) -> None:
        """Bring all of it to the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()

    def publish(self) -> None:
        """Put it in its place; Windows refuses while another process has the old file open for a moment."""
        for wait_s in _REPLACE_WAITS_S:
            try:
                self._folder.replace(self._temporary, self._name)
            except PermissionError:
                time.sleep(wait_s)
            else:
                return
        self._folder.replace(self._temporary, self._name)


def _check_is_folder(path: str) -> None:
    """Raise where a path is not a folder or leads through a link: the check where there are no handles."""
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode) or os.path.realpath(path) != path:
        raise LinkError(path)
    if not stat.S_ISDIR(info.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a folder")


def is_strangers(info: os.stat_result, owner: int) -> bool:
    """Return whether a file has other names and another owner than the base: linked in from elsewhere.

    With one owner nobody can tell a second name from the first, and `cp -al` makes them by thousands.
    """
    return info.st_nlink > 1 and info.st_uid != owner


def open_regular(path: str) -> int:
    """Return a handle on a regular file; a FIFO or device is refused without waiting for it."""
    handle = os.open(path, _FILE_FLAGS)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotRegularError
    return handle


def read_regular(handle: int, max_bytes: int) -> bytes:
    """Return all bytes of an open file; TooLargeError when there are more than `max_bytes`."""
    size = os.fstat(handle).st_size
    if size > max_bytes:
        raise TooLargeError(size)
    parts: list[bytes] = []
    left = max_bytes + 1
    # The first read is sized by the listing; a file that grows meanwhile is read to the limit.
    wanted = size + 1
    while left > 0 and (part := os.read(handle, min(wanted, left))):
        parts.append(part)
        left -= len(part)
        wanted = left
    if left <= 0:
        raise TooLargeError(max_bytes - left + 1)
    return parts[0] if len(parts) == 1 else b"".join(parts)
