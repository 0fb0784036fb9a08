"""The repositories in a folder: together they are a workspace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from findspot.core.paths import is_denied
from findspot.discover.checkouts import GIT, common_folder, find_root, git_folder, is_checkout
from findspot.discover.root_folder import nfc, spelled_out

DEPTH = 2
"""How far down repositories are looked for: `folder/repository` and `folder/owner/repository`."""
_MOST_FOLDERS = 2_000


def repositories_in(folder: Path) -> list[Path]:
    """Return the repositories in a folder, in order; of several worktrees of one, the main or the first."""
    found: dict[Path, Path] = {}
    for checkout in sorted(_checkouts(folder, DEPTH), key=lambda path: (not (path / GIT).is_dir(), path)):
        git = git_folder(checkout)
        found.setdefault(Path(os.path.realpath(common_folder(git))) if git else checkout, checkout)
    return sorted(found.values())


def projects_in(folder: Path) -> list[Path]:
    """Return the projects that a folder means: itself if it is one or holds no repository, else those."""
    return [folder] if find_root(folder) == folder else repositories_in(folder) or [folder]


def _checkouts(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)[:_MOST_FOLDERS]
    except OSError:
        return
    for entry in entries:
        if (
            entry.name.startswith(".")
            or is_denied(entry.name, True)
            or not entry.is_dir(follow_symlinks=False)
        ):
            continue
        if is_checkout(Path(entry.path)):
            yield Path(entry.path)
        elif depth > 1:
            yield from _checkouts(Path(entry.path), depth - 1)


def by_name(folders: Iterable[Path]) -> dict[str, Path]:
    """Return folders by their names; of two with the same name, the later one has that of its parent too."""
    named: dict[str, Path] = {}
    for folder in dict.fromkeys(folders):
        name = spelled_out(nfc(folder.name)) or "root"
        if name in named:
            name = f"{spelled_out(nfc(folder.parent.name))}-{name}"
        while name in named:
            name += "-2"
        named[name] = folder
    return named
