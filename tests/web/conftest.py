"""One served project for the tests that only look at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .served import Home, Served, make_project, serving


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Path]:
    """A home with an index of the project, and of its tools."""
    folder = tmp_path_factory.mktemp("web")
    root = make_project(folder / "shop")
    home = Home(folder)
    home.index(root)
    return home, root


@pytest.fixture(scope="session")
def page(indexed: tuple[Home, Path]) -> Iterator[Served]:
    with serving(*indexed) as served:
        yield served
