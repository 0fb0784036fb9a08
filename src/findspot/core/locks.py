"""One writer per index, and per small file in the home folder, across processes and threads.

The lock is the operating system's lock on an open file: it goes with the process that held
it, however that process ended, so a dead owner never blocks anyone. The file's content only
tells others who holds it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from findspot.core.errors import FindspotError, IndexBusyError, IndexNotFoundError
from findspot.core.files import (
    State,
    make_private_dir,
    open_private,
    read_json,
    state_of,
    translated_os_errors,
    write_json,
)

if sys.platform == "win32":  # pragma: no cover - exercised on Windows only
    import msvcrt

    def _lock(file: IO[str], *, shared: bool = False) -> None:
        file.seek(0x7FFFFFF0)  # far past the content, which stays readable for others
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: IO[str], *, shared: bool = False) -> None:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


_RETRY_S = 0.01
_MIN_TRIES = 3
"""Someone who only looks whether the lock is held holds it for microseconds: try again."""

_HELD_BY_ANOTHER = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK})
"""What the system says of a lock that is taken; anything else is trouble of its own."""


@contextlib.contextmanager
def writer_lock(path: Path, wait_s: float = 0.0, *, make_folder: bool = True) -> Iterator[None]:
    """Hold the lock at `path`; `IndexBusyError`, naming the owner, if it is not free in time.

    Without `make_folder`, a folder that is not there is an `IndexNotFoundError`: waiting for the lock
    of an index must not bring back an index that is deleted meanwhile.
    """
    deadline = time.monotonic() + wait_s
    with translated_os_errors(path), _locked_file(path, deadline, make_folder) as file:
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _locked_file(path: Path, deadline: float, make_folder: bool) -> IO[str]:
    """Return the file at `path`, open and locked; one that was deleted while it was waited for is no lock."""
    tries = 0
    while (file := _try_file(path, make_folder)) is None:
        tries += 1
        if tries >= _MIN_TRIES and time.monotonic() >= deadline:
            raise IndexBusyError(owner(path) or "another process")
        time.sleep(_RETRY_S)
    return file


def _try_file(path: Path, make_folder: bool) -> IO[str] | None:
    if make_folder:
        make_private_dir(path.parent)
    with contextlib.ExitStack() as opened:
        try:
            file = opened.enter_context(io.TextIOWrapper(open_private(path, "a+b"), encoding="utf-8"))
        except FileNotFoundError:  # the folder went this moment, or was never there
            if make_folder:
                return None
            raise IndexNotFoundError("", str(path.parent)) from None
        if _try_lock(file, path) and _is_at(path, file):
            opened.pop_all()
            return file
    return None


def _is_at(path: Path, file: IO[str]) -> bool:
    """Return whether the path still names this open file: whoever deletes an index deletes its lock too."""
    try:
        there = path.stat()
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(file.fileno()))


def _try_lock(file: IO[str], path: Path) -> bool:
    try:
        _lock(file)
    except OSError as error:
        if error.errno in _HELD_BY_ANOTHER:
            return False
        raise FindspotError(
            "The folder of the index is on a file system without locks. Nothing was changed.",
            f"{path}: {error}",
            hint="Set FINDSPOT_HOME to a folder on a local disk.",
        ) from error
    return True


def owner(path: Path) -> str | None:
    """Return who wrote itself into the lock file last, as `process 123`."""
    try:
        pid = path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    if pid == str(os.getpid()):
        return f"this process ({pid})"
    return f"process {pid}" if pid else None


def is_locked(path: Path) -> bool:
    try:
        file = path.open(encoding="utf-8")  # to read: it may be on a disk that nobody can write to
    except OSError:
        return False
    with file:
        try:
            _lock(file, shared=True)
        except OSError as error:
            return error.errno in _HELD_BY_ANOTHER
    return False


LOCK_NAME = "writer.lock"
SET_ASIDE = "index.bak"
"""Where a damaged index is kept when it is rebuilt."""

REBUILT = f"The index was damaged and has been rebuilt; the damaged one is kept in {SET_ASIDE}."
"""What a report says once, and the status for as long as the damaged index is kept."""

DELETE_WAIT_S = 1.0
"""How long a deletion waits for a writer: saved files are stored in less than that."""

_PATIENCE_S = 30.0


class HomeFile:
    """A small JSON file in the home folder; a damaged one counts as empty."""

    def __init__(self, path: Path, checked: Callable[[Any], dict[str, Any]] = dict) -> None:
        """Take a file, and what returns of its content, or of an empty object, what can be used."""
        self.path = path
        self._checked = checked
        self._state: State | None = None
        self._stored: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Return what is stored, not to be changed; the file is read when it has changed."""
        state = state_of(self.path)
        if state is None or state != self._state:
            self._stored, self._state = self._load(), state
        return self._stored

    @contextlib.contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        """Yield what is stored, and write what the block makes of it; one process at a time."""
        make_private_dir(self.path.parent)
        with writer_lock(self.path.with_suffix(".lock"), _PATIENCE_S):
            stored = self._load()
            yield stored
            write_json(self.path, stored)

    def _load(self) -> dict[str, Any]:
        try:
            return self._checked(read_json(self.path))
        except (OSError, ValueError, TypeError, AttributeError):
            return self._checked({})
