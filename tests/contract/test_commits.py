"""What a commit makes visible, what an abandoned one leaves, and what snapshots see meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import chunks_of, contents, put, record, vector_of, words_found
from findspot.core.errors import IndexBusyError, IndexNotFoundError
from findspot.core.model import Corpus, Skip, SkipReason, SourceFile, Stamp
from findspot.store.records import RecordRows
from findspot.store.store_protocol import Store


def paths(store: Store) -> list[str]:
    with store.snapshot() as snapshot:
        return [file.path for file in snapshot.files.files]


def test_there_is_nothing_before_the_first_commit(store: Store) -> None:
    with pytest.raises(IndexNotFoundError), store.snapshot():
        pass
    assert not store.exists
    assert not store.folder.exists()  # to ask makes nothing that could be taken for an index
    with store.writer() as writer:
        writer.put(record("a.py", "alpha"))
        assert store.exists


def test_numbers_of_an_abandoned_commit_are_not_found_under_their_next_owner(store: Store) -> None:
    """Segments are written before SQLite commits: a crash in between leaves orphans in them."""
    put(store, record("a.py", "alpha"))
    with store.writer() as writer:
        writer.put(record("b.md", "orphan", corpus=Corpus.DOCS))
        writer._parts.write(writer.files, live=2)
    put(store, record("c.py", "fine"))
    put(store, record("d.md", "good", corpus=Corpus.DOCS))
    with store.snapshot() as snapshot:
        assert words_found(snapshot, "orphan", Corpus.DOCS) == set()
        assert words_found(snapshot, "good", Corpus.DOCS) == {"good"}
    contents(store)


def test_old_chunks_of_a_replaced_file_never_appear(store: Store) -> None:
    put(store, record("a.py", "alpha one", "alpha two"), record("b.py", "beta"))
    with store.snapshot() as old:
        numbers = [chunk.number for chunk in old.chunks.of_file("a.py")]
        put(store, record("a.py", "gamma"))
        assert words_found(old, "alpha") == {"alpha one", "alpha two"}
    with store.snapshot() as new:
        assert words_found(new, "alpha") == set()
        assert new.chunks.by_number(numbers) == {}
        found, _ = new.vectors.nearest(vector_of("alpha one"), new.files.mask(new.files.files), 10)
        assert not set(found.tolist()) & set(numbers)
        assert new.vectors.scores(vector_of("alpha one"), numbers[:0]) == {}
    contents(store)


def test_chunks_that_are_known_keep_their_vectors(store: Store, open_at: Callable[[Path], Store]) -> None:
    from dataclasses import replace

    put(store, record("a.py", "alpha", "beta"))
    again = record("a.py", "beta", "alpha")
    known = [replace(c, vector=None, scale=0.0) for c in chunks_of("a.py", "beta", "alpha")]
    put(store, replace(again, rows=RecordRows.of(known)))
    fresh = open_at(store.folder.with_name("other"))
    put(fresh, again)
    assert contents(store) == contents(fresh)


def test_nearest_breaks_a_tie_for_the_last_place_by_path(store: Store) -> None:
    paths = [f"{n}.py" for n in range(20)]
    put(store, *(record(path, "same text") for path in reversed(paths)))
    with store.snapshot() as snapshot:
        everything = snapshot.files.mask(snapshot.files.files)
        for top in (1, 3, 19):
            best, _ = snapshot.vectors.nearest(vector_of("same text"), everything, top)
            found = {chunk.path for chunk in snapshot.chunks.by_number(best.tolist()).values()}
            assert found == set(sorted(paths)[:top])


def test_definitions_are_found_by_lower_case_name(store: Store) -> None:
    put(store, record("a.py", "x", names=("HTTPServer", "serve")), record("b.py", "y", names=("Serve",)))
    with store.snapshot() as snapshot:
        found = snapshot.symbols.definitions(["serve", "httpserver"])
        assert sorted(definition.name for definition in found) == ["httpserver", "serve", "serve"]
        chunks = snapshot.chunks.by_number([definition.number for definition in found])
        assert {chunk.path for chunk in chunks.values()} == {"a.py", "b.py"}
        assert snapshot.symbols.definitions([]) == []


def test_skips_and_counts(store: Store) -> None:
    file = SourceFile("binary.py", Corpus.CODE, "python", 10, 77)
    with store.writer() as writer:
        writer.put(record("a.py", "one", "two"))
        writer.put(record("b.md", "three", corpus=Corpus.DOCS))
        writer.skips.replace_walk([Skip("big.py", SkipReason.TOO_LARGE), Skip("x/", SkipReason.DENIED)])
        writer.skips.add([Skip("binary.py", SkipReason.BINARY)], file)
        writer.commit()
    with store.snapshot() as snapshot:
        assert snapshot.files.counts() == {"code": (1, 2), "docs": (1, 1)}
        assert snapshot.files.languages() == {"markdown": 1, "python": 1}
        assert snapshot.skips.counts() == {"binary": 1, "denied": 1, "too_large": 1}
        assert snapshot.skips.all("denied") == [Skip("x/", SkipReason.DENIED)]
        assert snapshot.known_files().left_out == {"binary.py": Stamp(10, 77)}
    with store.writer() as writer:
        writer.skips.replace_walk([Skip("y/", SkipReason.DENIED)])
        writer.commit()
    with store.snapshot() as snapshot:
        assert [skip.path for skip in snapshot.skips.all()] == ["binary.py", "y/"]


def test_clearing_makes_room_for_vectors_of_another_length(store: Store) -> None:
    put(store, record("a.py", "alpha"), record("b.py", "beta"))
    with store.writer() as writer:
        writer.clear()
        writer.put(record("c.py", "gamma", dimensions=128))
        writer.commit()
    assert list(contents(store).files) == ["c.py"]


def test_every_snapshot_is_of_one_commit(store: Store) -> None:
    """Readers in threads, while a writer replaces all files over and over."""
    put(store, *(record(f"{n}.py", "version0 text") for n in range(3)))
    done = threading.Event()
    wrong: list[object] = []
    seen: set[str] = set()

    def read() -> None:
        try:
            while not done.is_set():
                with store.snapshot() as snapshot:
                    check_one_version(snapshot, seen)
        except Exception as error:  # noqa: BLE001  shown by the test
            wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for version in range(1, 15):
        put(store, *(record(f"{n}.py", f"version{version} text") for n in range(3)))
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(seen) > 1


def check_one_version(snapshot: object, seen: set[str]) -> None:
    from findspot.store.snapshot import Snapshot

    assert isinstance(snapshot, Snapshot)
    texts = {chunk.text for n in range(3) for chunk in snapshot.chunks.of_file(f"{n}.py")}
    assert len(texts) == 1
    (text,) = texts
    assert words_found(snapshot, text.split()[0]) == texts
    assert words_found(snapshot, "text") == texts
    numbers, _ = snapshot.vectors.nearest(vector_of(text), snapshot.files.mask(snapshot.files.files), 10)
    assert {chunk.text for chunk in snapshot.chunks.by_number(numbers.tolist()).values()} == texts
    assert numbers.size == 3
    seen.add(text)


def test_an_index_made_anew_behind_our_back_is_read_anew(
    store: Store, open_at: Callable[[Path], Store]
) -> None:
    """Also by a connection that was in use when it happened."""
    put(store, record("a.py", "old"))
    assert paths(store) == ["a.py"]
    other = open_at(store.folder)
    with store.snapshot() as snapshot:
        other.delete()
        put(other, record("b.py", "new"))
        assert [chunk.text for chunk in snapshot.chunks.of_file("a.py")] == ["old"]
        assert paths(store) == ["b.py"]
    assert paths(store) == ["b.py"]
    contents(store)


def test_nobody_deletes_what_is_being_written(store: Store, open_at: Callable[[Path], Store]) -> None:
    put(store, record("a.py", "alpha"))
    with store.writer() as writer:
        with pytest.raises(IndexBusyError):
            open_at(store.folder).delete()
        writer.put(record("d.py", "delta"))
        writer.commit()
    assert len(contents(store).files) == 2
    store.delete()
    assert not store.exists
