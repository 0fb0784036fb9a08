"""Checksums: they are there at rest, follow every change, and tell damage from a writer at work."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from contents import contents, edited_database, put, record
from findspot.core import sqlite
from findspot.core.errors import IndexCorruptError
from findspot.store import damage as store_damage
from findspot.store.damage import CHECKSUMS, COMPARED, MARK, Checksums
from findspot.store.sqlite_store import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    store = SqliteStore(tmp_path / "index", "p")
    put(store, *(record(f"{n}.py", f"alpha {n}", "beta " * 200, names=(f"Thing{n}",)) for n in range(60)))
    return store


def sums(store: SqliteStore) -> dict[str, object]:
    return dict(json.loads((store.folder / CHECKSUMS).read_bytes())["files"])


def damage(store: SqliteStore, at: int) -> None:
    """Change one byte, and nothing in the file's description."""
    info = store.database.stat()
    with store.database.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 16]))
    os.utime(store.database, ns=(info.st_atime_ns, info.st_mtime_ns))


def test_small_commits_lead_to_the_sums_of_the_whole(store: SqliteStore, tmp_path: Path) -> None:
    for turn in range(4):
        put(store, record(f"{turn}.py", f"gamma {turn}"), record(f"new{turn}.py", "delta " * 3000 * turn))
    followed = sums(store)
    copy = SqliteStore(Path(shutil.copytree(store.folder, tmp_path / "copy")), "p")
    (copy.folder / CHECKSUMS).unlink()
    database = copy.database.read_bytes()
    Checksums(copy.folder).finish(None, 4096)
    assert sums(copy) == followed
    assert copy.database.read_bytes() == database


def test_nothing_is_claimed_while_somebody_writes(store: SqliteStore) -> None:
    with store.writer() as writer:
        assert (store.folder / CHECKSUMS).read_bytes() == b""
        writer.put(record("more.py", "words"))
        writer.commit()
        assert len(contents(SqliteStore(store.folder, "p")).files) == 61
    assert sums(store)


@pytest.mark.parametrize("at", [0, 30, 70_000, -1])
def test_one_byte_of_the_database(store: SqliteStore, at: int) -> None:
    store.close()
    damage(store, at % store.database.stat().st_size)
    for _ in range(2):
        with pytest.raises(IndexCorruptError), SqliteStore(store.folder, "p").snapshot():
            pass
    assert (store.folder / MARK).is_file()
    with pytest.raises(IndexCorruptError), SqliteStore(store.folder, "p").writer():
        pass
    SqliteStore(store.folder, "p").maintenance.set_aside()
    assert not SqliteStore(store.folder, "p").damaged


def opens(store: SqliteStore) -> bool:
    """Whether a new process would answer from the index."""
    (store.folder / MARK).unlink(missing_ok=True)
    try:
        with SqliteStore(store.folder, "p").snapshot():
            return True
    except IndexCorruptError:
        return False


@pytest.fixture
def noted(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    """An index that was compared, and damaged since; the note says that it looked as it does now."""
    if not Path("/proc/sys/kernel/random/boot_id").exists():
        pytest.skip("the system does not tell when it was started")
    monkeypatch.setattr(store_damage, "_SETTLED_S", -1.0)
    assert opens(store)
    damage(store, 70_000)
    assert not opens(store)
    note = json.loads((store.folder / COMPARED).read_bytes())
    info = store.database.stat()
    look = [info.st_ino, info.st_mtime_ns, info.st_ctime_ns, info.st_size]
    assert note["files"][store.database.name] != look
    note["files"][store.database.name] = look
    (store.folder / COMPARED).write_text(json.dumps(note))
    return store


def test_files_that_look_as_when_they_were_compared_are_not_read(noted: SqliteStore) -> None:
    assert opens(noted)


@pytest.mark.parametrize("changed", [{"boot": "another"}, {"at": 0}, {"files": {}}, {"files": None}])
def test_a_note_that_does_not_count(noted: SqliteStore, changed: dict[str, object]) -> None:
    note = json.loads((noted.folder / COMPARED).read_bytes()) | changed
    (noted.folder / COMPARED).write_text(json.dumps(note))
    assert not opens(noted)


def test_a_repair_believes_no_note(noted: SqliteStore) -> None:
    with pytest.raises(IndexCorruptError):
        SqliteStore(noted.folder, "p").maintenance.repair()


def test_a_keyword_file_that_changed_after_the_note(noted: SqliteStore) -> None:
    path = max((noted.folder / "keywords").rglob("*.term"))
    path.write_bytes(path.read_bytes())
    assert not opens(noted)


def test_nothing_is_noted_a_moment_after_a_change(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_damage, "_SETTLED_S", 3_600.0)
    assert opens(store)
    assert not (store.folder / COMPARED).exists()


@pytest.mark.skipif(not Path("/proc/sys/kernel/random/boot_id").exists(), reason="nothing is noted")
def test_a_writer_notes_what_it_wrote_at_its_next_question(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_damage, "_SETTLED_S", -1.0)
    with store.snapshot():
        pass
    assert (store.folder / COMPARED).exists()


def test_a_store_that_is_open_notices_a_file_that_was_written_to(store: SqliteStore) -> None:
    contents(store)
    with store.database.open("r+b") as file:
        file.seek(5000)
        file.write(b"\7" * 100)
    with pytest.raises(IndexCorruptError), store.snapshot():
        pass


def test_what_a_killed_writer_left_is_not_called_damage(store: SqliteStore) -> None:
    (store.folder / CHECKSUMS).write_bytes(b"")
    with edited_database(store.folder) as db:
        db.execute("UPDATE files SET mtime_ns = 7")
    (store.folder / CHECKSUMS).write_bytes(b"")
    assert len(contents(SqliteStore(store.folder, "p")).files) == 60
    with SqliteStore(store.folder, "p").writer():
        pass
    assert sums(store)
    assert len(contents(SqliteStore(store.folder, "p")).files) == 60


def test_without_checksums_an_unexpected_error_is_looked_into(store: SqliteStore) -> None:
    """security 4: `KeyError: 90118` where a chunk was missing; a mistake of ours is still one."""
    with pytest.raises(KeyError), store.snapshot():
        raise KeyError("a mistake")
    assert not store.damaged
    store.close()
    with edited_database(store.folder) as db:
        db.execute("DELETE FROM chunks WHERE id % 7 = 0")
    with pytest.raises(IndexCorruptError), SqliteStore(store.folder, "p").snapshot():
        raise KeyError("a chunk")
    assert store.damaged


def test_text_that_is_damaged_is_not_quoted(store: SqliteStore) -> None:
    """security 4: `Could not decode to UTF-8 column … with text 'def _write(…'`."""
    store.close()
    with edited_database(store.folder) as db:
        db.execute("UPDATE chunks SET text = CAST(x'736563726574ff' AS TEXT)")
    with pytest.raises(IndexCorruptError) as told, SqliteStore(store.folder, "p").snapshot() as snapshot:
        snapshot.chunks.of_file("1.py")
    assert "secret" not in told.value.developer_message
    assert told.value.__cause__ is None or "secret" not in str(told.value.__cause__.__cause__)


HELD = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
"""
"""Take SQLite's lock of a process that is the only user of a database."""


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_reading_the_file_gives_up_none_of_sqlites_locks(store: SqliteStore) -> None:
    """Else another process that closes the database removes the log that this one writes to."""
    with store.snapshot():
        Checksums(store.folder).check()
        command = [sys.executable, "-c", HELD, str(store.database)]
        other = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "BlockingIOError" in other.stderr


def test_the_last_user_of_a_database_closes_its_descriptors(store: SqliteStore) -> None:
    with store.snapshot():
        with sqlite.open_beside(store.database) as first:
            pass
        with sqlite.open_beside(store.database) as second:
            assert first == second
    store.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(first)


def test_a_long_log_is_not_read_into_memory(tmp_path: Path) -> None:
    """A first run over a very large project leaves a gigabyte of it."""
    path = tmp_path / "long.sqlite"
    with contextlib.closing(sqlite.connect_logged(path)) as db:
        db.execute("CREATE TABLE pages (content BLOB)")
        assert sqlite.logged_pages(db, path) == {1, 2}
        db.execute("INSERT INTO pages VALUES (zeroblob(40000000))")
        tracemalloc.start()
        try:
            assert sqlite.logged_pages(db, path) is None
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 10_000_000
