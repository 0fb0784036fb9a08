"""The store that every test of this folder is about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from findspot.store.store_protocol import Store
from findspot.store.stores import open_store

OpenAt = Callable[[Path], Store]


@pytest.fixture
def open_at() -> OpenAt:
    """Opens the store of a folder as another process would."""
    return lambda folder: open_store(folder, "/some/project")


@pytest.fixture
def store(open_at: OpenAt, tmp_path: Path) -> Store:
    return open_at(tmp_path / "index")
