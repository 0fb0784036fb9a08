"""The store that every test of this folder is about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from findspot.store.sqlite_store import SqliteStore

OpenAt = Callable[[Path], SqliteStore]


@pytest.fixture
def open_at() -> OpenAt:
    """Opens the store of a folder as another process would."""
    return lambda folder: SqliteStore(folder, "/some/project")


@pytest.fixture
def store(open_at: OpenAt, tmp_path: Path) -> SqliteStore:
    return open_at(tmp_path / "index")
