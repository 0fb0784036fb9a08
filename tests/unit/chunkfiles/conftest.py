"""A service that embeds, for tests of chunk files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.cortex_files import EmbeddingService


@pytest.fixture
def service() -> Iterator[EmbeddingService]:
    running = EmbeddingService()
    yield running
    running.close()
