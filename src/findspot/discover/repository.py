"""What git keeps in a working tree that matters here: exclude files, submodules, sparse checkouts."""

from __future__ import annotations

import posixpath
import re

from findspot.core.folder import Folder
from findspot.discover.ignore import MAX_IGNORE_BYTES
from findspot.discover.names import spelled_out

_SPARSE = re.compile(r"^\s*sparsecheckout\s*=\s*(?:true|yes|on|1)\s*$", re.I | re.M)
_SUBMODULE_PATH = re.compile(r"^\s*path\s*=\s*\"?(.+?)\"?\s*$", re.M)
_GITDIR = re.compile(r"gitdir:\s*(.+?)\s*$")


def git_folder(prefix: str, here: Folder) -> str | None:
    """Where, relative to the root, the repository checked out in `prefix` is kept.

    None when it lies outside the root, as for a linked worktree: nothing is read there.
    """
    pointer = read_text(here, ".git")
    if pointer is None:
        return prefix + ".git"
    found = _GITDIR.match(pointer)
    if not found or posixpath.isabs(found[1]):
        return None
    folder = posixpath.normpath(prefix + found[1])
    return None if folder.startswith("..") else folder


def exclude_text(top: Folder, git: str) -> str | None:
    """The rules of a repository that are not committed."""
    return read_below(top, f"{git}/info/exclude")


def notes(top: Folder, prefix: str, here: Folder) -> list[str]:
    """What a reader of the index should know about this checkout."""
    found: list[str] = []
    git = git_folder(prefix, here)
    config = "\n".join(read_below(top, f"{git}/{name}") or "" for name in ("config", "config.worktree"))
    if git and _SPARSE.search(config):
        found.append(f"Sparse checkout in {prefix or './'}: only the files on disk are indexed.")
    for path in _SUBMODULE_PATH.findall(read_text(here, ".gitmodules") or ""):
        if not _is_checked_out(here, path):
            found.append(f"Submodule {spelled_out(prefix + path)} is not checked out.")
    return found


def read_text(folder: Folder, name: str) -> str | None:
    """A small text file in a folder; None when there is no such file or it cannot be read."""
    try:
        return folder.read(name, MAX_IGNORE_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return None


def read_below(folder: Folder, path: str) -> str | None:
    """The same, at a relative path, by real folders only."""
    first, _, rest = path.partition("/")
    if not rest:
        return read_text(folder, first)
    try:
        with folder.enter(first) as inner:
            return read_below(inner, rest)
    except OSError:
        return None


def _is_checked_out(folder: Folder, path: str) -> bool:
    first, _, rest = path.partition("/")
    try:
        with folder.enter(first) as inner:
            if rest:
                return _is_checked_out(inner, rest)
            inner.lstat(".git")
            return True
    except OSError:
        return False
