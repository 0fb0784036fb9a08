"""Which files are not as they were at some revision: what git says, uncommitted changes included."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from findspot.core.errors import InvalidArgumentError
from findspot.core.model import Query
from findspot.core.roots import Roots

TIMEOUT_S = 30.0
_MAX_CHARS = 200

_CAREFUL = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
"""A repository's configuration must not run programs only because somebody searches in it."""

_THEIRS = ("local", "worktree")
"""The scopes of configuration that come with a repository."""
_OFF = {"clean": "", "process": "", "required": "false"}
"""What a filter is set to so that git passes it by."""


def limited(roots: Roots, query: Query) -> Query:
    """A query that asks for what changed, with the paths that did, in each of several roots."""
    if query.changed_since is None:
        return query
    changed = {
        f"{name}/{path}" if name else path
        for name, folder in roots.named or (("", roots.project),)
        for path in changed_since(folder, query.changed_since)
    }
    return replace(query, only=frozenset(changed))


def changed_since(root: Path, revision: str) -> frozenset[str]:
    """The paths below a root whose files differ from a revision, or are not tracked."""
    if not revision.strip() or len(revision) > _MAX_CHARS or "\0" in revision:
        raise InvalidArgumentError("changed_since must name a revision, such as 'main' or 'HEAD~3'.")
    if _git(root, "rev-parse", "--is-inside-work-tree") is None:
        raise InvalidArgumentError(
            f"changed_since needs a git repository, and {root} is in none.", hint="Leave changed_since out."
        )
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        raise InvalidArgumentError(
            f"'{revision}' is no revision of this repository.",
            hint="Name a branch, a tag or a commit, such as 'main' or 'HEAD~3'.",
        )
    differing = ("diff", "--name-only", "-z", "--relative", "--no-renames", "--no-ext-diff", "--no-textconv")
    changed = _git(root, *differing, commit.strip(), "--", ".", environment=_without_filters(root))
    untracked = _git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
    if changed is None or untracked is None:
        raise InvalidArgumentError(f"git could not say what changed since '{revision}'.")
    return frozenset(unicodedata.normalize("NFC", path) for path in (changed + untracked).split("\0") if path)


def _without_filters(root: Path) -> dict[str, str]:
    """An environment in which git runs none of the filters that the repository itself configures.

    Those of the user's own configuration (LFS) stay: whoever wrote that may run what they like. By
    environment, since a name may hold "=", which the command line would cut at.
    """
    asked = ("config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
    told = (_git(root, *asked) or "").split("\0")
    by_scope = zip(told[::2], told[1::2], strict=False)
    theirs = sorted({key.rsplit(".", 1)[0] for scope, key in by_scope if scope in _THEIRS})
    switched = [(f"{name}.{key}", value) for name in theirs for key, value in _OFF.items()]
    numbered = {f"GIT_CONFIG_KEY_{at}": key for at, (key, _) in enumerate(switched)}
    numbered |= {f"GIT_CONFIG_VALUE_{at}": value for at, (_, value) in enumerate(switched)}
    return numbered | {"GIT_CONFIG_COUNT": str(len(switched))}


def _git(root: Path, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """What git answers; None where it refuses."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *_CAREFUL, "-C", str(root), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            env={**inherited, **environment, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            check=False,
        )
    except FileNotFoundError:
        raise InvalidArgumentError(
            "changed_since needs git, which is not installed.",
            hint="Install git, or leave changed_since out.",
        ) from None
    except subprocess.TimeoutExpired:
        raise InvalidArgumentError(f"git did not answer within {TIMEOUT_S:g} seconds.") from None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None
