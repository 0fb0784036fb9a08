"""What differs between systems: how programs are started, the case of names, file systems, the allocator.

A server runs inside the user's project, whose files may be anybody's. A `git.exe`, `less` or `numpy.py`
that is committed there must never run.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, BinaryIO, TypeVar

Answer = TypeVar("Answer")

NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""For `creationflags`: on Windows a program started by one without a console would open a window."""

IGNORES_CASE = sys.platform in ("darwin", "win32")
"""Whether the system's usual file systems take `A` for `a`."""


NATIVE_VARIABLE = "FINDSPOT_NATIVE"
"""`off`: run everything in Python; `require`: fail where the compiled part is missing."""


@functools.cache
def native() -> ModuleType | None:
    """Return the compiled part of Findspot, or None where Python does its work.

    Each of its functions has an equivalent in Python; the module with the equivalent chooses one of them.
    """
    wanted = os.environ.get(NATIVE_VARIABLE)
    if wanted == "off":
        return None
    try:
        return importlib.import_module("findspot._native")
    except ImportError:
        if wanted == "require":
            raise
        return None


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


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Import modules without garbage collection, and exempt what they create from later collections."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def find_program(name: str, path: str | None = None) -> str | None:
    """Return the absolute path of a program, or None where the PATH has no such program.

    Entries of the PATH that are relative or empty mean the working folder, and are left out. A name with a
    folder in it is a path already, and is returned as it is where it can be run.
    """
    if Path(name).name != name:
        return shutil.which(name)
    listed = os.environ.get("PATH", os.defpath) if path is None else path
    for folder in listed.split(os.pathsep):
        if not Path(folder).is_absolute():
            continue
        # One folder at a time with the full path: on Windows a search by name begins in the working folder.
        found = shutil.which(str(Path(folder) / name))
        if found is not None:
            return found
    return None


def resolved(command: Sequence[str], path: str | None = None) -> list[str]:
    """Return a command with the absolute path of its program; `FileNotFoundError` where there is none."""
    program = find_program(command[0], path) if command else None
    if program is None:
        raise FileNotFoundError(f"there is no program '{command[0] if command else ''}'")
    return [program, *command[1:]]


def python_command(*arguments: str) -> list[str]:
    """Return the command of this Python with `-P`: modules of the working folder are not imported."""
    return [sys.executable, "-P", *arguments]


def python_environment() -> dict[str, str]:
    """Return an environment in which a Python finds the modules that this one finds, by absolute paths.

    `-P` does not cover an empty entry of PYTHONPATH, which means the working folder too.
    """
    paths = [path for path in sys.path if Path(path).is_absolute() and Path(path) != _working_folder()]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


_YOUNG_OBJECTS = 50_000
"""Made before the collector looks for cycles; with Python's 700 it takes a sixth of a helper's time."""


def start_python(code: str, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a Python with code of ours, which reads its standard input and answers on its output."""
    return subprocess.Popen(
        python_command("-c", f"import gc; gc.set_threshold({_YOUNG_OBJECTS}); {code}"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        creationflags=NO_WINDOW,
        env=python_environment(),
    )


def run_loop(work: Callable[[], Awaitable[Answer]]) -> Answer:
    """Run a coroutine of a command; Ctrl-C and SIGTERM always end it.

    Python notices a signal between two of its own steps. One that comes just before a loop begins to wait is
    noticed after the next event only, which may never come, unless the signal makes an event too.
    """
    import asyncio

    async def stoppable() -> Answer:
        if sys.platform != "win32":  # whose loop does it by itself
            with contextlib.suppress(RuntimeError):  # a thread gets no signals
                # With a handler of any signal, here of new window sizes, every signal wakes the loop.
                asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, int)
        try:
            return await work()
        finally:
            if (task := asyncio.current_task()) and task.cancelling():
                raise asyncio.CancelledError  # whatever the work made of it

    return asyncio.run(stoppable())


def answers_on_stdout() -> BinaryIO:
    """Return the standard output for answers alone: a stray `print` goes to standard error from now on."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _working_folder() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was deleted meanwhile
        return None
