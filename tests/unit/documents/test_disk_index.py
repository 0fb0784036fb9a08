"""What only an index on disk promises: it outlives processes, crashes and neighbours."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from findspot.core.errors import FindspotError, IndexFormatError
from findspot.documents.document_record import Document
from findspot.documents.named_indexes import NamedIndexes

LIMIT = 10_000_000

_WRITER = """
import sys
from pathlib import Path
from findspot.documents.document_record import Document
from findspot.documents.named_indexes import NamedIndexes
name = sys.argv[2]
indexes = NamedIndexes(Path(sys.argv[1]), 10_000_000)
for number in range(int(sys.argv[3])):
    indexes.add([Document.checked(f"{name}-{number}", f"tea {name} number{number}")], "shelf")
    print(number, flush=True)
"""


def start_writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(folder), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    NamedIndexes(tmp_path, LIMIT).create("shelf", "disk", {"min_length": 3})
    return tmp_path


def test_documents_and_settings_survive_a_restart(folder: Path) -> None:
    first = NamedIndexes(folder, LIMIT)
    first.add([Document.checked("a", "green tea", {"n": 1})], "shelf")
    first.close()
    again = NamedIndexes(folder, LIMIT)
    (found,) = again.search("tea", index_name="shelf").results
    assert (found.doc_id, found.metadata, found.highlights) == ("a", {"n": 1}, ("green tea",))
    assert again.add([Document.checked("b", "no tea")], "shelf")[0].token_count == 1


def test_whatever_was_answered_survives_kill_9(folder: Path) -> None:
    with start_writer(folder, "w", 100_000) as writer:
        assert writer.stdout is not None
        acknowledged = [int(next(writer.stdout)) for _ in range(20)][-1]
        os.kill(writer.pid, signal.SIGKILL)
    answer = NamedIndexes(folder, LIMIT).search("tea", 1_000, "shelf")
    held = {found.doc_id for found in answer.results}
    assert {f"w-{number}" for number in range(acknowledged + 1)} <= held
    assert answer.total_matches == len(held)


def test_several_processes_write_and_a_reader_sees_all(folder: Path) -> None:
    reader = NamedIndexes(folder, LIMIT)
    assert reader.search("tea", index_name="shelf").total_matches == 0
    writers = [start_writer(folder, name, 25) for name in ("one", "two")]
    for writer in writers:
        writer.communicate(timeout=180)
        assert writer.returncode == 0
    answer = reader.search("tea", 1_000, "shelf")
    assert answer.total_matches == 50
    assert reader.search("+one number7", 1, "shelf").results[0].doc_id == "one-7"


def test_an_index_dropped_and_made_again_elsewhere(folder: Path) -> None:
    here, there = NamedIndexes(folder, LIMIT), NamedIndexes(folder, LIMIT)
    here.add([Document.checked("a", "tea")], "shelf")
    assert there.search("tea", index_name="shelf").total_matches == 1
    here.drop("shelf")
    with pytest.raises(FindspotError, match="Index not found: shelf"):
        there.search("tea", index_name="shelf")
    here.create("shelf", "disk")
    assert there.search("tea", index_name="shelf").total_matches == 0


def test_a_failed_addition_adds_nothing(folder: Path) -> None:
    indexes = NamedIndexes(folder, LIMIT)

    def broken() -> object:
        yield Document.checked("a", "tea")
        raise OSError("the source went away")

    with pytest.raises(OSError, match="went away"):
        indexes.add(broken(), "shelf")  # type: ignore[arg-type]
    assert indexes.search("tea", index_name="shelf").total_matches == 0
    indexes.add([Document.checked("b", "green tea")], "shelf")
    assert indexes.search("tea", index_name="shelf").total_matches == 1


def test_an_index_only_begun_is_none_and_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "docs-half.sqlite").touch()
    indexes = NamedIndexes(tmp_path, LIMIT)
    with pytest.raises(FindspotError, match="Index not found: half"):
        indexes.search("tea", index_name="half")
    assert indexes.create("half", "disk").documents == 0


def test_a_damaged_file_is_told_and_spoils_no_other(folder: Path) -> None:
    (folder / "docs-bad.sqlite").write_bytes(b"not a database" * 100)
    indexes = NamedIndexes(folder, LIMIT)
    with pytest.raises(FindspotError, match="The index 'bad' is damaged"):
        indexes.search("tea", index_name="bad")
    assert [info.name for info in indexes.listing()] == ["default", "shelf"]


def test_an_index_of_a_newer_format_is_refused(folder: Path) -> None:
    with sqlite3.connect(folder / "docs-shelf.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(IndexFormatError):
        NamedIndexes(folder, LIMIT).search("tea", index_name="shelf")


_FORMAT_2 = """
DROP TABLE words;
DROP TABLE documents;
CREATE TABLE terms (number INTEGER PRIMARY KEY, term TEXT NOT NULL);
CREATE TABLE removals (number INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL);
CREATE TABLE documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL UNIQUE, content TEXT NOT NULL,
    metadata TEXT NOT NULL, encoded BLOB NOT NULL
);
INSERT INTO documents (doc_id, content, metadata, encoded) VALUES
    ('a', 'plan a trip', '{"n": 1}', x'00000000'), ('b', 'plan b trip', '{}', x'00000000');
"""


@pytest.mark.parametrize("version", [1, 2])
def test_the_words_of_an_older_format_are_written_again(folder: Path, version: int) -> None:
    with contextlib.closing(sqlite3.connect(folder / "docs-shelf.sqlite")) as db:
        db.executescript(f"{_FORMAT_2} PRAGMA user_version = {version};")
    again = NamedIndexes(folder, LIMIT)
    (found,) = again.search('"plan a trip"', index_name="shelf").results
    assert (found.doc_id, found.metadata) == ("a", {"n": 1})
    assert [found.doc_id for found in again.search("trip -b", index_name="shelf").results] == ["a"]
    again.add([Document.checked("c", "trip b again")], "shelf")
    assert again.search("+b", index_name="shelf").total_matches == 2
