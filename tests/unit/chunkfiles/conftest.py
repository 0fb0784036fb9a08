"""A service that embeds, for tests of chunk files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.cortex_files import embedding_service
from loopback import Loopback


@pytest.fixture
def service() -> Iterator[Loopback]:
    running = embedding_service()
    yield running
    running.close()
