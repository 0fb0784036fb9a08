"""Keep what Findspot stores to its owner.

Everything under FINDSPOT_HOME holds text of the user's files or tells of them. `make_private_dir` and
`write_atomic` create what is new for the owner alone; this corrects what is there already.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

OWN_FOLDERS = frozenset({"indexes", "documents", "catalogues", "models", "setup", "logs", "spool"})
_OWN_FILES = ("config.json", "usage.sqlite")
_OTHERS = 0o077


def restrict_home(home: Path) -> None:
    """Take from others the rights to our files in an existing home.

    A home that holds other files too may be a folder that others need: there only our own entries change.
    """
    if os.name != "posix":
        return
    try:
        with os.scandir(home) as entries:
            listed = list(entries)
    except OSError:
        return
    ours = [entry for entry in listed if entry.name in OWN_FOLDERS or entry.name.startswith(_OWN_FILES)]
    for entry in ours:
        _restrict(entry.path)
    if ours and len(ours) == len(listed):
        _restrict(os.fspath(home))


def _restrict(path: str) -> None:
    with contextlib.suppress(OSError):
        info = os.lstat(path)
        is_ours = info.st_uid == os.geteuid() and not stat.S_ISLNK(info.st_mode)
        if is_ours and info.st_mode & _OTHERS and not info.st_mode & stat.S_ISVTX:
            os.chmod(path, stat.S_IMODE(info.st_mode) & ~_OTHERS)  # noqa: PTH101
