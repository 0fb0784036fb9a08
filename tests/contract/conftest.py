"""Every test of this folder holds for both stores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from findspot.store.store_protocol import Store
from findspot.store.stores import store_of_kind

OpenAt = Callable[[Path], Store]


@pytest.fixture(params=["default", "lancedb"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def open_at(kind: str) -> OpenAt:
    """Opens the store of a folder as another process would."""
    return lambda folder: store_of_kind(kind, folder, "/some/project")


@pytest.fixture
def store(open_at: OpenAt, tmp_path: Path) -> Store:
    return open_at(tmp_path / "index")
