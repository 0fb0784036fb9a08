"""Indexes that earlier versions wrote can still be opened, read and written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from contents import contents, record
from findspot.core.model import Corpus
from findspot.store.sqlite_store import SqliteStore

HERE = Path(__file__).parent


@pytest.fixture(params=["format-1", "format-2"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SqliteStore:
    return SqliteStore(Path(shutil.copytree(HERE / request.param, tmp_path / "index")), "/a/project")


def test_it_is_read_as_it_was_written(store: SqliteStore) -> None:
    held = contents(store)
    assert {path: row[4] for path, row in held.files.items()} == {"README.md": 1, "src/cart.py": 3}
    assert held.keywords["code:total"] == [("src/cart.py", 1, 1)]
    assert held.keywords["docs:shop"] == [("README.md", 1, 1)]
    assert [name for name, *_ in held.definitions] == ["total"]
    assert held.skips == [("logo.png", "binary", "by extension")]
    with store.snapshot() as snapshot:
        assert snapshot.meta()["build"] == "complete"


def test_it_is_written_to_like_a_new_one(store: SqliteStore) -> None:
    with store.writer() as writer:
        writer.put(record("src/cart.py", "def total(): return 1"))
        writer.put(record("docs/more.md", "More words", corpus=Corpus.DOCS))
        writer.commit()
    assert list(contents(store).files) == ["README.md", "docs/more.md", "src/cart.py"]


def test_its_derived_parts_can_be_made_anew(store: SqliteStore) -> None:
    before = contents(store)
    store.close()
    shutil.rmtree(store.folder / "vectors")
    assert contents(store) == before
