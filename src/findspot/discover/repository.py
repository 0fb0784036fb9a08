"""What git keeps beside a working tree that matters here: exclude files, HEAD, submodules, sparse checkouts.

No program is run, and nothing but small regular files is opened.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from findspot.core.files import TOO_MANY_OPEN, out_of_resources, read_below
from findspot.core.folder import Folder
from findspot.discover.names import spelled_out
from findspot.discover.root import GIT

_SPARSE = re.compile(r"^\s*sparsecheckout\s*=\s*(?:true|yes|on|1)\s*$", re.I | re.M)
_SUBMODULE_PATH = re.compile(r"^\s*path\s*=\s*\"?(.+?)\"?\s*$", re.M)
_GITDIR = re.compile(r"gitdir:\s*(.+?)\s*$")
_MAX_BYTES = 1024 * 1024


def git_folder(checkout: Path) -> Path | None:
    """Return where git keeps the HEAD of a checkout; that of a linked worktree lies elsewhere."""
    here = checkout / GIT
    if here.is_dir():
        return here
    pointer = _GITDIR.match(_text(checkout, GIT))
    return Path(os.path.normpath(checkout / pointer[1])) if pointer else None


def common_folder(git: Path) -> Path:
    """Return where git keeps what all worktrees of a repository share: refs, configuration, excludes."""
    shared = _text(git, "commondir").strip()
    return Path(os.path.normpath(git / shared)) if shared else git


def exclude_file(checkout: Path) -> Path | None:
    """Return where the rules of a repository are that are not committed."""
    git = git_folder(checkout)
    return common_folder(git) / "info" / "exclude" if git else None


def notes(checkout: Path, prefix: str, here: Folder) -> list[str]:
    """Return what a reader of the index should know about the checkout at one of its roots."""
    found: list[str] = []
    git = git_folder(checkout)
    config = _text(common_folder(git), "config") + _text(git, "config.worktree") if git else ""
    if _SPARSE.search(config):
        found.append(f"Sparse checkout in {prefix or './'}: only the files on disk are indexed.")
    for path in _SUBMODULE_PATH.findall(_text(checkout, ".gitmodules")):
        if not _is_checked_out(here, path):
            found.append(f"Submodule {spelled_out(prefix + path)} is not checked out.")
    return found


def _text(folder: Path, name: str) -> str:
    """Return the text of a small file; empty where there is none that can be read, or only a link."""
    try:
        return read_below(folder, name, _MAX_BYTES).decode("utf-8", "surrogateescape")
    except ValueError:  # a NUL in what a file names as a path
        return ""
    except OSError as error:
        if error.errno in TOO_MANY_OPEN:
            raise out_of_resources(folder / name, error.errno) from error
        return ""


def _is_checked_out(folder: Folder, path: str) -> bool:
    first, _, rest = path.partition("/")
    try:
        with folder.enter(first) as inner:
            if rest:
                return _is_checked_out(inner, rest)
            inner.lstat(GIT)
            return True
    except OSError:
        return False
