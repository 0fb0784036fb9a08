"""The limits of named indexes: memory, numbers and sizes, each on both of its sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.core.errors import InvalidArgumentError
from findspot.documents import named_indexes
from findspot.documents.document_record import Document
from findspot.documents.named_indexes import NamedIndexes

LIMIT = 64_000_000


def words(first: int, count: int) -> str:
    return " ".join(f"w{number:07}" for number in range(first, first + count))


def held(indexes: NamedIndexes, name: str = "default") -> int:
    return indexes.info(name).storage_bytes


class TestMemory:
    def test_a_limit_admits_as_much_as_it_says_and_no_more(self, tmp_path: Path) -> None:
        """documents A12: "706 of at most 537 MB" for a limit of 512 MB."""
        indexes = NamedIndexes(tmp_path, 1 << 20)
        documents = (Document.checked(str(number), words(number * 100, 100)) for number in range(10_000))
        with pytest.raises(InvalidArgumentError, match=r"^Memory limit reached: .* may take 1 MB together\."):
            indexes.add(documents)
        assert 1_000_000 < held(indexes) <= 1 << 20
        indexes.create("large", "disk")
        indexes.add([Document.checked("a", words(0, 50_000))], "large")

    def test_all_indexes_in_memory_share_the_limit(self, tmp_path: Path) -> None:
        indexes = NamedIndexes(tmp_path, 300_000)
        indexes.create("other")
        indexes.add([Document.checked("a", words(0, 6_000))], "other")
        with pytest.raises(InvalidArgumentError, match="Memory limit reached"):
            indexes.add([Document.checked("a", words(0, 6_000))])
        indexes.drop("other")
        indexes.add([Document.checked("a", words(0, 6_000))])

    def test_removed_documents_give_their_memory_back(self, tmp_path: Path) -> None:
        indexes = NamedIndexes(tmp_path, LIMIT)
        empty = held(indexes)
        indexes.add([Document.checked(str(number), "tea " * 9_999) for number in range(30)])
        for number in range(30):
            indexes.remove(str(number))
        assert held(indexes) == pytest.approx(empty, abs=20_000)


class TestManyDocuments:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        indexes = NamedIndexes(tmp_path, LIMIT)
        indexes.create("shelf", "disk")
        indexes.add([Document.checked(f"d{n:04}", f"plan {n} trip", {"n": n}) for n in range(1_900)], "shelf")
        indexes.close()
        return tmp_path

    def test_more_answers_than_one_statement_of_sqlite_can_name(self, folder: Path) -> None:
        indexes = NamedIndexes(folder, LIMIT)
        answer = indexes.search("trip", 5_000, "shelf")
        assert [found.metadata["n"] for found in answer.results] == list(range(1_900))
        assert answer.results[901].highlights == ("plan 901 trip",)
        assert indexes.search('"plan 3 trip"', 5, "shelf").results[0].doc_id == "d0003"


def test_indexes_in_memory_are_limited_in_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_indexes, "MAX_MEMORY_INDEXES", 2)
    indexes = NamedIndexes(tmp_path, LIMIT)
    indexes.create("one")
    with pytest.raises(InvalidArgumentError, match="There are 2 indexes in memory already"):
        indexes.create("more")
    assert indexes.create("more", "disk").backend == "disk"
