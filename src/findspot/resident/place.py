"""The place of the one process of a home: its lock, and the socket that clients find it by."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from findspot.core.errors import IndexBusyError, PermissionDeniedError
from findspot.core.files import make_private_dir
from findspot.core.locks import writer_lock
from findspot.door.address import service_folder, socket_path
from findspot.door.connection import reach

_START_S = 30.0
_BACKLOG = 128


@contextlib.contextmanager
def listening(home: Path) -> Iterator[socket.socket]:
    """Provide the socket of a home, which nobody else has."""
    place = Path(socket_path(str(home)))
    make_private_dir(place.parent)
    if place.parent.stat().st_uid != os.geteuid():
        raise PermissionDeniedError(str(place.parent))
    place.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.umask(0o177)
        try:
            listener.bind(str(place))
        finally:
            os.umask(before)
        listener.listen(_BACKLOG)
        try:
            yield listener
        finally:
            place.unlink(missing_ok=True)


@contextlib.contextmanager
def only_one(home: Path) -> Iterator[bool]:
    """Hold the place of the one process of a home; False if another one that can be reached has it."""
    deadline = time.monotonic() + _START_S
    lock = Path(service_folder(str(home))) / "lock"
    with contextlib.ExitStack() as held:
        while True:
            try:
                held.enter_context(writer_lock(lock, 0.1))
                break
            except IndexBusyError:
                other = reach(str(home))
                if other is not None:
                    other.close()
                    yield False
                    return
                if time.monotonic() > deadline:
                    raise
        yield True
