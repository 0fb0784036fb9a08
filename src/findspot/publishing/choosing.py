"""Which version of a published index fits a checkout, and which versions are no longer worth keeping.

The nearest ancestor of HEAD has most of the checkout's files. Git may not know the published commits: the
clone may be shallow, or the folder may be no checkout at all. Then the newest version of the default branch
is likely to be near.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

from findspot.core.git import Checkout
from findspot.core.utc_time import age
from findspot.publishing.published import Version

_USUAL_BRANCHES = ("main", "master", "trunk", "develop")

KEEP_DAYS = 30
KEEP_VERSIONS = 20


def nearest(versions: Iterable[Version], checkout: Checkout) -> Version | None:
    """Return the version of the nearest ancestor, else the newest one of the default branch, if any."""
    ordered = newest_first(versions)
    by_commit = {version.commit: version for version in reversed(ordered)}
    for commit in checkout.ancestors:
        if commit in by_commit:
            return by_commit[commit]
    default = default_branch(checkout, {version.branch for version in ordered})
    of_default = [version for version in ordered if version.branch == default]
    return next(iter(of_default or ordered), None)


def base_of(versions: Iterable[Version], added: Version) -> Version | None:
    """Return the version that a new one goes on from: the newest of its branch, else of all, that was made
    in the same way.
    """
    alike = [v for v in newest_first(versions) if (v.model, v.pipeline) == (added.model, added.pipeline)]
    return next((version for version in alike if version.branch == added.branch), next(iter(alike), None))


def outdated(
    versions: Iterable[Version], checkout: Checkout, keep_days: int, keep_versions: int
) -> list[Version]:
    """Return the versions to remove: older than some days, or with so many newer ones of their branch.

    The newest version of the default branch always stays.
    """
    ordered = newest_first(versions)
    default = default_branch(checkout, {version.branch for version in ordered})
    newer: dict[str, int] = {}
    removed = []
    for version in ordered:
        before = newer.setdefault(version.branch, 0)
        newer[version.branch] += 1
        if version.branch == default and not before:
            continue
        if before >= keep_versions or age(version.published_at) > timedelta(days=keep_days):
            removed.append(version)
    return removed


def default_branch(checkout: Checkout, published: Collection[str]) -> str:
    """Return the branch that most checkouts are near to: the remote's default, or one with a usual name."""
    named = (checkout.default_branch, *_USUAL_BRANCHES)
    return next((name for name in named if name and name in published), checkout.default_branch)


def newest_first(versions: Iterable[Version]) -> list[Version]:
    """Return versions in the order in which they are listed; at the same time, by commit and branch."""
    ordered = sorted(versions, key=lambda version: (version.commit, version.branch))
    return sorted(ordered, key=lambda version: version.published_at, reverse=True)
