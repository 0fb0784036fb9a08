"""When each strategy says that changes are due, with a clock that the test turns."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from findspot.core.errors import IndexBusyError
from findspot.sync.changed_paths import EVERYTHING, MAX_PATHS, DirtyFiles, read_dirty
from findspot.sync.strategies import (
    AT_ONCE,
    CALM_S,
    PATIENCE_S,
    STABLE_S,
    Lazy,
    OnCommit,
    Realtime,
    strategy_in_force,
    strategy_note,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Index:
    """Takes paths as the index would, or is busy."""

    def __init__(self) -> None:
        self.applied: list[frozenset[str]] = []
        self.busy = False

    def __call__(self, paths: frozenset[str]) -> None:
        if self.busy:
            raise IndexBusyError("a test")
        self.applied.append(paths)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def index() -> Index:
    return Index()


@pytest.fixture
def realtime(tmp_path: Path, clock: Clock, index: Index) -> Realtime:
    strategy = Realtime(DirtyFiles(tmp_path, keep=False), index, clock)
    strategy.start()
    return strategy


def test_realtime_waits_until_a_file_is_left_alone(
    tmp_path: Path, realtime: Realtime, clock: Clock, index: Index
) -> None:
    realtime.on_event({"a.py"})
    clock.now += STABLE_S - 0.1
    realtime.on_event({"a.py"})
    assert not realtime.run_due()
    clock.now += STABLE_S
    assert realtime.run_due()
    assert index.applied == [{"a.py"}]
    assert not realtime.run_due()
    assert realtime.waiting == frozenset()
    assert read_dirty(tmp_path) == set()


def test_realtime_takes_saves_at_once(realtime: Realtime, clock: Clock, index: Index) -> None:
    """speed 4: also the next save of the same file, as long as a person could make so many."""
    for _ in range(3):
        realtime.on_event({"a.py"})
        assert realtime.run_due()
        clock.now += CALM_S
    realtime.on_event({"a.py"})
    assert realtime.run_due()
    realtime.on_event({"a.py", "b.py"})
    assert realtime.run_due()
    assert index.applied == [*[{"a.py"}] * 4, {"b.py"}], "a file that is written all the time has to rest"
    clock.now += STABLE_S
    assert realtime.run_due()


def test_realtime_gathers_a_burst(realtime: Realtime, clock: Clock, index: Index) -> None:
    files = {f"{number}.py" for number in range(AT_ONCE + 1)}
    realtime.on_event(files)
    assert not realtime.run_due()
    clock.now += STABLE_S
    assert realtime.run_due()
    assert index.applied == [files]


def test_realtime_does_not_wait_for_ever(realtime: Realtime, clock: Clock, index: Index) -> None:
    realtime.on_event({"growing.py"})
    began = clock.now
    clock.now += STABLE_S / 2
    realtime.on_event({"growing.py"})
    while not realtime.run_due():
        realtime.on_event({"growing.py"})
        clock.now += STABLE_S / 2
    assert PATIENCE_S <= clock.now - began < PATIENCE_S + 2 * STABLE_S


def test_what_could_not_be_indexed_waits_on(realtime: Realtime, clock: Clock, index: Index) -> None:
    realtime.on_event({"a.py"})
    clock.now += STABLE_S
    index.busy = True
    with pytest.raises(IndexBusyError):
        realtime.run_due()
    assert realtime.waiting == {"a.py"}
    index.busy = False
    clock.now += STABLE_S
    assert realtime.run_due()
    assert index.applied == [{"a.py"}]


def test_a_change_while_its_file_is_indexed_is_not_lost(tmp_path: Path, clock: Clock) -> None:
    applied: list[frozenset[str]] = []

    def apply(paths: frozenset[str]) -> None:
        applied.append(paths)
        if len(applied) == 1:
            strategy.on_event({"a.py"})

    strategy = Realtime(DirtyFiles(tmp_path, keep=False), apply, clock)
    strategy.start()
    strategy.on_event({"a.py"})
    assert strategy.run_due()
    assert strategy.waiting == {"a.py"}
    clock.now += STABLE_S
    assert strategy.run_due()
    assert applied == [{"a.py"}, {"a.py"}]


def test_lazy_waits_for_rest_and_survives_a_restart(tmp_path: Path, clock: Clock, index: Index) -> None:
    strategy = Lazy(DirtyFiles(tmp_path, keep=True), index, 30, clock)
    strategy.start()
    strategy.on_event({"a.py"})
    clock.now += 29
    strategy.on_event({"b.py"})
    clock.now += 29
    assert not strategy.run_due()
    assert read_dirty(tmp_path) == {"a.py", "b.py"}

    again = Lazy(DirtyFiles(tmp_path, keep=True), index, 30, clock)
    again.start()
    assert len(again.waiting) == 2
    clock.now += 30
    assert again.run_due()
    assert index.applied == [{"a.py", "b.py"}]
    assert not (tmp_path / "dirty-files.json").exists()


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., None]:
    def run(*arguments: str) -> None:
        identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    run("init", "-b", "main")
    return run


def test_git_waits_for_a_commit(tmp_path: Path, clock: Clock, index: Index, git: Callable[..., None]) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    git("add", ".")
    git("commit", "-m", "first")
    strategy = OnCommit(DirtyFiles(tmp_path, keep=True), index, tmp_path, clock)
    strategy.start()

    def pass_time() -> bool:
        done = []
        for _ in range(4):
            clock.now += STABLE_S
            done.append(strategy.run_due())
        return any(done)

    (tmp_path / "a.py").write_text("x = 2\n")
    strategy.on_event({"a.py"})
    assert not pass_time()
    git("commit", "-am", "second")
    assert pass_time()
    assert index.applied == [{"a.py"}]
    strategy.on_event({"b.py"})
    assert not pass_time()
    git("checkout", "-b", "other")
    assert not pass_time()
    git("commit", "--allow-empty", "-m", "third")
    assert pass_time()
    assert index.applied[1:] == [{"b.py"}]


@pytest.mark.parametrize("folder", ["linked", "linked/packages/api", "packages/api"])
def test_git_sees_the_commits_of_worktrees_and_packages(
    tmp_path: Path, clock: Clock, index: Index, git: Callable[..., None], folder: str
) -> None:
    """search-mcp B6: `.git` above the root, or a file that points elsewhere."""
    git("commit", "--allow-empty", "-m", "first")
    git("worktree", "add", str(tmp_path / "linked"), "-b", "side")
    root = tmp_path / folder
    root.mkdir(parents=True, exist_ok=True)
    strategy = OnCommit(DirtyFiles(tmp_path, keep=True), index, root, clock)
    strategy.start()
    strategy.on_event({"a.py"})
    git("-C", str(root), "commit", "--allow-empty", "-m", "second")
    clock.now += STABLE_S
    strategy.due()
    clock.now += STABLE_S
    assert strategy.due() == {"a.py"}


def test_without_git_there_is_no_commit_to_wait_for(tmp_path: Path, git: Callable[..., None]) -> None:
    """search-mcp B6: changes are indexed as they happen, and the note says so."""
    outside = tmp_path.parent
    inside, both = tmp_path, outside
    assert [strategy_in_force("git", roots) for roots in (inside, both)] == ["git", "realtime"]
    assert [strategy_in_force("lazy", roots) for roots in (inside, both)] == ["lazy", "lazy"]
    assert strategy_note("git", inside) is None
    assert f"{outside} is in no git repository" in (strategy_note("git", both) or "")


def test_more_changes_than_can_be_listed_mean_everything(tmp_path: Path, clock: Clock, index: Index) -> None:
    strategy = Realtime(DirtyFiles(tmp_path, keep=True), index, clock)
    strategy.start()
    strategy.on_event(f"f{number}.py" for number in range(MAX_PATHS + 1))
    assert strategy.waiting == {EVERYTHING}
    clock.now += STABLE_S
    assert strategy.run_due()
    assert index.applied == [{EVERYTHING}]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 3}', '{"files": [1, null]}', "\0"])
def test_a_damaged_list_is_an_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "dirty-files.json").write_text(text)
    assert DirtyFiles(tmp_path, keep=True).paths == frozenset()
