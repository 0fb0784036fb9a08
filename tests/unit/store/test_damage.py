"""What is derived can be deleted, cut short or altered at any time: it is noticed and made anew."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from contents import Contents, contents, edited_database, record, words_found
from findspot.core.errors import FindspotError, IndexCorruptError
from findspot.core.model import Corpus
from findspot.store.sqlite_store import SqliteStore

Damage = Callable[[Path, random.Random], None]


def cut(path: Path, chance: random.Random) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(chance.randrange(size))


def flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def remove(path: Path, chance: random.Random) -> None:
    path.unlink()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "index"
    store = SqliteStore(folder, "p")
    for number in range(4):
        with store.writer() as writer:
            for place in range(12):
                name = f"{number}/{place}"
                writer.put(record(f"{name}.py", f"alpha {name}", f"word{place} beta", outline=True))
            writer.put(record(f"{number}.md", f"prose {number}", corpus=Corpus.DOCS))
            writer.put(record("replaced.py", f"version {number}"))
            writer.commit()
    store.close()
    return folder


@pytest.fixture
def expected(whole: Path) -> Contents:
    return contents(SqliteStore(whole, "p"))


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def derived_files(folder: Path) -> list[Path]:
    return sorted((folder / "vectors").iterdir())


@pytest.mark.parametrize("damage", [cut, flip, remove])
@pytest.mark.parametrize("seed", range(4))
def test_a_writer_finds_a_damaged_file_and_makes_it_anew(
    copy: Path, expected: Contents, damage: Damage, seed: int
) -> None:
    chance = random.Random(seed)
    damage(chance.choice(derived_files(copy)), chance)
    with SqliteStore(copy, "p").writer():
        pass
    assert contents(SqliteStore(copy, "p")) == expected


@pytest.mark.parametrize("damage", [cut, flip, remove])
def test_a_reader_makes_damaged_vectors_anew(copy: Path, expected: Contents, damage: Damage) -> None:
    for path in sorted((copy / "vectors").iterdir()):
        damage(path, random.Random(7))
    assert contents(SqliteStore(copy, "p")) == expected


def test_damage_found_by_a_search_is_mended_for_the_next(copy: Path, expected: Contents) -> None:
    """Files that were found to be whole are mapped: what changes in them later shows when it is used."""
    store = SqliteStore(copy, "p")
    with store.snapshot():
        pass
    for path in (copy / "vectors").glob("*.terms"):
        with path.open("r+b") as file:
            file.seek(64)
            file.write(b"\xff" * 64)
    with pytest.raises(IndexCorruptError), store.snapshot() as snapshot:
        [words_found(snapshot, f"word{number}") for number in range(40)]
    assert contents(store) == expected


def test_an_unexpected_error_is_looked_into_and_damage_outlives_the_process(copy: Path) -> None:
    """security 4: `KeyError: 90118` where a chunk was missing; a mistake of ours is still one.

    A process that reads other pages neither answers from a damaged index nor writes to it.
    """
    store = SqliteStore(copy, "p")
    with pytest.raises(KeyError), store.snapshot():
        raise KeyError("a mistake")
    assert not store.damaged
    store.close()
    with edited_database(copy) as db:
        db.execute("DELETE FROM chunks WHERE id % 7 = 0")
    with pytest.raises(IndexCorruptError), SqliteStore(copy, "p").snapshot():
        raise KeyError("a chunk")
    assert store.damaged
    with pytest.raises(IndexCorruptError), SqliteStore(copy, "p").snapshot():
        pass
    with pytest.raises(IndexCorruptError), SqliteStore(copy, "p").writer():
        pass
    SqliteStore(copy, "p").set_aside()
    assert not SqliteStore(copy, "p").damaged


def test_text_that_is_damaged_is_not_quoted(copy: Path) -> None:
    """security 4: `Could not decode to UTF-8 column … with text 'def _write(…'`."""
    with edited_database(copy) as db:
        db.execute("UPDATE chunks SET text = CAST(x'736563726574ff' AS TEXT)")
    with pytest.raises(IndexCorruptError) as told, SqliteStore(copy, "p").snapshot() as snapshot:
        snapshot.chunks.of_file("1/1.py")
    assert "secret" not in told.value.developer_message
    assert told.value.__cause__ is None or "secret" not in str(told.value.__cause__.__cause__)


def test_an_error_without_damage_is_not_called_damage(copy: Path, expected: Contents) -> None:
    store = SqliteStore(copy, "p")
    with pytest.raises(FindspotError, match="no such table: elsewhere") as told, store.snapshot() as snapshot:
        snapshot.chunks._db.execute("SELECT * FROM elsewhere")
    assert not isinstance(told.value, IndexCorruptError)
    assert not store.damaged
    assert contents(store) == expected
