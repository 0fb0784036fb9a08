"""Fixtures that every kind of test may ask for: a home of its own, and projects made of real files."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from contents import MakeProject, write_files
from findspot import Project
from kept_workers import keep_workers

# A busy machine is no failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

keep_workers()

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as in the background of a script: no Ctrl-C would arrive
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the small modules last: a large one at the end would leave the other processes without work."""
    items.sort(key=lambda item: "tests/unit/" in item.nodeid)


LIMIT_S, AGAIN_S = 900, 30
"""A test that takes longer waits for what never comes; so does one that still waits after it was told."""


@contextmanager
def limited(item: pytest.Item) -> Iterator[None]:
    """Fail a part of a test that would never end, as one that reads the answer of a process that hangs."""

    def end(_number: int, _frame: Any) -> None:
        raise TimeoutError(f"{item.nodeid} took longer than {LIMIT_S} s")

    if not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield  # somebody else ends it
        return
    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with limited(item):
        yield


pytest_runtest_call = pytest_runtest_teardown = pytest_runtest_setup


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Indexes and configuration of this test only."""
    for name in [name for name in os.environ if name.startswith("FINDSPOT_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "findspot-home"
    monkeypatch.setenv("FINDSPOT_HOME", str(folder))
    monkeypatch.setenv("FINDSPOT_IN_PROCESS", "1")
    return folder


@pytest.fixture
def make_project(home: Path, tmp_path: Path) -> Iterator[MakeProject]:
    """A function from files to a project that holds them, not yet indexed."""
    opened: list[Project] = []

    def make(files: Mapping[str, str | bytes], name: str = "project", **flags: object) -> Project:
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        write_files(root, files)
        opened.append(Project(root, flags))
        return opened[-1]

    yield make
    for project in opened:
        project.close()
