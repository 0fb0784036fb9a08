"""What the default store keeps few and small: segments, dead rows, connections."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contents import contents, put, record
from findspot.core.model import Corpus, Skip, SkipReason
from findspot.store.sqlite_store import SqliteStore
from findspot.store.vector_segments import open_segment
from findspot.store.writer import Writer


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
        for number in range(60):
            writer.put(record(f"{number % 20}.py", f"text {number}", f"more {number}"))
            writer.commit()
            most = max(most, len(list((store.folder / "vectors").glob("*.seg"))))
    assert most <= 12
    assert len(contents(store).files) == 20
    parts = (open_segment(path) for path in (store.folder / "vectors").glob("*.seg"))
    held = sum(part.numbers.size for part in parts)
    assert held <= 40 * 4 / 3 + 12
    reader = SqliteStore(store.folder, "p")
    with reader.snapshot() as snapshot:
        keywords = snapshot.keywords.get(Corpus.CODE)
        assert keywords is not None
        assert keywords.size == 40


def test_a_commit_of_nothing_writes_no_vectors(store: SqliteStore) -> None:
    put(store, record("a.py", "alpha"))
    before = [path.name for path in (store.folder / "vectors").glob("*.seg")]
    with store.writer() as writer:
        writer.set_meta(seen="yes")
        writer.commit()
    assert [path.name for path in (store.folder / "vectors").glob("*.seg")] == before


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
    assert 0 < len(store._idle) <= 4
    store.close()
    assert descriptors(store) == 0


def test_the_shape_stays_until_a_path_or_a_skip_changes(store: SqliteStore) -> None:
    put(store, *(record(f"{name}.py", f"text of {name}") for name in "bdfh"))
    empty = Skip("empty.py", SkipReason.EMPTY)
    steps: dict[str, tuple[Callable[[Writer], object], bool]] = {
        "replace": (lambda writer: writer.put(record("d.py", "new text", "and more")), True),
        "add": (lambda writer: writer.put(record("e.py", "added")), False),
        "touch": (lambda writer: writer.touch(replace(record("b.py").file, mtime_ns=77)), True),
        "remove": (lambda writer: writer.remove("f.py"), False),
        "leave out": (lambda writer: writer.skips.add([empty], record("empty.py").file), False),
        "change after that": (lambda writer: writer.put(record("b.py", "last text")), True),
    }
    with store.snapshot() as snapshot:
        shape = snapshot.files.shape
    for name, (change, same) in steps.items():
        with store.writer() as writer:
            change(writer)
            writer.commit()
        with store.snapshot() as snapshot:
            assert (snapshot.files.shape == shape) is same, name
            shape = snapshot.files.shape
