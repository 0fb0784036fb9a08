"""Where a project begins, and what git keeps beside its files: exclude files, HEAD, submodules.

No program is run, and nothing but small regular files is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from findspot.core.files import TOO_MANY_OPEN, Folder, out_of_resources, read_below
from findspot.discover.root_folder import spelled_out

GIT = ".git"
"""A folder; in linked worktrees and submodules, a file that points to one."""

MARKERS = (GIT, "package.json", "pyproject.toml", "Cargo.toml", "go.mod")
"""In the order in which they are looked for."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_BYTES = 1024 * 1024
_MAX_LINES = 20_000
_MAX_LINE_CHARS = 1_000
"""Of a file with settings; what is beyond is not read: `.gitmodules` is a stranger's."""

_NAMED_SUBMODULES = 5
_NAME_CHARS = 80


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


def git_folder(checkout: Path) -> Path | None:
    """Return where git keeps the HEAD of a checkout; for a linked worktree it is elsewhere."""
    here = checkout / GIT
    if here.is_dir():
        return here
    label, _, place = _text(checkout, GIT).partition(":")
    return Path(os.path.normpath(checkout / place.strip())) if label == "gitdir" and place.strip() else None


def common_folder(git: Path) -> Path:
    """Return where git keeps what all worktrees of a repository share: refs, configuration, excludes."""
    shared = _text(git, "commondir").strip()
    return Path(os.path.normpath(git / shared)) if shared else git


def head_commit(checkout: Path) -> str | None:
    """Return the commit of HEAD; None where there is none, or where git keeps it in a form of its own."""
    git = git_folder(checkout)
    if git is None:
        return None
    head = _text(git, "HEAD").strip()
    if not head.startswith("ref: "):
        return head if _COMMIT.fullmatch(head) else None
    name, common = head.removeprefix("ref: ").strip(), common_folder(git)
    loose = _text(common, name).strip() if name.startswith("refs/") and ".." not in name else ""
    packed = re.search(rf"^({_COMMIT.pattern}) {re.escape(name)}$", _text(common, "packed-refs"), re.M)
    return loose if _COMMIT.fullmatch(loose) else packed[1] if packed else None


def exclude_file(checkout: Path) -> Path | None:
    """Return the exclude file of a repository, whose rules are not committed."""
    git = git_folder(checkout)
    return common_folder(git) / "info" / "exclude" if git else None


def git_configuration(checkout: Path) -> str:
    """Return the text of a checkout's own git configuration; empty if there is none."""
    git = git_folder(checkout)
    return _text(common_folder(git), "config") + _text(git, "config.worktree") if git else ""


def checkout_notes(checkout: Path, here: Folder) -> list[str]:
    """Return what a reader of the index should know about the checkout that it is of."""
    found: list[str] = []
    if any(value.lower() in _TRUE for value in _values("sparsecheckout", git_configuration(checkout))):
        found.append("Sparse checkout in ./: only the files on disk are indexed.")
    paths = _values("path", _text(checkout, ".gitmodules"))
    missing = [path for path in paths if path and not _is_checked_out(here, path)]
    for path in missing[:_NAMED_SUBMODULES]:
        found.append(f"Submodule {_shortened(spelled_out(path))} is not checked out.")
    if (more := len(missing) - _NAMED_SUBMODULES) > 0:
        found.append(f"{more:,} more {'submodule is' if more == 1 else 'submodules are'} not checked out.")
    return found


_TRUE = ("true", "yes", "on", "1")


def _values(name: str, settings: str) -> Iterator[str]:
    """Yield the values that a text in git's notation gives to a name, of any section."""
    for line in islice(settings.split("\n"), _MAX_LINES):
        found, _, value = line[:_MAX_LINE_CHARS].partition("=")
        if found.strip().lower() == name:
            yield value.strip().strip('"')


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}…"


def _text(folder: Path, name: str) -> str:
    """Return the text of a small file; empty if it cannot be read or is a link."""
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
