"""Cases from git histories: which commits, which words, which lines."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import commits
from guard import Guard
from messages import Message, clean, telling_words

BODY = """\
* Keep the pool's lock while a connection is closed
* fix lint
* Update src/pool.py

See [the
report](https://example.org/1) for #33.

- [x] I have read the guide

Fixes #12 and #13
Co-authored-by: Somebody <somebody@example.org>
(cherry picked from commit 0123456789abcdef)
"""


@pytest.mark.parametrize(
    ("hunk", "lines"),
    [
        ((445, 0, 2), {445, 446}),
        ((0, 0, 3), {1}),
        ((27, 3, 0), {27, 28, 29}),
        ((659, 4, 4), {659, 660, 661, 662, 663}),
    ],
)
def test_an_insertion_touches_the_old_lines_on_both_sides(
    hunk: tuple[int, int, int], lines: set[int]
) -> None:
    assert commits.touched(*hunk) == lines


def test_neighbouring_lines_are_one_range() -> None:
    assert commits.ranges({4, 1, 2, 3, 9}) == [(1, 4), (9, 9)]
    assert commits.ranges(set()) == []


def test_a_message_keeps_only_its_prose() -> None:
    assert clean(f"fix(pool): Close connections twice (#123)\n\n{BODY}") == Message(
        "pool: Close connections twice",
        "Keep the pool's lock while a connection is closed\n\nSee the\nreport for #33.",
    )


@pytest.mark.parametrize(
    "subject",
    [
        "Merge branch 'main' into fix",
        'Revert "Close connections"',
        "Release 3.2",
        "3.2.0",
        "Bump urllib3 from 1 to 2",
        "chore(deps): update pytest",
        "Fix typo in pool",
        "docs: explain the pool",
        "Run black",
        "Add tests for the pool",
        "Rename Pool to Pools",
        "连接池在关闭时会泄漏连接",
    ],
)
def test_a_commit_that_says_nothing_about_behaviour_is_refused(subject: str) -> None:
    assert clean(subject) is None


@pytest.mark.parametrize("subject", ["Versions are compared as text", "Styled output loses its colours"])
def test_a_word_of_routine_inside_a_sentence_is_not(subject: str) -> None:
    assert clean(subject) == Message(subject)


def test_words_of_every_commit_tell_nothing() -> None:
    assert telling_words("Fix the bug that was in the pool's use of a lock") == {"pool's", "lock"}


@pytest.mark.parametrize(
    ("path", "production"),
    [
        ("src/shop/pool.py", True),
        ("tests/test_pool.py", False),
        ("examples/pool.py", False),
        ("docs/conf.py", False),
        ("vendor/shop/pool.go", False),
        ("api/pool.pb.go", False),
        ("README.md", False),
        ("Rakefile", False),
        ("scripts/release.py", False),
        ("jest.config.base.js", False),
        ("src/scripts/tasks.py", True),
    ],
)
def test_production_is_source_that_people_write(path: str, production: bool) -> None:
    assert commits.is_production(path) is production


def test_a_repository_is_refused_under_any_owner() -> None:
    guard = Guard()
    guard.refuse(["briannesbitt/carbon", "clap-rs/clap"])
    assert guard.refuses_repository("briannesbitt/Carbon")
    assert guard.refuses_repository("somebody/CARBON")
    assert not guard.refuses_repository("somebody/carbonate")


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A repository with a fix among commits that are none."""
    project = tmp_path / "shop+pools"
    (project / "src").mkdir(parents=True)
    (project / "tests").mkdir()

    def commit(message: str, **files: str) -> None:
        for name, text in files.items():
            (project / name.replace("__", "/")).with_suffix(".py").write_text(text, "utf-8")
        git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-C", str(project)]
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", message], check=True)

    subprocess.run(["git", "init", "-q", str(project)], check=True)
    names = {f"src__part{number}": f"PART = {number}\n" for number in range(20)}
    commit("Start a shop with pools", **names, src__pool="one\ntwo\nthree\n")
    commit("Fix typo", src__pool="one\ntwo!\nthree\n")
    commit(
        "Keep the lock of pool.py while closing\n\nA second thread could take a connection out of the pool "
        "after it was closed, because the lock was released too early.",
        src__pool="one\ntwo!\nmore\nthree\n",
        tests__test_pool="def test_pool(): ...\n",
    )
    commit("Report how many connections are open", src__pool="one\nTWO\nmore\nthree\n")
    (project / ".git").rename(project / "repo")
    return project / "repo"


def test_a_fix_becomes_a_case_at_the_state_before_it(mirror: Path, tmp_path: Path) -> None:
    assert commits.collect(mirror, tmp_path) == "shop/pools: 2 cases\n"
    message, subject = map(json.loads, (tmp_path / "shop+pools.jsonl").read_text("utf-8").splitlines())
    assert message["repo"] == "shop/pools"
    assert message["kind"] == "message"
    assert message["names_path"]
    assert message["relevant"] == [{"path": "src/pool.py", "start_line": 2, "end_line": 3}]
    assert message["tests"] == ["tests/test_pool.py"]
    assert subject["commit"] == message["id"]
    assert subject["query"] == "Report how many connections are open"
    assert subject["relevant"] == [{"path": "src/pool.py", "start_line": 2, "end_line": 3}]
    assert "names_path" not in subject
