"""What differs between systems and must not be noticed: windows that open, names in another case."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
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
