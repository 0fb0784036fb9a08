"""The scores of keyword search: those of a fresh index, whatever was deleted since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contents import put, record
from findspot.core.model import Corpus
from findspot.store.keywords import KeywordReader
from findspot.store.records import ORDINAL_BITS, DerivedDamagedError
from findspot.store.sqlite_store import SqliteStore
from findspot.store.word_counts import (
    STORED_LENGTHS,
    Postings,
    hashes_of,
    open_postings,
    step_of,
    write_postings,
)

TEXTS = tuple(f"common {'rare ' * (n % 3)}{'filler ' * n}word{n}" for n in range(60))


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "index", "test")


def _answer(store: SqliteStore, top: int = 10) -> list[tuple[str, int, float]]:
    with store.snapshot() as snapshot:
        found = snapshot.keywords[Corpus.CODE].search({"common": 1.0, "rare": 2.0}, top)
        chunks = snapshot.chunks.by_number([number for number, _ in found])
        return [(chunks[n].path, chunks[n].start_line, score) for n, score in found]


def test_scores_follow_from_live_chunks_alone(store: SqliteStore, tmp_path: Path) -> None:
    with store.writer() as writer:
        for times in range(1, 5):
            for number in range(0, 60, 10):
                writer.put(record(f"{number}.py", *TEXTS[number : number + times + 6]))
            writer.put(record(f"gone{times}.py", "rare " * 40, "common rare"))
            writer.commit()
        for times in range(1, 5):
            writer.remove(f"gone{times}.py")
        writer.commit()
    rebuilt = SqliteStore(tmp_path / "rebuilt", "test")
    put(rebuilt, *(record(f"{n}.py", *TEXTS[n : n + 10]) for n in range(50, -1, -10)))
    assert sorted(_answer(store)) == sorted(_answer(rebuilt))
    assert sorted(_answer(store, 1_000)) == sorted(_answer(rebuilt, 1_000))
    with store.snapshot() as one, rebuilt.snapshot() as other:
        some, others = one.keywords[Corpus.CODE], other.keywords[Corpus.CODE]
        assert some.size == others.size == 60
        assert [some.document_frequency(w) for w in ("common", "rare", "word3", "no")] == [60, 40, 1, 0]


def test_a_large_commit_counts_the_words_of_the_last_revision_alone(
    store: SqliteStore, tmp_path: Path
) -> None:
    last = [record(f"{n}.py", *(f"common rare word{n} {line}" for line in range(700))) for n in range(4)]
    with store.writer() as writer:
        for large in (record("0.py", *("rare " * 9 for _ in range(2_500))), *last, record("9.py", *TEXTS)):
            writer.put(large)
        writer.remove("9.py")
        writer.commit()
    one_by_one = SqliteStore(tmp_path / "other", "test")
    for each in last:
        put(one_by_one, each)
    assert sorted(_answer(store, 5_000)) == sorted(_answer(one_by_one, 5_000))
    with store.snapshot() as snapshot:
        assert snapshot.keywords[Corpus.CODE].size == 2_800
        assert sorted(np.concatenate([s.numbers for s in snapshot.vectors.segments]).tolist()) == sorted(
            chunk.number for each in last for chunk in snapshot.chunks.of_file(each.file.path)
        )


def test_ties_at_the_last_place_are_settled_by_path(store: SqliteStore, tmp_path: Path) -> None:
    names = [f"{letter}.py" for letter in "dacbfe"]
    other = SqliteStore(tmp_path / "other", "test")
    for name in names:
        put(store, record(name, "common rare"))
    for name in reversed(names):
        put(other, record(name, "common rare"))
    assert sorted(path for path, _, _ in _answer(store, 3)) == ["a.py", "b.py", "c.py"]
    assert sorted(_answer(store, 3)) == sorted(_answer(other, 3))


def test_the_best_are_those_of_all_scores(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that many chunks hold are left out of the search for candidates, never out of their scores."""
    put(store, record("a.py", *TEXTS), record("b.py", *TEXTS[:30]))
    terms = {"common": 1.0, "rare": 2.0, "filler": 0.5, "word3": 1.0}
    with store.snapshot() as snapshot:
        reader = snapshot.keywords[Corpus.CODE]
        numbers = [chunk.number for path in ("a.py", "b.py") for chunk in snapshot.chunks.of_file(path)]
        held, scores = reader.scores(terms, numbers)
        every = sorted(zip(held.tolist(), scores.tolist(), strict=True), key=lambda found: -found[1])
        for many in (10_000, 20, 0):
            monkeypatch.setattr("findspot.store.keywords._MANY_ROWS", many)
            assert [score for _, score in reader.search(terms, 7)] == [score for _, score in every[:7]]
            of_b = [found for found in every if snapshot.files.path_of[found[0] >> ORDINAL_BITS] == "b.py"]
            found = reader.search(terms, 5, [snapshot.files.by_path["b.py"]])
            assert [score for _, score in found] == [score for _, score in of_b[:5]]


def test_words_are_sorted_in_parts_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, live = [Postings.of(enumerate(TEXTS)), Postings.of([(4096, "common rare")])], np.ones(2, np.bool_)
    write_postings(tmp_path / "whole", parts, live)
    monkeypatch.setattr("findspot.store.word_counts._SORTED", 7)
    write_postings(tmp_path / "parts", parts, live)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()


def test_lengths_are_rounded_down() -> None:
    rounded = {0: 0, 23: 23, 39: 39, 40: 40, 41: 40, 55: 54, 56: 56, 87: 84, 95: 88, 199: 184, 255: 248}
    assert STORED_LENGTHS[step_of(np.array(list(rounded), np.float64))].tolist() == list(rounded.values())


def test_counts_are_merged_and_damage_is_found(tmp_path: Path) -> None:
    one = Postings.of([(8192, "a b a"), (4096, "c"), (4097, "")])
    other = Postings.of([(12288, "b b b b c")])
    live = np.array([False, True, False, True])
    path, numbers = tmp_path / "x.terms", np.array([4096, 4097, 12288])
    write_postings(path, [other, one], live)
    read = open_postings(path, numbers)
    assert read.lengths.tolist() == [1, 0, 5]
    assert read.counts_in(np.arange(3), hashes_of("abc")).tolist() == [[0, 0, 0], [0, 0, 4], [1, 0, 1]]
    with pytest.raises(DerivedDamagedError):
        open_postings(path, numbers[:2])
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    for damaged in (bytes(data), bytes(data[:-3]), b"", b"other"):
        path.write_bytes(damaged)
        with pytest.raises(DerivedDamagedError):
            open_postings(path, numbers)


@pytest.mark.parametrize("shift", [10_000, 1_000])
def test_places_that_are_not_there_are_damage(shift: int) -> None:
    """The columns are mapped into memory: a file that is damaged meanwhile is made anew, as any other is."""
    part = Postings.of([(1, "cart total"), (2, "price of a cart")])
    moved = replace(part, starts=part.starts + shift)
    reader = KeywordReader([moved], np.ones(1, np.bool_), lambda numbers: numbers)
    with pytest.raises(DerivedDamagedError):
        reader.held_terms(["total"], part.numbers)
