"""Which files are not as they were at some revision: what git says, uncommitted changes included."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import Path

from findspot.core.errors import InvalidArgumentError
from findspot.core.git import GitMissingError, differing, run_git
from findspot.core.model import Query
from findspot.core.roots import Roots

_MAX_CHARS = 200


def limited(roots: Roots, query: Query) -> Query:
    """Return a query that asks for what changed, with the paths that did, in each of several roots."""
    if query.changed_since is None:
        return query
    changed = {
        f"{name}/{path}" if name else path
        for name, folder in roots.named or (("", roots.project),)
        for path in changed_since(folder, query.changed_since)
    }
    return replace(query, only=frozenset(changed))


def changed_since(root: Path, revision: str) -> frozenset[str]:
    """Return the paths below a root whose files differ from a revision, or are not tracked."""
    if not revision.strip() or len(revision) > _MAX_CHARS or "\0" in revision:
        raise InvalidArgumentError("changed_since must name a revision, such as 'main' or 'HEAD~3'.")
    try:
        return _differing(root, revision)
    except GitMissingError as error:
        raise InvalidArgumentError(
            "changed_since needs git, which is not installed.",
            hint="Install git, or leave changed_since out.",
        ) from error


def _differing(root: Path, revision: str) -> frozenset[str]:
    if run_git(root, "rev-parse", "--is-inside-work-tree") is None:
        raise InvalidArgumentError(
            f"changed_since needs a git repository, and {root} is in none.", hint="Leave changed_since out."
        )
    commit = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        raise InvalidArgumentError(
            f"'{revision}' is no revision of this repository.",
            hint="Name a branch, a tag or a commit, such as 'main' or 'HEAD~3'.",
        )
    changed = differing(root, commit.strip())
    untracked = run_git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
    if changed is None or untracked is None:
        raise InvalidArgumentError(f"git could not say what changed since '{revision}'.")
    return frozenset(unicodedata.normalize("NFC", path) for path in (changed + untracked).split("\0") if path)
