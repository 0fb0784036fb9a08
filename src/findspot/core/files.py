"""Files read and written carefully, and what their contents hash to.

Every file that a repository, an archive or another person may have written is opened here:

    read_below(root, ".cortex/config.yml", 100_000)     bytes; no link followed below `root`
    open_below(root, "chunks/code.json")                the same as a stream, for reading in parts
    read_named(path, 10_000_000), open_named(path)      a file that the user named: links are followed
    replacing_below(root, ".please/mcp/index.json")     whole or not at all; no link followed below `root`
    replacing(path)                                     the same in a folder that the user named

All refuse folders, FIFOs, sockets and devices, and none waits for one. They raise OSError: `LinkError`,
`NotRegularError` and `TooLargeError` beside the system's own. `reason` puts any of them into words that quote
nothing of the file. `Folder` is what they are made of: a folder opened so that no link can lead out of it,
not even one made meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import mmap
import os
import secrets
import shutil
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal, Self

from findspot.core.errors import (
    DiskFullError,
    PermissionDeniedError,
    SymlinkError,
    SystemLimitError,
)
from findspot.core.paths import GITIGNORE, home_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray


State = tuple[int, int, int, int]
"""Values that change whenever a file changes."""

PRIVATE_DIR_MODE = 0o700
PRIVATE_FILE_MODE = 0o600
MAX_JSON_BYTES = 10 * 1024 * 1024

_REMOVE_TRIES = 5
"""Each try removes what was there when it began; another process adds a file or two at most."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A full disk, a quota that is used up, and a limit on the size of files."""

TOO_MANY_OPEN = (errno.EMFILE, errno.ENFILE)
"""No more descriptors, for this process or for the machine."""

REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS)
"""What the system says of a file or folder that we may not write to, or not read."""

_CLEARLY_FREE = 16 << 20
"""Where more than this is free, it is a quota or a limit on the size of files that stops a write."""


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

    @contextlib.contextmanager
    def replacing(self, name: str, mode: int) -> Iterator[IO[bytes]]:
        """Write a file that takes its place when all is written; a link there is replaced, not followed."""
        if self._handle is None:
            _check_is_folder(self._path)
        self._at(name)
        temporary = f".{name}.{secrets.token_hex(8)}"
        try:
            handle = os.open(self._at(temporary), _NEW_FILE_FLAGS, mode, dir_fd=self._handle)
        except OSError as error:
            error.filename = None  # the name of a temporary file helps nobody
            raise
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            self._publish(temporary, name)
        except BaseException:
            with contextlib.suppress(OSError):
                self.remove(temporary)
            raise

    def _publish(self, temporary: str, name: str) -> None:
        """Put a file in its place; Windows refuses that while another process has the old one open."""
        for wait_s in (*_REPLACE_WAITS_S, None):
            try:
                os.replace(
                    self._at(temporary), self._at(name), src_dir_fd=self._handle, dst_dir_fd=self._handle
                )
                return
            except PermissionError:
                if wait_s is None:
                    raise
                time.sleep(wait_s)
            except OSError as error:
                error.filename, error.filename2 = os.path.join(self._path, name), None  # noqa: PTH118
                raise

    def remove(self, name: str) -> None:
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


def _check_is_folder(path: str) -> None:
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


def content_hash(data: bytes) -> str:
    """SHA-256 in hex: what tells one version of a file from another."""
    return hashlib.sha256(data).hexdigest()


_BLOCK_BYTES = 1 << 20


def file_checksum(path: Path, begin: int) -> int:
    """Return the CRC-32 of a file from an offset on.

    The file is read, not mapped: the pages of a mapped file count as memory of the process.
    """
    checksum = 0
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        while block := file.read(_BLOCK_BYTES):
            checksum = zlib.crc32(block, checksum)
    return checksum


def state_of(path: Path) -> State | None:
    """Return values that change whenever the file changes; cheaper than reading it."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def make_private_dir(path: Path) -> None:
    """Make a folder, and those above it that are missing, that only its owner can enter.

    A new home also gets a rule that keeps it out of the git repository that it may be in.
    """
    with translated_os_errors(path):
        if path.is_dir():
            return
        if not path.parent.exists():
            make_private_dir(path.parent)
        path.mkdir(mode=PRIVATE_DIR_MODE, exist_ok=True)
        if path == home_folder():
            write_atomic(path / GITIGNORE, b"*\n")


def open_private(path: Path, mode: Literal["wb", "a+b"]) -> IO[bytes]:
    """Open a file of ours to write; a new one is readable by its owner only."""
    return open(path, mode, opener=_open_private)  # a path's own method takes no opener


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), PRIVATE_FILE_MODE)


def remove_entry(path: Path) -> None:
    """Remove whatever has this name: a folder with everything in it, a file, or a link but not its target."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    else:
        remove_folder(path)


def remove_folder(path: Path) -> None:
    """Remove a folder with everything in it, also what another process is adding this moment."""
    for _ in range(_REMOVE_TRIES):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
    # Windows keeps a file that somebody has open; it holds nothing that counts.
    shutil.rmtree(path, ignore_errors=sys.platform == "win32")


def read_below(base: Path, path: str | PurePath, max_bytes: int) -> bytes:
    *folders, name = _parts(path)
    with Folder.open(base) as top, top.holding(folders) as folder:
        return folder.read(name, max_bytes)


def open_below(base: Path, path: str | PurePath) -> BinaryIO:
    *folders, name = _parts(path)
    with Folder.open(base) as top, top.holding(folders) as folder:
        return folder.open_file(name)


def read_named(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a regular file that the user named, following links."""
    with open_named(path) as source:
        return read_regular(source.fileno(), max_bytes)


def open_named(path: Path) -> BinaryIO:
    return os.fdopen(open_regular(str(path)), "rb")


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file so that readers see the old content or the new, never a part."""
    write_below(path.parent, path.name, data)


def replacing(path: Path, mode: int = PRIVATE_FILE_MODE) -> contextlib.AbstractContextManager[IO[bytes]]:
    """Provide the same for what is written in parts: it takes the file's place when all is written."""
    return replacing_below(path.parent, path.name, mode)


@contextlib.contextmanager
def replacing_below(base: Path, path: str | PurePath, mode: int = PRIVATE_FILE_MODE) -> Iterator[IO[bytes]]:
    """Provide the same for a file below `base`: missing folders are made, no link among them is followed."""
    *folders, name = _parts(path)
    with (
        translated_os_errors(base / path),
        Folder.open(base) as top,
        top.holding(folders, make_mode=PRIVATE_DIR_MODE) as folder,
        folder.replacing(name, mode) as out,
    ):
        yield out


def write_below(base: Path, path: str | PurePath, data: bytes, mode: int = PRIVATE_FILE_MODE) -> None:
    with replacing_below(base, path, mode) as out:
        out.write(data)


def _parts(path: str | PurePath) -> tuple[str, ...]:
    """Return the names that lead to a file; those that lead out are refused where they are opened."""
    return PurePath(path).parts or ("",)


def reason(error: OSError | ValueError) -> str:
    """Say why a file could not be used, in words that quote nothing of it."""
    if isinstance(error, OSError):
        return error.strerror or os.strerror(error.errno or 0)
    return str(error) if isinstance(error, ContentError) else "its content is not valid"


class ContentError(ValueError):
    """Content that cannot be used; the message quotes nothing of it."""


def write_json(path: Path, value: Any) -> None:
    write_atomic(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def read_json(path: Path) -> Any:
    """Return the value of a JSON file of ours or of the user; ContentError when it is not JSON."""
    try:
        return parse_json(read_named(path, MAX_JSON_BYTES))
    except TooLargeError:
        raise ContentError(f"larger than {MAX_JSON_BYTES} bytes") from None


def parse_json(data: bytes, of_object: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Return the value of JSON text; ContentError, which names at most a line, when it is not JSON.

    `of_object` may replace each object as soon as it is read.
    """
    try:
        return json.loads(data, object_hook=of_object)
    except json.JSONDecodeError as error:
        raise ContentError(f"not valid JSON at line {error.lineno}") from None
    except UnicodeDecodeError:
        raise ContentError("not text in UTF-8") from None
    except RecursionError:
        raise ContentError("nested too deeply") from None
    except ValueError:  # the only other one that Python's reader raises
        raise ContentError("a number in it has too many digits") from None


def folder_bytes(path: Path) -> int:
    """Return the size of everything below a folder; files that vanish meanwhile count nothing."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118
    return total


@contextlib.contextmanager
def translated_os_errors(path: Path) -> Iterator[None]:
    """Turn the system's refusals to write at `path` into errors that say what to do."""
    try:
        yield
    except LinkError as error:
        raise SymlinkError(str(path)) from error
    except OSError as error:
        if error.errno in NO_ROOM:
            raise disk_full(path) from error
        if error.errno in REFUSALS:
            raise cannot_write(Path(error.filename) if error.filename else path) from error
        check_exhausted(error, path)
        if error.errno in (errno.ENOTDIR, errno.EEXIST):
            raise not_a_folder(path) from error
        raise


def disk_full(path: Path, needed_bytes: int = 0) -> DiskFullError:
    """Return the error for a disk that takes no more at `path`; name the space needed where it is known."""
    folder = next(p for p in (path, *path.parents) if p.exists())
    free = shutil.disk_usage(folder).free
    if free > max(needed_bytes, _CLEARLY_FREE):
        return DiskFullError(None, free >> 20, limited=True)
    needed_mb = max(needed_bytes >> 20, (free >> 20) + 1) if needed_bytes else None
    return DiskFullError(needed_mb, free >> 20)


def cannot_write(path: Path) -> PermissionDeniedError:
    """Return the error for a path that cannot be written; one of our own folder names that folder."""
    home, detail = home_folder(), f"EACCES writing {path}"
    if path == home or home in path.parents or path in home.parents:
        hint = "Make that folder writable, or set FINDSPOT_HOME to one that is."
        said = f"Findspot cannot write to its folder {home}."
        return PermissionDeniedError(str(path), said, detail, hint=hint)
    return PermissionDeniedError(str(path), f"Cannot write to {path}.", detail, hint="Check its permissions.")


def not_a_folder(path: Path) -> PermissionDeniedError:
    """Return the error for a path that has something else in the place of one of its folders."""
    blocking = next((p for p in reversed((path, *path.parents)) if p.exists() and not p.is_dir()), None)
    if blocking is None:
        return cannot_write(path)
    said = f"{blocking} is not a folder, but Findspot needs a folder there."
    hint = "Remove or rename it, then try again."
    return PermissionDeniedError(str(blocking), said, f"ENOTDIR {blocking}", hint=hint)


def out_of_resources(path: str | Path, number: int) -> SystemLimitError:
    """Return the error for a limit of the system that was met at `path`."""
    return SystemLimitError(os.strerror(number), str(path))


def check_exhausted(error: BaseException, path: str | Path) -> None:
    """Raise `SystemLimitError` where no file could be opened: that says nothing about the file."""
    if isinstance(error, OSError) and error.errno in TOO_MANY_OPEN:
        raise out_of_resources(path, error.errno) from error


def release_pages(mapped: NDArray[Any]) -> None:
    """Free the memory that a mapped file takes in this process. Its content stays readable."""
    import numpy as np

    owner: object = mapped
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)


MAX_YAML_BYTES = 32 * 1024
"""Parsing takes about 10 µs per byte."""

_MAX_DEPTH = 20


@lru_cache(maxsize=4)
def parse_yaml(data: bytes | str) -> Any:
    """Return the value of YAML text; ContentError, which names at most a line, when it has none for us."""
    import yaml  # type: ignore[import-untyped]

    try:
        depth = 0
        for event in yaml.parse(data, yaml.SafeLoader):  # before anything is made that could grow
            line = event.start_mark.line + 1
            if isinstance(event, yaml.AliasEvent):
                raise ContentError(f"an alias at line {line}, where none is read")
            if isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            if depth > _MAX_DEPTH:
                raise ContentError(f"nested too deeply at line {line}")
        return yaml.safe_load(data)
    except ContentError:
        raise
    except yaml.MarkedYAMLError as error:
        line = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ContentError(f"not valid YAML{line}") from None
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError):
        raise ContentError("not valid YAML") from None
