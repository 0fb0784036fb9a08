"""Ignore rules from outside a project's root: the user's, the repository's, and of folders in between.

A package of a repository, a folder named in `roots` or as a path is governed by the same rules as if the
whole repository were indexed. Git is run for the list of tracked files, which it ignores never, and for what
the user's own configuration says: what a repository's `.git/config` says about `core.excludesFile` would let
its author choose what is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from findspot.core.config import git_configuration
from findspot.core.files import State, check_exhausted, read_below, read_named, reason, state_of
from findspot.core.git import configured, tracked_files
from findspot.core.paths import GITIGNORE, expanded, stat_of
from findspot.discover.checkouts import checkout_around, exclude_file, git_folder
from findspot.discover.ignore import (
    MAX_IGNORE_BYTES,
    OWN_IGNORE,
    Ignores,
    Rules,
    Tracked,
    UnusableIgnoreFileError,
)
from findspot.discover.root_folder import nfc


@dataclass(frozen=True, slots=True)
class _OuterFile:
    """An ignore file outside a root, and the folder of the repository that it applies to."""

    path: Path
    applies_to: str
    own: bool = False
    in_tree: bool = True
    """Whether it lies in the working tree, where git follows no links either."""


def rules_above(root: Path, *, ignore_case: bool, respect_gitignore: bool) -> Rules:
    """Return the rules that hold at a root before its own; UnusableIgnoreFileError if one cannot be known."""
    checkout = checkout_around(root)
    base = _folder_in_repository(root, checkout)
    above = Ignores(ignore_case=ignore_case)
    rules = Rules(above, above, _tracked_at(root, ignore_case=ignore_case))
    for file in _outer_files(root, checkout):
        text = _text_of(file, root) if file.own or respect_gitignore else None
        if text:
            rules = rules.with_file(file.applies_to, text, _shown(file.path, root), own=file.own)
    return replace(rules, git=rules.git.below("", base), own=rules.own.below("", base))


def _tracked_at(root: Path, *, ignore_case: bool) -> Tracked:
    """Return the function that tells what git tracks below a root; git is asked when it is first called."""

    @lru_cache(maxsize=1)
    def known() -> frozenset[str]:
        paths = tracked_below(root) or frozenset()
        return frozenset(map(str.lower, paths)) if ignore_case else paths

    def tracked(path: str) -> bool:
        return (path.lower() if ignore_case else path) in known()

    return tracked


def tracked_below(root: Path) -> frozenset[str] | None:
    """Return the files below a folder that git tracks and, each with a slash at its end, their folders.

    None where there is a list of them that git cannot read, or no git to read it.
    """
    checkout = checkout_around(root)
    git = git_folder(checkout) if checkout else None
    state = state_of(git / "index") if git else None
    return _listed(root, state) if state else frozenset()


@lru_cache(maxsize=8)
def _listed(root: Path, _state: State) -> frozenset[str] | None:
    """Return what `tracked_below` does, for one state of git's list."""
    listed = tracked_files(root)
    if listed is None:
        return None
    found: set[str] = set()
    for path in map(nfc, listed):
        found.add(path)
        end = path.rfind("/")
        while end > 0 and path[: end + 1] not in found:
            found.add(path[: end + 1])
            end = path.rfind("/", 0, end)
    return frozenset(found)


def untold_note(root: Path) -> str:
    """Return a note if git does not tell which files of a root are tracked."""
    if tracked_below(Path(os.path.realpath(root))) is not None:
        return ""
    return (
        f"Git does not tell which files of {root} are tracked, so whatever its ignore files name is left "
        f"out. `git -C {root} status` says why."
    )


def state_above(root: Path) -> tuple[object, ...]:
    """Return a value that changes whenever one of those files changes, appears or disappears, and whenever
    git tracks other files.
    """
    files = (file.path for file in _outer_files(root, checkout_around(root)))
    return *((str(path), state_of(path)) for path in files), hash(tracked_below(root))


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
        applies_to = _folder_in_repository(folder, checkout)
        yield _OuterFile(folder / GITIGNORE, applies_to)
        yield _OuterFile(folder / OWN_IGNORE, applies_to, own=True)


def _folder_in_repository(folder: Path, checkout: Path | None) -> str:
    """Return a folder as the rules of its repository know it: with a trailing slash, empty for the top."""
    return f"{folder.relative_to(checkout).as_posix()}/".removeprefix("./") if checkout else ""


def _text_of(file: _OuterFile, root: Path) -> str | None:
    """Return the text of an ignore file; None if there is none that this user can see."""
    try:
        if file.in_tree:
            data = read_below(file.path.parent, file.path.name, MAX_IGNORE_BYTES)
        elif stat_of(file.path) is not None:
            data = read_named(file.path, MAX_IGNORE_BYTES)
        else:
            return None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(_shown(file.path, root), error) from error
    return data.decode("utf-8", "surrogateescape")


def unusable(shown: str, error: OSError) -> UnusableIgnoreFileError:
    check_exhausted(error, shown)
    return UnusableIgnoreFileError(shown, f"it cannot be read ({reason(error)})")


def _shown(path: Path, root: Path) -> str:
    """Return how to name an outer file to the user: from the home folder, or from the project."""
    home = expanded("~")
    if path.is_relative_to(home) and not path.is_relative_to(root):
        return f"~/{path.relative_to(home).as_posix()}"
    return Path(os.path.relpath(path, root)).as_posix()


def global_excludes() -> Path | None:
    """Return where the user's global ignore file is, whether or not it exists."""
    files, default = git_configuration()
    named = [_excludes_in(file, state) for file in files if (state := state_of(file))]
    named = [value for value in named if value is not None]
    if not named:
        return default
    return expanded(named[-1]) if named[-1] else None


@lru_cache(maxsize=32)
def _excludes_in(file: Path, _state: State) -> str | None:
    """Return what a file of the user's configuration, in this state, names as global ignore file."""
    return configured(file, "core.excludesFile")
