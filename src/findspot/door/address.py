"""Where the resident process of a home is reached, and when a command does without one."""

from __future__ import annotations

import os

IN_PROCESS_VARIABLE = "FINDSPOT_IN_PROCESS"
"""`1` answers in the process that was started, `0` never does so by itself."""

HELLO = 1
"""The version of the first line; every later version reads this one too."""

_MAX_SOCKET_PATH = 100
"""Systems allow 104 to 108 bytes."""

_INSTALLED = ("site-packages", "dist-packages")


def home_folder() -> str:
    """Return the home folder, as `core.config.home_folder` does."""
    given = os.environ.get("FINDSPOT_HOME")
    folder = given or os.path.join("~", ".mcp", "search")
    return os.path.abspath(os.path.expanduser(folder))


def service_folder(home: str) -> str:
    """Return the folder of the resident process: its lock, its address and what it said while it started."""
    return os.path.join(home, "service")


def socket_path(home: str) -> str:
    """Return the path of the socket: in the home, or in the user's runtime folder if that is too long."""
    path = os.path.join(service_folder(home), "socket")
    if len(os.fsencode(path)) <= _MAX_SOCKET_PATH:
        return path
    import hashlib
    import tempfile

    runtime = os.environ.get("XDG_RUNTIME_DIR") or os.path.join(
        tempfile.gettempdir(), f"findspot-{os.getuid()}"
    )
    return os.path.join(runtime, f"findspot-{hashlib.sha256(os.fsencode(home)).hexdigest()[:16]}")


def reason_for_none() -> str:
    """Return why this process has to answer by itself; empty if a resident process may."""
    if os.name != "posix":
        return "this system has no sockets in folders"
    wanted = os.environ.get(IN_PROCESS_VARIABLE, "")
    if wanted:
        return f"{IN_PROCESS_VARIABLE} is set" if wanted != "0" else ""
    if os.environ.get("CI"):
        return "this is a CI job"
    if "SUDO_UID" in os.environ and os.geteuid() == 0:
        return "it runs under sudo"
    if any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv"))) and not _has_terminal():
        return "it runs in a container"
    return ""


def _has_terminal() -> bool:
    try:
        return os.isatty(2)
    except OSError:
        return False


def code_stamp() -> float:
    """Return when the code was last changed; 0 for an installed version, whose number says enough."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.basename(os.path.dirname(package)) in _INSTALLED:
        return 0.0
    newest = 0.0
    for folder, folders, files in os.walk(package):
        folders[:] = [name for name in folders if name != "__pycache__"]
        times = (os.stat(os.path.join(folder, name)).st_mtime for name in files if name.endswith(".py"))
        newest = max(newest, *times, 0.0)
    return newest


def sandbox() -> str:
    """Return what tells this process's view of the system from that of others; empty where all share one."""
    try:
        return f"{os.stat('/proc/self/ns/mnt').st_ino} {os.stat('/proc/self/ns/user').st_ino}"
    except OSError:
        return ""


def rank(version: str, stamp: float) -> tuple[tuple[int, ...], float]:
    """Return what orders two versions of the code."""
    numbers = (part.split("rc")[0].split("a")[0].split("b")[0] for part in version.split(".")[:3])
    return tuple(int(number) if number.isdecimal() else 0 for number in numbers), stamp
