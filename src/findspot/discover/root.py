"""Where a project begins, and which folders' indexes may hold its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

GIT = ".git"
"""A folder; in linked worktrees and submodules, a file that points to one."""

MARKERS = (GIT, "package.json", "pyproject.toml", "Cargo.toml", "go.mod")
"""In the order in which they are looked for."""


def find_root(start: Path) -> Path | None:
    """Return the nearest folder, from `start` upwards, that holds a marker of a project."""
    here = start.resolve()
    for folder in (here, *here.parents):
        if any(os.path.lexists(folder / marker) for marker in MARKERS):
            return folder
    return None


def is_checkout(folder: Path) -> bool:
    """Return whether a folder has its own `.git`: it is then a project of its own, and part of no other."""
    return os.path.lexists(folder / GIT)


def checkout_around(folder: Path) -> Path | None:
    """Return the nearest folder, from `folder` upwards, that has its own `.git`."""
    return next(filter(is_checkout, chain((folder,), folder.parents)), None)


def folders_around(folder: Path) -> Iterator[Path]:
    """Yield the folders whose index may hold the files of `folder`: itself and those above it.

    The last one is the top of its checkout: an index of what is above that does not hold them.
    """
    for around in chain((folder,), folder.parents):
        yield around
        if is_checkout(around):
            return
