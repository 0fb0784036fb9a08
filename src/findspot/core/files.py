"""Files read and written carefully, and what their contents hash to.

Every file that a repository, an archive or another person may have written is opened here:

    read_below(root, ".cortex/config.yml", 100_000)     bytes; no link followed below `root`
    open_below(root, "chunks/code.json")                the same as a stream, for reading in parts
    read_named(path, 10_000_000), open_named(path)      a file that the user named: links are followed
    replacing_below(root, ".please/mcp/index.json")     whole or not at all; no link followed below `root`
    replacing(path)                                     the same in a folder that the user named

All refuse folders, FIFOs, sockets and devices, and none waits for one. They raise OSError: `LinkError`,
`NotRegularError` and `TooLargeError` of `core/folder.py` beside the system's own. `reason` puts any of them
into words that quote nothing of the file.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import mmap
import os
import shutil
import stat
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal

from findspot.core.errors import (
    DiskFullError,
    HomeNotWritableError,
    NotAFolderError,
    PermissionDeniedError,
    SymlinkError,
    SystemLimitError,
)
from findspot.core.folder import Folder, LinkError, TooLargeError, open_regular, read_regular
from findspot.core.paths import GITIGNORE

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


def content_hash(data: bytes) -> str:
    """SHA-256 in hex: what tells one version of a file from another."""
    return hashlib.sha256(data).hexdigest()


_BLOCK_BYTES = 1 << 20


def file_checksum(path: Path, begin: int, checksum: int = 0) -> int:
    """Return the CRC-32 of a file from an offset on, continuing from another checksum.

    The file is read, not mapped: the pages of a mapped file count as memory of the process.
    """
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


def stat_of(path: str | Path) -> os.stat_result | None:
    """Return what the system says of a path; None where there is nothing, or nothing that we may know."""
    try:
        return os.stat(path)  # noqa: PTH116 - a path's own method costs several times that
    except (OSError, ValueError):  # no path at all, such as one with a NUL
        return None


def is_folder(path: str | Path) -> bool:
    """Return whether a path leads to a folder; unlike the method of a path, it raises for no path at all."""
    info = stat_of(path)
    return info is not None and stat.S_ISDIR(info.st_mode)


def make_private_dir(path: Path) -> None:
    """Make a folder, and those above it that are missing, that only its owner can enter.

    A new home also gets a rule that keeps it out of the git repository that it may be in.
    """
    from findspot.core.config import home_folder  # which imports this module

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
    """Return the bytes of the regular file at `path` below `base`, following no link on the way."""
    *folders, name = _parts(path)
    with Folder.open(base) as top, top.holding(folders) as folder:
        return folder.read(name, max_bytes)


def open_below(base: Path, path: str | PurePath) -> BinaryIO:
    """Open the regular file at `path` below `base` for reading, following no link on the way."""
    *folders, name = _parts(path)
    with Folder.open(base) as top, top.holding(folders) as folder:
        return folder.open_file(name)


def read_named(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a regular file that the user named, following links."""
    with open_named(path) as source:
        return read_regular(source.fileno(), max_bytes)


def open_named(path: Path) -> BinaryIO:
    """Open a regular file that the user named for reading, following links."""
    return os.fdopen(open_regular(str(path)), "rb")


def write_atomic(path: Path, data: bytes, mode: int = PRIVATE_FILE_MODE) -> None:
    """Replace a file so that readers see the old content or the new, never a part."""
    with replacing(path, mode) as out:
        out.write(data)


@contextlib.contextmanager
def replacing(path: Path, mode: int = PRIVATE_FILE_MODE) -> Iterator[IO[bytes]]:
    """Provide the same for what is written in parts: it takes the file's place when all is written."""
    with (
        translated_os_errors(path),
        Folder.open(path.parent) as folder,
        folder.replacing(path.name, mode) as out,
    ):
        yield out


@contextlib.contextmanager
def replacing_below(
    base: Path, path: str | PurePath, mode: int = PRIVATE_FILE_MODE, folder_mode: int = PRIVATE_DIR_MODE
) -> Iterator[IO[bytes]]:
    """Provide the same for a file below `base`: missing folders are made, and a link among them is
    refused.
    """
    *folders, name = _parts(path)
    with (
        translated_os_errors(base / path),
        Folder.open(base) as top,
        top.holding(folders, make_mode=folder_mode) as folder,
        folder.replacing(name, mode) as out,
    ):
        yield out


def write_below(base: Path, path: str | PurePath, data: bytes, mode: int = PRIVATE_FILE_MODE) -> None:
    """Replace a file below `base`, following no link on the way."""
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
    """Return a value as our JSON files spell it."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def read_json(path: Path) -> Any:
    """Return the value of a JSON file of ours or of the user; ContentError when it is not JSON."""
    try:
        return parse_json(read_named(path, MAX_JSON_BYTES))
    except TooLargeError:
        raise ContentError(f"larger than {MAX_JSON_BYTES} bytes") from None


def parse_json(data: bytes) -> Any:
    """Return the value of JSON text; ContentError, which names at most a line, when it is not JSON."""
    try:
        return json.loads(data)
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
def translated_os_errors(path: Path, needed_bytes: int = 0) -> Iterator[None]:
    """Turn the system's refusals to write at `path` into errors that say what to do."""
    try:
        yield
    except LinkError as error:
        raise SymlinkError(str(path)) from error
    except OSError as error:
        if error.errno in NO_ROOM:
            raise disk_full(path, needed_bytes) from error
        if error.errno in REFUSALS:
            raise cannot_write(Path(error.filename) if error.filename else path) from error
        if error.errno in TOO_MANY_OPEN:
            raise out_of_resources(path, error.errno) from error
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
    from findspot.core.config import home_folder  # which imports this module

    home = home_folder()
    if path == home or home in path.parents or path in home.parents:
        return HomeNotWritableError(str(home), str(path))
    return PermissionDeniedError(str(path), writing=True)


def not_a_folder(path: Path) -> PermissionDeniedError:
    """Return the error for a path that has something else in the place of one of its folders."""
    blocking = next((p for p in reversed((path, *path.parents)) if p.exists() and not p.is_dir()), None)
    return cannot_write(path) if blocking is None else NotAFolderError(str(blocking))


def out_of_resources(path: Path, number: int) -> SystemLimitError:
    """Return the error for a limit of the system that was met at `path`."""
    return SystemLimitError(os.strerror(number), str(path))


_PARSING_ARRAYS = threading.Lock()
"""The header of an array is parsed as Python, which two threads at once can make fail (CPython 106905)."""


def load_array(path: Path) -> NDArray[Any]:
    """Map an array file of numpy's into memory; never one with pickled objects."""
    import numpy as np

    with _PARSING_ARRAYS:
        loaded: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return loaded


def release_pages(mapped: NDArray[Any]) -> None:
    """Free the memory that a mapped file takes in this process. Its content stays readable."""
    import numpy as np

    owner: object = mapped
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive of numpy's by name; never pickled objects."""
    import numpy as np

    with _PARSING_ARRAYS, np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
