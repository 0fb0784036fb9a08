"""What differs between systems: how windows are kept shut, the case of names, file systems, the allocator."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""For `creationflags`: on Windows a program started by one without a console would open a window."""

IGNORES_CASE = sys.platform in ("darwin", "win32")
"""Whether the system's usual file systems take `A` for `a`."""


def as_stored(path: Path, names: Callable[[Path], Iterable[str]] = os.listdir) -> Path:
    """Return an absolute path in the spelling of its folders, where any case leads to the same file.

    An index is found by its project's path, so one folder must have one spelling.
    """
    found = Path(path.anchor)
    for part in path.parts[1:]:
        found /= _stored_name(found, part, names)
    return found


def _stored_name(folder: Path, name: str, names: Callable[[Path], Iterable[str]]) -> str:
    try:
        listed = set(names(folder))
    except OSError:  # one may pass through a folder that one may not list
        return name
    if name in listed:
        return name
    alike = sorted(other for other in listed if other.casefold() == name.casefold())
    return alike[0] if alike else name


_REMOTE = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "vboxsf", "davfs", "drvfs"}
)
"""File systems that other machines write to as well; FUSE is judged by what is behind it."""
_REMOTE_FUSE = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.glusterfs")


def remote_kind(path: Path, table: str = "/proc/self/mounts") -> str | None:
    """Return the kind of file system a path is on, where that is a remote one; known on Linux only."""
    try:
        with Path(table).open(encoding="utf-8", errors="replace") as mounts:
            rows = [line.split(" ") for line in mounts]
    except OSError:
        return None
    best, kind = "", ""
    for _, spelled, its_kind, *_ in rows:
        place = spelled.replace("\\040", " ")
        if path.is_relative_to(place) and len(place) >= len(best):
            best, kind = place, its_kind
    return kind if kind in _REMOTE or kind.startswith(_REMOTE_FUSE) else None


@contextlib.contextmanager
def memory_given_back() -> Iterator[None]:
    """After a block, hand the memory that is free again to the system: half of what indexing took."""
    try:
        yield
    finally:
        trim = _trim()
        if trim is not None:
            trim(0)


@functools.cache
def _trim() -> Callable[[int], int] | None:
    """glibc's `malloc_trim`; other allocators have none, or do without."""
    if sys.platform != "linux":
        return None
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
