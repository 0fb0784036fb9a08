"""Indexes in one file: what comes out is what went in, and a file that is anything else is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contents import contents, put, record
from findspot.core.errors import FindspotError, IndexFormatError, InvalidArgumentError
from findspot.core.model import Corpus
from findspot.store.prebuilt import pack, read_manifest, unpack
from findspot.store.sqlite_store import SqliteStore


def trusting(db: sqlite3.Connection) -> None:
    """These indexes have no files; `test_imported.py` has some."""


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    store = SqliteStore(tmp_path / "built", "p")
    put(store, record("a.py", "alpha", "beta", names=("Thing",), outline=True))
    put(store, record("b.md", "prose", corpus=Corpus.DOCS))
    with store.writer() as writer:
        writer.set_meta(build="complete", model="m@1/64", scanned_ns="5", project_path="/build/machine")
        writer.commit()
    return store


def test_an_index_travels_in_one_file(store: SqliteStore, tmp_path: Path) -> None:
    manifest = pack(store, tmp_path / "x.findspot", "project")
    assert (manifest.project, manifest.model, manifest.files, manifest.chunks) == ("project", "m@1/64", 2, 4)
    assert read_manifest(tmp_path / "x.findspot") == manifest
    other = SqliteStore(tmp_path / "elsewhere", "p")
    unpack(tmp_path / "x.findspot", other, Path("/here"), trusting)
    assert contents(other) == contents(store)
    meta = other.figures()[0]
    assert meta["project_path"] == "/here"
    assert "scanned_ns" not in meta
    again = tmp_path / "again.findspot"
    pack(other, again, "project")
    unpack(again, store, Path("/there"), trusting)
    assert contents(other) == contents(store)
    assert not list(tmp_path.glob("**/*.unfinished")) + list(tmp_path.glob("**/prebuilt.sqlite"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_only_files_are_replaced(store: SqliteStore, tmp_path: Path) -> None:
    """Such as /dev/null, which root could replace."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InvalidArgumentError, match="not a file"):
        pack(store, pipe, "project")
    assert pipe.is_fifo()


def test_an_unfinished_index_is_not_handed_out(store: SqliteStore, tmp_path: Path) -> None:
    with store.writer() as writer:
        writer.set_meta(build="incomplete")
        writer.commit()
    with pytest.raises(InvalidArgumentError, match="not finished"):
        pack(store, tmp_path / "x.findspot", "project")
    assert not (tmp_path / "x.findspot").exists()


def test_deleted_text_does_not_travel(store: SqliteStore, tmp_path: Path) -> None:
    put(store, record("secret.py", "hunter2 " * 50))
    with store.writer() as writer:
        writer.remove("secret.py")
        writer.commit()
    pack(store, tmp_path / "x.findspot", "project")
    with zipfile.ZipFile(tmp_path / "x.findspot") as archive:
        assert b"hunter2" not in archive.read("index.sqlite")


Forge = Callable[[sqlite3.Connection, dict[str, Any]], None]


def a_trigger(db: sqlite3.Connection, manifest: dict[str, Any]) -> None:
    db.execute("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM files; END")


def a_view(db: sqlite3.Connection, manifest: dict[str, Any]) -> None:
    db.execute("ALTER TABLE skips RENAME TO other")
    db.execute("CREATE VIEW skips AS SELECT path, reason, detail, size, mtime_ns FROM other")


def a_way_out(db: sqlite3.Connection, manifest: dict[str, Any]) -> None:
    db.execute("UPDATE files SET path = '../outside.py' WHERE path = 'a.py'")


def an_absolute_path(db: sqlite3.Connection, manifest: dict[str, Any]) -> None:
    db.execute("UPDATE files SET path = '/etc/passwd' WHERE path = 'a.py'")


def another_format(db: sqlite3.Connection, manifest: dict[str, Any]) -> None:
    db.execute("PRAGMA user_version = 1")


def half_of_it(db: sqlite3.Connection, manifest: dict[str, Any]) -> None:
    manifest["cut"] = True


def vectors_of_two_lengths(db: sqlite3.Connection, manifest: dict[str, Any]) -> None:
    db.execute("UPDATE chunks SET vector = x'00' WHERE id = (SELECT min(id) FROM chunks)")


@pytest.mark.parametrize(
    "forge",
    [a_trigger, a_view, a_way_out, an_absolute_path, another_format, half_of_it, vectors_of_two_lengths],
)
def test_a_file_that_is_not_what_it_says_changes_nothing(
    store: SqliteStore, tmp_path: Path, forge: Forge
) -> None:
    """Each with a checksum that fits: whoever forges the one can forge the other."""
    pack(store, tmp_path / "x.findspot", "project")
    forged = tmp_path / "forged.findspot"
    shutil.unpack_archive(tmp_path / "x.findspot", tmp_path / "in", "zip")
    manifest = json.loads((tmp_path / "in/manifest.json").read_text())
    database = tmp_path / "in/index.sqlite"
    db = sqlite3.connect(database, isolation_level=None)
    forge(db, manifest)
    db.close()
    content = database.read_bytes()
    manifest |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    with zipfile.ZipFile(forged, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        archive.writestr("index.sqlite", content[: len(content) // 2] if manifest.get("cut") else content)
    before = contents(store)
    with pytest.raises(InvalidArgumentError, match="not an index"):
        unpack(forged, store, Path("/here"), trusting)
    assert contents(store) == before


def test_only_two_names_of_an_archive_are_looked_at(store: SqliteStore, tmp_path: Path) -> None:
    pack(store, tmp_path / "x.findspot", "project")
    with zipfile.ZipFile(tmp_path / "x.findspot", "a") as archive:
        archive.writestr("../outside.py", "print('never')")
        archive.writestr("/tmp/absolute.py", "print('never')")
    before = {path for path in tmp_path.rglob("*") if "built" not in path.parts}
    unpack(tmp_path / "x.findspot", store, Path("/here"), trusting)
    assert {path for path in tmp_path.rglob("*") if "built" not in path.parts} == before


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + b"\0" * 18])
def test_other_files_are_refused(store: SqliteStore, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InvalidArgumentError, match="not an index"):
        unpack(tmp_path / "x", store, Path("/here"), trusting)
    with pytest.raises(InvalidArgumentError, match="no file"):
        read_manifest(tmp_path / "missing")


@pytest.mark.parametrize("name", ["archive", "format"])
def test_a_newer_file_is_told_as_such(store: SqliteStore, tmp_path: Path, name: str) -> None:
    pack(store, tmp_path / "x.findspot", "project")
    with zipfile.ZipFile(tmp_path / "x.findspot") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    with zipfile.ZipFile(tmp_path / "y.findspot", "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest | {name: 99}))
    with pytest.raises(IndexFormatError) as refused:
        read_manifest(tmp_path / "y.findspot")
    assert isinstance(refused.value, FindspotError)
