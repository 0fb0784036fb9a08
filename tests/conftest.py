"""Fixtures that every kind of test may ask for: a home of its own, and projects made of real files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from contents import MakeProject, write_files
from findspot import Project
from kept_workers import open_project

# A busy machine is no failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the small modules last: a large one at the end would leave the other processes without work."""
    items.sort(key=lambda item: "tests/unit/" in item.nodeid)


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
        opened.append(open_project(root, flags))
        return opened[-1]

    yield make
    for project in opened:
        project.close()
