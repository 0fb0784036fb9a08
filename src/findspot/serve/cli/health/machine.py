"""What Findspot stands on: Python, the system, its own folder, the disk, the limits of watching."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from findspot import __version__
from findspot.core.config import home_folder
from findspot.core.files import folder_bytes
from findspot.core.mounts import remote_kind
from findspot.core.programs import python_command, python_environment
from findspot.serve import shapes
from findspot.serve.cli.clients.installed import Python, manner, serve_command
from findspot.serve.cli.health.check import Check, error, ok, warning

LEAST_DISK_BYTES = 200 * 1024 * 1024
"""An index of a middling project and its next version, which exist side by side for a moment."""
ENOUGH_DISK_BYTES = 1024 * 1024 * 1024

ENOUGH_WATCHES = 65_536
"""What a large project has in folders, with room for the editor's own watches."""

_LEAST_WATCHES = 8_192
"""The old default of Linux, which one editor alone uses up."""

_NATIVE = ("numpy", "simsimd", "tantivy", "tree_sitter", "watchfiles", "pydantic_core")
_LOAD = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
        print(name, "loads", flush=True)
    except ImportError as problem:
        print(name, str(problem).replace(chr(10), " "), flush=True)
"""
_LONG_PATHS = r"SYSTEM\CurrentControlSet\Control\FileSystem"
INOTIFY = Path("/proc/sys/fs/inotify")


def machine_checks(root: Path | None) -> Iterator[Check]:
    """Yield everything that does not depend on an index."""
    home = home_folder()
    yield _python()
    yield _system()
    yield _installation()
    yield _packages()
    yield _console(sys.stdout.encoding or "")
    yield _home(home)
    yield _disk(home)
    yield watching(root)


def _python() -> Check:
    bits = struct.calcsize("P") * 8
    text = f"{platform.python_implementation()} {platform.python_version()}, {bits} bits, {sys.executable}"
    if bits < 64:
        return warning("python", text, "Use a 64-bit Python: large indexes do not fit into this one.")
    return ok("python", text)


def _system() -> Check:
    text = f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} cores"
    if sys.platform == "win32" and not _long_paths():
        remedy = "Enable long paths (LongPathsEnabled in the registry): files with longer paths are left out."
        return warning("system", f"{text}; paths are limited to 260 characters", remedy)
    return ok("system", text)


def _long_paths() -> bool:
    """Return whether Windows lets programs use paths of more than 260 characters."""
    try:
        winreg = importlib.import_module("winreg")
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _LONG_PATHS) as key:
            return bool(winreg.QueryValueEx(key, "LongPathsEnabled")[0])
    except (ImportError, OSError):
        return False


def _installation() -> Check:
    python = Python()
    command = " ".join(serve_command(python))
    text = f"findspot {__version__} ({manner(python)}), started by `{command}`"
    found, first = python.find("findspot"), serve_command(python)[0]
    if found and Path(first).is_file() and not Path(found).samefile(first) and "findspot" in Path(first).name:
        return warning(
            "findspot", f"{text}; another one is first on the PATH: {found}", "Remove one of them."
        )
    return ok("findspot", text)


def _packages() -> Check:
    """Packages in machine code are what fails on an unusual system, and may take the process with them."""
    done = subprocess.run(
        python_command("-c", _LOAD, *_NATIVE),
        env=python_environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    broken = [f"{name} ({told.get(name, 'crashes')})" for name in _NATIVE if told.get(name) != "loads"]
    if broken:
        return error("packages", f"cannot be loaded: {', '.join(broken)}", "Install findspot again.")
    return ok("packages", f"{len(list(metadata.distributions()))} installed, those in machine code load")


def _console(encoding: str) -> Check:
    if encoding.lower().replace("-", "") == "utf8":
        return ok("console", encoding)
    remedy = "Set PYTHONUTF8=1 to see them as they are."
    return warning("console", f"{encoding}: characters that it lacks are shown as escapes", remedy)


def _home(home: Path) -> Check:
    if not home.exists():
        return ok("store", f"{home} (made with the first index)")
    text = f"{home}, {shapes.size(folder_bytes(home))}"
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return error(
            "store", f"{text}; not writable", f"Make {home} your own, or set FINDSPOT_HOME elsewhere."
        )
    kind = remote_kind(home)
    if kind:
        remedy = "Set FINDSPOT_HOME to a folder on a local disk: locks may not hold here."
        return warning("store", f"{text}; on a remote file system ({kind})", remedy)
    if os.name == "posix" and stat.S_IMODE(home.stat().st_mode) & 0o077:
        return warning("store", f"{text}; others can read it", f"chmod 700 {home}")
    return ok("store", text)


def _disk(home: Path) -> Check:
    folder = next(place for place in (home, *home.parents) if place.exists())
    free = shutil.disk_usage(folder).free
    text = f"{shapes.size(free)} free at {folder}"
    remedy = "Free some space, or set FINDSPOT_HOME to a folder on another disk."
    if free < LEAST_DISK_BYTES:
        return error("disk", text, remedy)
    return warning("disk", text, remedy) if free < ENOUGH_DISK_BYTES else ok("disk", text)


def watching(root: Path | None, limits: Path = INOTIFY) -> Check:
    """Return whether the system lets a watcher follow as many folders as there are."""
    if root and (kind := remote_kind(root)):
        text = f"{root} is remote ({kind}): looked at every few seconds"
        return warning("watching", text, "Work on a local copy, if changes should count at once.")
    try:
        watches = int((limits / "max_user_watches").read_text("ascii"))
    except (OSError, ValueError):
        return ok("watching", "the system sets no limit on watched folders")
    needed = _count_folders(root) if root else 0
    text = f"{watches:,} watches allowed" + (f", {needed:,} folders here" if root else "")
    if watches < max(needed * 2, _LEAST_WATCHES):
        remedy = f"sudo sysctl fs.inotify.max_user_watches={max(ENOUGH_WATCHES, needed * 4)}"
        return warning("watching", f"{text}; beyond that folders are looked at every few seconds", remedy)
    return ok("watching", text)


def _count_folders(root: Path) -> int:
    """Folders that a watcher would follow: those that the walk enters."""
    from findspot.core.config import load_settings
    from findspot.discover.walk import walk
    from findspot.indexing.pipeline import policy_of

    found = walk(root, policy_of(load_settings(root)))
    return len({file.path.rpartition("/")[0] for file in found.files})
