"""Indexes that begin from a published version hold what indexing gives, whatever was fetched."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from contents import Contents, contents, write_files
from findspot import Project
from findspot.core.errors import CancelledError
from findspot.core.model import Progress, Query
from findspot.core.progress import CancelToken
from findspot.core.utc_time import utc_now
from findspot.publishing import seeding, static_files
from findspot.publishing.published import Version
from findspot.publishing.static_files import StaticIndex
from findspot.store.prebuilt import extract, pack_database
from kept_workers import open_project
from static_server import StaticServer

FILES = {f"m{n}.py": f"def function_{n}(value):\n    return value + {n}\n" for n in range(30)}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[StaticServer]:
    with StaticServer(tmp_path / "site") as server:
        yield server


@contextlib.contextmanager
def opened(root: Path, files: dict[str, str], home: Path, address: str = "") -> Iterator[Project]:
    """A project of some files with a home of its own, which may begin from an address."""
    root.mkdir(exist_ok=True)
    write_files(root, files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINDSPOT_HOME", str(home))
        patch.delenv("FINDSPOT_PUBLISHED_AT", raising=False)
        if address:
            patch.setenv("FINDSPOT_PUBLISHED_AT", address)
        with contextlib.closing(open_project(root)) as project:
            yield project


def published(project: Project, folder: Path, commit: str = "a" * 40, **changed: str) -> None:
    project.update()
    meta, counts = project.store.figures()
    made_by = {"model": meta["model"], "pipeline": meta["pipeline"]} | changed
    files, chunks = sum(f for f, _ in counts.values()), sum(c for _, c in counts.values())
    version = Version(commit, "main", utc_now(), files, chunks, **made_by)
    StaticIndex(str(folder)).add(version, project.store)


@pytest.fixture
def publisher(tmp_path: Path, site: StaticServer) -> Iterator[Project]:
    with opened(tmp_path / "publisher", FILES, tmp_path / "home1") as project:
        published(project, site.folder)
        yield project


_REBUILT: dict[str, Contents] = {}


def rebuilt(files: dict[str, str]) -> Contents:
    """What indexing some files gives; it is the same for all tests."""
    key = json.dumps(files, sort_keys=True)
    if key not in _REBUILT:
        with (
            tempfile.TemporaryDirectory() as folder,
            opened(Path(folder, "project"), files, Path(folder, "home")) as project,
        ):
            project.update()
            _REBUILT[key] = contents(project.store)
    return _REBUILT[key]


def seeded(
    tmp_path: Path, site: StaticServer, files: dict[str, str], name: str = "reader"
) -> tuple[str, bool]:
    """The note about the published index, and whether the result is what indexing gives."""
    with opened(tmp_path / name, files, tmp_path / f"{name}-home", site.address) as reader:
        notes = " ".join(reader.update().notes)
        assert not list(reader.store.folder.glob("seed.sqlite*"))
        here = {path.name: path.read_text() for path in reader.root.glob("*.py")}
        return notes, contents(reader.store) == rebuilt(here)


def test_files_that_are_the_same_are_taken_over(
    tmp_path: Path, site: StaticServer, publisher: Project
) -> None:
    changed = FILES | {"m3.py": "def other():\n    pass\n", "new.py": "x = 1\n"}
    del changed["m4.py"]
    note, equal = seeded(tmp_path, site, changed)
    assert note.startswith(f"28 of 30 files were taken over from {site.address} (commit aaaaaaaaaaaa")
    assert equal
    asked = len(site.requests)
    assert seeded(tmp_path, site, changed)[0] == ""  # it has an index: nothing is fetched again
    assert len(site.requests) == asked
    note, equal = seeded(tmp_path, site, {**FILES, "m9.py": "changed = 1\n"} | {"m5.py": ""})
    assert (note, equal) == ("", True)
    assert len(site.requests) == asked


def test_an_index_that_lacks_most_files_begins_again(
    tmp_path: Path, site: StaticServer, publisher: Project
) -> None:
    few = dict(list(FILES.items())[:10])
    with opened(tmp_path / "reader", few, tmp_path / "home", site.address) as reader:
        assert site.requests == []
        assert reader.update().notes == ()  # so few are indexed at once
        write_files(reader.root, FILES)
        assert "30 of 30 files were taken over" in reader.update().notes[0]
        assert contents(reader.store) == contents(publisher.store)
        assert reader.search(Query("function_7")).hits


def test_whatever_goes_wrong_is_one_note(
    tmp_path: Path, site: StaticServer, publisher: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = (site.folder / "versions.json").read_bytes()
    (pack,) = site.folder.glob("*.findspot")
    whole = pack.read_bytes()
    expected: dict[str, str] = {}

    def check(name: str, wanted: str) -> None:
        note, equal = seeded(tmp_path, site, FILES, name)
        assert note.startswith("Not begun from the published index: ")
        assert wanted in note
        assert equal
        expected[name] = note

    pack.write_bytes(whole[:-1] + b"!")
    check("damaged", "sent a damaged file")
    pack.write_bytes(whole)
    site.redirects[f"/{pack.name}"] = f"{site.address}/elsewhere"
    check("redirected", "redirects are not followed")
    site.redirects.clear()
    (site.folder / "versions.json").write_bytes(b"<html>")
    check("page", "does not hold a published index")
    (site.folder / "versions.json").unlink()
    check("empty", "nothing is published there")
    (site.folder / "versions.json").write_bytes(listed.replace(b"local:static", b"local:others"))
    check("model", "no version was made as here")
    (site.folder / "versions.json").write_bytes(listed)
    monkeypatch.setattr(static_files, "MAX_PACK_BYTES", 10)
    check("large", "does not hold a published index")
    monkeypatch.undo()
    monkeypatch.setattr(seeding, "MAX_SECONDS", 0.0)
    check("slow", "took more than 0 seconds")
    monkeypatch.undo()
    monkeypatch.setattr(static_files, "SILENCE_S", 0.2)
    site.silent.add("/versions.json")
    check("silent", "no answer within")


def test_rows_that_the_files_do_not_confirm_are_dropped(
    tmp_path: Path, site: StaticServer, publisher: Project
) -> None:
    (pack,) = site.folder.glob("*.findspot")
    database = tmp_path / "changed.sqlite"
    extract(pack, database)

    def served(statement: str) -> None:
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as db:
            db.execute(statement)
        for old in site.folder.iterdir():
            if old.is_file():
                old.unlink()
        pack_database(database, site.folder / "x", "")
        name = static_files.hashlib.sha256((site.folder / "x").read_bytes()).hexdigest()
        (site.folder / "x").rename(site.folder / f"{name}.findspot")
        row = json.loads(listed)["versions"][0]
        row["packs"] = [{"sha256": name, "bytes": (site.folder / f"{name}.findspot").stat().st_size}]
        (site.folder / "versions.json").write_text(json.dumps({"format": 1, "versions": [row]}))

    listed = (site.folder / "versions.json").read_text()
    served("UPDATE chunks SET text = 'obey me' WHERE id = (SELECT min(id) FROM chunks)")
    note, equal = seeded(tmp_path, site, FILES, "lying")
    assert note.startswith("29 of 30 files")
    assert equal
    served("UPDATE meta SET value = 'another@1/256' WHERE key = 'model'")
    note, equal = seeded(tmp_path, site, FILES, "other")
    assert "sent another index than it lists" in note
    assert equal
    served("UPDATE files SET path = '../' || path")
    note, equal = seeded(tmp_path, site, FILES, "outside")
    assert "not an index" in note
    assert equal
    served("CREATE TRIGGER t AFTER DELETE ON files BEGIN DELETE FROM chunks; END")
    note, equal = seeded(tmp_path, site, FILES, "trigger")
    assert "not an index" in note
    assert equal


def test_a_huge_database_in_a_small_pack_is_refused(
    tmp_path: Path, site: StaticServer, publisher: Project
) -> None:
    (pack,) = site.folder.glob("*.findspot")
    with zipfile.ZipFile(pack) as archive:
        manifest = archive.read("manifest.json")
    with zipfile.ZipFile(site.folder / "x", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", manifest)
        archive.writestr("index.sqlite", b"\0" * 50_000_000)
    data = (site.folder / "x").read_bytes()
    name = static_files.hashlib.sha256(data).hexdigest()
    (site.folder / f"{name}.findspot").write_bytes(data)
    held = json.loads((site.folder / "versions.json").read_text())
    held["versions"][0]["packs"] = [{"sha256": name, "bytes": len(data)}]
    (site.folder / "versions.json").write_text(json.dumps(held))
    note, equal = seeded(tmp_path, site, FILES, "bomb")
    assert "not an index" in note
    assert equal


def test_fetching_can_be_cancelled(tmp_path: Path, site: StaticServer, publisher: Project) -> None:
    with opened(tmp_path / "reader", FILES, tmp_path / "home", site.address) as reader:
        cancel = CancelToken()

        def stop(progress: Progress) -> None:
            if progress.phase == "fetching":
                cancel.cancel()

        with pytest.raises(CancelledError):
            reader.update(progress=stop, cancel=cancel)
        assert not reader.store.exists
        assert "30 of 30" in reader.update().notes[0]


def test_an_index_of_the_same_files_on_this_machine_is_nearer(
    tmp_path: Path, site: StaticServer, publisher: Project
) -> None:
    with opened(tmp_path / "copy", FILES, tmp_path / "home1", site.address) as copy:
        assert "taken over from the index of" in copy.update().notes[0]
    assert site.requests == []
