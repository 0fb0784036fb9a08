"""Choosing a version for a checkout, and cleaning up old ones."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from findspot.core.git import Checkout, read_checkout
from findspot.publishing.choosing import base_of, nearest, outdated
from findspot.publishing.published import Version
from trust.conftest import run_git

MODEL, PIPELINE = "m@1/64", "7:1"


def version(commit: str, branch: str = "main", days_ago: float = 0, **changed: str) -> Version:
    published_at = (datetime.now(UTC) - timedelta(days=days_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    made_by = {"model": MODEL, "pipeline": PIPELINE} | changed
    return Version(commit, branch, published_at, files=1, chunks=1, **made_by)


def chosen(versions: list[Version], checkout: Checkout) -> str | None:
    found = nearest(versions, checkout)
    return found.commit if found else None


A, B, C, D = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)


@pytest.mark.parametrize(
    ("versions", "ancestors", "expected"),
    [
        ([version(A), version(B), version(C)], (D, B, C), B),
        ([version(A, days_ago=3), version(B)], (A,), A),
        ([version(A, days_ago=3), version(B, days_ago=1)], (), B),
        ([version(A, "topic"), version(B, days_ago=1)], (D,), B),
        ([version(A, "topic", 3), version(B, "other", 1)], (D,), B),
        ([version(A, "trunk-2"), version(B, "stable", 1)], (D,), B),
        ([], (A,), None),
    ],
    ids=["nearest", "exact", "no-git", "default-branch", "newest-of-all", "remote-default", "none"],
)  # fmt: skip
def test_the_nearest_ancestor_is_chosen(
    versions: list[Version], ancestors: tuple[str, ...], expected: str | None
) -> None:
    assert chosen(versions, Checkout(ancestors, default_branch="stable")) == expected
    assert chosen(versions[::-1], Checkout(ancestors, default_branch="stable")) == expected


def test_a_new_version_goes_on_from_its_branch_or_from_the_newest() -> None:
    main, older, topic = version(A, days_ago=1), version(B, days_ago=9), version(C, "topic", 5)
    unfit = [version(D, model="other"), version(D, "topic", pipeline="6")]
    versions = [older, topic, main, *unfit]
    assert base_of(versions, version(D, "topic")) == topic
    assert base_of(versions, version(D, "main")) == main
    assert base_of(versions, version(D, "new")) == main
    assert base_of(unfit, version(D)) is None


def commit(root: Path, subject: str) -> str:
    run_git(root, "commit", "-q", "--allow-empty", "-m", subject)
    return run_git(root, "rev-parse", "HEAD").strip()


def test_git_says_which_versions_are_near(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    assert read_checkout(origin) == Checkout()
    run_git(origin, "init", "-q", "-b", "stable")
    assert read_checkout(origin).commit == ""
    first, second = commit(origin, "first"), commit(origin, "second")
    run_git(origin, "checkout", "-q", "-b", "topic")
    third = commit(origin, "third")
    run_git(origin, "checkout", "-q", "stable")
    fourth = commit(origin, "fourth")
    run_git(tmp_path, "clone", "-q", str(origin), "clone")
    clone = tmp_path / "clone"
    run_git(clone, "checkout", "-q", "topic")
    here = read_checkout(clone)
    assert (here.ancestors, here.branch, here.default_branch) == ((third, second, first), "topic", "stable")
    published = [version(fourth, "stable"), version(first, "stable", 2), version(second, "stable", 1)]
    assert chosen(published, here) == second
    run_git(clone, "checkout", "-q", "--detach")
    assert read_checkout(clone).branch == ""
    run_git(tmp_path, "clone", "-q", "--depth", "1", "-b", "topic", f"file://{origin}", "shallow")
    assert chosen(published, read_checkout(tmp_path / "shallow")) == fourth  # the newest of its default


def test_old_versions_are_cleaned_by_age_and_count() -> None:
    main = [version(f"{n:07x}", "main", n) for n in range(5)]
    topic = [version(f"{n + 16:07x}", "topic", n + 20) for n in range(3)]
    here = Checkout()
    assert outdated([*main, *topic], here, 30, 20) == []
    assert outdated([*main, *topic], here, 30, 2) == [*main[2:], topic[2]]
    assert outdated([*main, *topic], here, 10, 20) == topic
    assert outdated([version(A, "main", 400)], here, 10, 1) == []  # the last of the default branch
    assert outdated([version(A, "main", 400), version(B, "topic", 400)], here, 10, 1) == [
        version(B, "topic", 400)
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("commit", "abc"),
        ("commit", "xyz1234"),
        ("branch", "feature/\x85"),
        ("branch", "b" * 251),
        ("published_at", "2026-11-16\x1b19:48:26+00:00"),
    ],
)
def test_versions_that_nobody_could_read_are_refused(field: str, value: str) -> None:
    good = Version("0" * 40, "main", "2026-01-15T14:30:00Z", 1, 1, "model", "7")
    good.check()
    with pytest.raises(ValueError, match=r"^a (commit|branch|time) "):
        replace(good, **{field: value}).check()
