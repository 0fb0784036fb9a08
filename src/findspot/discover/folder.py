"""The folder that a walk begins in: a project's root, or the several roots of one index."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import cast

from findspot.core.folder import BY_HANDLE, Folder
from findspot.core.roots import Roots


def open_root(root: Path | Roots, *, by_handle: bool = BY_HANDLE) -> Folder:
    """Open the root itself; the one place where a link is followed, as the user named it."""
    roots = Roots.of(root)
    if roots.named:
        return SeveralRoots(roots, by_handle=by_handle)
    return Folder.open(roots.project, by_handle=by_handle)


class SeveralRoots(Folder):
    """A folder that is on no disk and holds the roots under their names."""

    def __init__(self, roots: Roots, *, by_handle: bool) -> None:
        super().__init__("", None, roots.project.stat().st_uid)
        self._roots = dict(roots.named)
        self._by_handle = by_handle

    @property
    def holds_roots(self) -> bool:
        return True

    def enter(self, name: str) -> Folder:
        return open_root(self._root(name), by_handle=self._by_handle)

    def scan(self) -> list[os.DirEntry[str]]:
        entries = [_RootEntry(name, folder) for name, folder in self._roots.items()]
        return cast("list[os.DirEntry[str]]", entries)

    def lstat(self, name: str) -> os.stat_result:
        return self._root(name).stat()

    def read(self, name: str, max_bytes: int) -> bytes:
        raise FileNotFoundError(errno.ENOENT, "no file beside the roots", name)

    def _root(self, name: str) -> Path:
        if name not in self._roots:
            raise FileNotFoundError(errno.ENOENT, "no root of that name", name)
        return self._roots[name]


class _RootEntry:
    """A root as a listing shows it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self._folder.stat()

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return True
