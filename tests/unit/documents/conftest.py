"""The same tests for both kinds of index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from findspot.documents.document_record import Document
from findspot.documents.named_indexes import NamedIndexes

LIMIT_BYTES = 64_000_000


@pytest.fixture
def indexes(tmp_path: Path) -> Iterator[NamedIndexes]:
    named = NamedIndexes(tmp_path / "documents", LIMIT_BYTES)
    yield named
    named.close()


@pytest.fixture(params=["memory", "disk"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shelf(indexes: NamedIndexes, backend: str) -> NamedIndexes:
    """Indexes among which `shelf` is of the backend at hand."""
    indexes.create("shelf", backend)
    return indexes


@pytest.fixture
def put(shelf: NamedIndexes) -> Callable[..., None]:
    def add(**contents: str) -> None:
        shelf.add([Document.checked(doc_id, content) for doc_id, content in contents.items()], "shelf")

    return add
