"""How other programs are started: never one that only happens to be in the working folder.

A server runs inside the user's project, whose files may be anybody's. A `git.exe`, `less` or `numpy.py`
that is committed there must never run.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


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


def python_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which a Python finds the modules that this one finds, by absolute paths.

    `-P` does not cover an empty entry of PYTHONPATH, which means the working folder too.
    """
    paths = [path for path in sys.path if Path(path).is_absolute() and Path(path) != _working_folder()]
    return {**(os.environ if environ is None else environ), "PYTHONPATH": os.pathsep.join(paths)}


def _working_folder() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was deleted meanwhile
        return None
