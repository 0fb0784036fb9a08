"""What the default store keeps few and small: segments, dead rows, connections."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from contents import DIMENSIONS, contents, put, record
from findspot.core.model import Corpus
from findspot.store.sqlite_store import SqliteStore

BYTES_A_ROW = DIMENSIONS + 8 + 4


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "index", "/some/project")


def descriptors(store: SqliteStore) -> int:
    """Return how many descriptors of this process lead to the database."""
    opened = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return opened.count(store.folder / "index.sqlite")


def test_few_segments_remain_and_dead_rows_are_dropped(store: SqliteStore) -> None:
    with store.writer() as writer:
        most = 0
        for number in range(200):
            writer.put(record(f"{number % 40}.py", f"text {number}", f"more {number}"))
            writer.commit()
            most = max(most, len(list((store.folder / "vectors").iterdir())))
    assert most <= 12
    assert len(contents(store).files) == 40
    held = sum((path.stat().st_size - 64) // BYTES_A_ROW for path in (store.folder / "vectors").iterdir())
    assert held <= 80 * 4 / 3 + 12
    reader = SqliteStore(store.folder, "p")
    with reader.snapshot() as snapshot:
        keywords = snapshot.keywords.get(Corpus.CODE)
        assert keywords is not None
        assert keywords.size == 80


def test_a_commit_of_nothing_writes_no_vectors(store: SqliteStore) -> None:
    put(store, record("a.py", "alpha"))
    before = [path.name for path in (store.folder / "vectors").iterdir()]
    with store.writer() as writer:
        writer.set_meta(seen="yes")
        writer.commit()
    assert [path.name for path in (store.folder / "vectors").iterdir()] == before


def test_closing_while_a_snapshot_is_open_leaks_no_connection(store: SqliteStore) -> None:
    put(store, record("a.py", "alpha"))
    with store.snapshot() as snapshot:
        store.close()
        assert [file.path for file in snapshot.files.files] == ["a.py"]
    assert descriptors(store) == 0


def test_a_burst_of_readers_leaves_few_connections(store: SqliteStore) -> None:
    put(store, record("a.py", "alpha"))
    together = threading.Barrier(12)

    def read() -> None:
        with store.snapshot():
            together.wait()

    threads = [threading.Thread(target=read) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < len(store._readers._idle) <= 4
    store.close()
    assert descriptors(store) == 0
