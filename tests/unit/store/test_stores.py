"""Indexes moved between the stores: everything arrives, and what was there is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from contents import contents, put, record
from findspot.core.errors import IndexNotFoundError
from findspot.core.model import Corpus, Skip, SkipReason
from findspot.core.settings import StoreSettings
from findspot.store.lance.lance_store import LanceStore
from findspot.store.store_protocol import Store
from findspot.store.stores import convert, open_store, store_of_kind, stored_kind
from findspot.store.stores import fill as copy_over

UNDECIDED = StoreSettings("default", None)


def fill(store: Store) -> None:
    put(store, record("a.py", "alpha", "beta", names=("Thing",), outline=True), record("b.py", "gone"))
    put(store, record("b.py", "gamma"), record("c.md", "prose", corpus=Corpus.DOCS))
    with store.writer() as writer:
        writer.skips.add([Skip("d.py", SkipReason.EMPTY)])
        writer.set_meta(model="some model", build="complete")
        writer.commit()


def move(folder: Path, to: str) -> Store:
    return convert(open_store(folder, "p", UNDECIDED), to, "p")


@pytest.mark.parametrize(("here", "there"), [("default", "lancedb"), ("lancedb", "default")])
def test_everything_arrives_and_can_go_back(tmp_path: Path, here: str, there: str) -> None:
    """Through the tables alone: the local copy is thrown away in between."""
    folder = tmp_path / "index"
    first = store_of_kind(here, folder, "p")
    fill(first)
    expected, about = contents(first), first.figures()
    moved = move(folder, there)
    assert stored_kind(folder) == there
    if there == "lancedb":
        shutil.rmtree(folder / "cache")
    assert contents(store_of_kind(there, folder, "p")) == expected
    assert moved.figures()[0]["model"] == about[0]["model"]
    assert moved.figures()[1] == about[1]
    back = move(folder, here)
    assert contents(back) == expected
    kept = {"default": {"index.sqlite", "keywords", "vectors"}, "lancedb": {"index.lancedb", "docs.lancedb"}}
    names = {path.name for path in folder.iterdir()}
    assert kept[here] <= names
    assert not kept[there] & names
    put(back, record("e.py", "goes on"))
    assert len(contents(back).files) == 4


def test_an_interrupted_move_leaves_the_index_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    first = store_of_kind("default", folder, "p")
    fill(first)
    expected = contents(first)
    copy_over(first, LanceStore(folder, "p"))
    assert stored_kind(folder) == "default"
    assert contents(open_store(folder, "p", UNDECIDED)) == expected
    assert contents(move(folder, "lancedb")) == expected


def test_nothing_cannot_be_moved(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with pytest.raises(IndexNotFoundError):
        convert(store_of_kind("default", folder, "p"), "lancedb", "p")
    assert not folder.exists()
