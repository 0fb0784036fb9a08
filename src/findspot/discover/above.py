"""Rules that come from outside a project's root: the user's, the repository's, and of folders in between.

A package of a repository, a folder named in `roots` or as a path is governed by the same rules as if the
whole repository were indexed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from findspot.core.files import TOO_MANY_OPEN, out_of_resources, read_below, read_named, reason
from findspot.core.roots import Roots
from findspot.discover.gitconfig import Stamp, global_excludes, stamp_of
from findspot.discover.ignore import (
    GITIGNORE,
    MAX_IGNORE_BYTES,
    OWN_IGNORE,
    Ignores,
    UnusableIgnoreFileError,
)
from findspot.discover.repository import exclude_file
from findspot.discover.root import checkout_around


@dataclass(frozen=True, slots=True)
class _OuterFile:
    """An ignore file outside a root, and the folder of the repository that it speaks for."""

    path: Path
    place: str
    own: bool = False
    in_tree: bool = True
    """Whether it lies in the working tree, where git follows no links either."""


def rules_above(root: Path, prefix: str, *, ignore_case: bool, respect_gitignore: bool) -> Ignores:
    """Return the rules that hold at a root before its own; UnusableIgnoreFileError if one cannot be known.

    `prefix` is how the walk spells the root: empty, or the name of one of several.
    """
    checkout = checkout_around(root)
    ignores = Ignores(ignore_case=ignore_case)
    for file in _outer_files(root, checkout):
        if not file.own and not respect_gitignore:
            continue
        text = _text_of(file, root)
        if text and file.own:
            ignores = ignores.with_own(file.place, text, _shown(file.path, root))
        elif text:
            ignores = ignores.with_git(file.place, text, _shown(file.path, root))
    return ignores.below(prefix, _place_of(root, checkout))


def state_above(roots: Roots) -> tuple[Stamp | None, ...]:
    """Return what changes whenever one of those files does, appears or goes away."""
    return tuple(
        stamp_of(file.path)
        for folder in roots.folders
        for file in _outer_files(folder, checkout_around(folder))
    )


def _outer_files(root: Path, checkout: Path | None) -> Iterator[_OuterFile]:
    """Yield the files in the order in which git reads them: a later one outranks those before it."""
    if excludes := global_excludes():
        yield _OuterFile(excludes, "", in_tree=False)
    if checkout is None:
        return
    if excludes := exclude_file(checkout):
        yield _OuterFile(excludes, "", in_tree=False)
    between = [folder for folder in root.parents if folder.is_relative_to(checkout)]
    for folder in reversed(between):
        place = _place_of(folder, checkout)
        yield _OuterFile(folder / GITIGNORE, place)
        yield _OuterFile(folder / OWN_IGNORE, place, own=True)


def _place_of(folder: Path, checkout: Path | None) -> str:
    """Return a folder as the rules of its repository know it: with a trailing slash, empty for the top."""
    return f"{folder.relative_to(checkout).as_posix()}/".removeprefix("./") if checkout else ""


def _text_of(file: _OuterFile, root: Path) -> str | None:
    """Return the text of an ignore file; None where there is none, or none that this user may know of."""
    try:
        if file.in_tree:
            data = read_below(file.path.parent, file.path.name, MAX_IGNORE_BYTES)
        elif os.path.exists(file.path):  # noqa: PTH110 - never raises
            data = read_named(file.path, MAX_IGNORE_BYTES)
        else:
            return None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(_shown(file.path, root), error) from error
    return data.decode("utf-8", "surrogateescape")


def unusable(shown: str, error: OSError) -> UnusableIgnoreFileError:
    """Return the error for an ignore file that cannot be read."""
    if error.errno in TOO_MANY_OPEN:
        raise out_of_resources(Path(shown), error.errno) from error
    return UnusableIgnoreFileError(shown, f"it cannot be read ({reason(error)})")


def _shown(path: Path, root: Path) -> str:
    """Return how to name an outer file to the user: from the home folder, or from the project."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - never raises
    if path.is_relative_to(home) and not path.is_relative_to(root):
        return f"~/{path.relative_to(home).as_posix()}"
    return Path(os.path.relpath(path, root)).as_posix()
