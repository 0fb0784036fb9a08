"""What can be made anew is, what cannot is told, and an index of a newer version is left alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import contents, put, record, written_by_newer_version
from findspot.core.errors import IndexBusyError, IndexCorruptError, IndexFormatError, IndexNotFoundError
from findspot.core.model import Corpus
from findspot.store.database import FORMAT_VERSION
from findspot.store.sqlite_store import SqliteStore

OpenAt = Callable[[Path], SqliteStore]

DERIVED = ("vectors",)
"""What a store can lose without losing anything."""


def fill(store: SqliteStore) -> None:
    put(store, record("a.py", "alpha", "beta", names=("Thing",), outline=True), record("b.py", "gone"))
    put(store, record("b.py", "gamma"), record("c.md", "prose", corpus=Corpus.DOCS))


def test_what_is_derived_is_made_anew(store: SqliteStore, open_at: OpenAt) -> None:
    fill(store)
    expected = contents(store)
    for name in DERIVED:
        shutil.rmtree(store.folder / name)
    assert contents(open_at(store.folder)) == expected
    assert contents(store) == expected


def test_what_is_derived_and_damaged_is_repaired(store: SqliteStore, open_at: OpenAt) -> None:
    fill(store)
    expected = contents(store)
    store.close()
    damaged = [path for path in store.folder.rglob("vectors/*.seg") if path.is_file()]
    for path in damaged:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert damaged
    again = open_at(store.folder)
    again.repair()
    assert contents(again) == expected


def test_a_damaged_truth_is_told_and_can_be_set_aside(store: SqliteStore, open_at: OpenAt) -> None:
    fill(store)
    store.close()
    for name in DERIVED:
        shutil.rmtree(store.folder / name)
    for path in [store.folder / "index.sqlite"]:
        path.write_bytes(b"\x07" * (path.stat().st_size // 2))
    damaged = open_at(store.folder)
    with pytest.raises(IndexCorruptError), damaged.snapshot() as snapshot:
        snapshot.files.counts()
    backup = damaged.set_aside()
    assert any(backup.iterdir())
    with pytest.raises(IndexNotFoundError), damaged.snapshot():
        pass
    put(damaged, record("a.py", "anew"))
    assert [row[6] for row in contents(open_at(store.folder)).chunks] == ["anew"]


def test_a_newer_format_is_refused_and_left_alone(store: SqliteStore, open_at: OpenAt) -> None:
    fill(store)
    store.close()
    written_by_newer_version(store.folder, FORMAT_VERSION + 1)
    newer = open_at(store.folder)
    with pytest.raises(IndexFormatError, match="newer version"), newer.snapshot():
        pass
    with pytest.raises(IndexFormatError), newer.writer():
        pass
    assert newer.exists


def test_nobody_deletes_what_is_being_written(store: SqliteStore, open_at: OpenAt) -> None:
    fill(store)
    with store.writer() as writer:
        with pytest.raises(IndexBusyError):
            open_at(store.folder).delete()
        writer.put(record("d.py", "delta"))
        writer.commit()
    assert len(contents(store).files) == 4
    store.delete()
    assert not store.exists
    assert not store.folder.exists()
