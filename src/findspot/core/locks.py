"""One writer an index, across processes and threads.

The lock is the operating system's lock on an open file: it goes with the process that held
it, however that process ended, so a dead owner never blocks anyone. The file's content only
tells others who holds it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from findspot.core.errors import IndexBusyError
from findspot.core.files import make_private_dir, translated_os_errors

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

_held: set[Path] = set()
_held_guard = threading.Lock()


@contextlib.contextmanager
def writer_lock(path: Path, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the lock at `path`; `IndexBusyError`, naming the owner, if it is not free in time."""
    deadline = time.monotonic() + wait_s
    _claim(path, deadline)
    try:
        make_private_dir(path.parent)
        with translated_os_errors(path), path.open("a+", encoding="utf-8") as file:
            tries = 0
            while not _try_lock(file):
                tries += 1
                if tries >= _MIN_TRIES and time.monotonic() >= deadline:
                    raise IndexBusyError(owner(path) or "another process")
                time.sleep(_RETRY_S)
            file.seek(0)
            file.truncate()
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield
    finally:
        with _held_guard:
            _held.discard(path)


def _claim(path: Path, deadline: float) -> None:
    """Take the place among this process's threads, which the file lock does not tell apart."""
    while True:
        with _held_guard:
            if path not in _held:
                _held.add(path)
                return
        if time.monotonic() >= deadline:
            raise IndexBusyError(f"this process ({os.getpid()})")
        time.sleep(_RETRY_S)


def _try_lock(file: IO[str]) -> bool:
    try:
        _lock(file)
    except OSError:
        return False
    return True


def owner(path: Path) -> str | None:
    """Who wrote itself into the lock file last, as `process 123`."""
    try:
        pid = path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return f"process {pid}" if pid else None


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock right now."""
    with _held_guard:
        if path in _held:
            return True
    try:
        with path.open("r+", encoding="utf-8") as file:
            _lock(file, shared=True)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
