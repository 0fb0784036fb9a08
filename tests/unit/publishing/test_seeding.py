"""Indexes that begin from a published version hold what indexing gives, whatever was fetched."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from contents import Contents, contents, write_files
from findspot import Project
from findspot.core.errors import CancelledError
from findspot.core.model import Progress, Query
from findspot.core.progress import CancelToken
from findspot.core.utc_time import utc_now
from findspot.publishing import seeding
from findspot.publishing.published import PublishedIndex, Version
from findspot.publishing.publisher import Publisher
from findspot.store.lance.lance_format import CODE_TABLE, FILES_TABLE
from findspot.store.lance.lance_tables import Head, WritableTables
from kept_workers import open_project

FILES = {f"m{n}.py": f"def function_{n}(value):\n    return value + {n}\n" for n in range(30)}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder that an index is published in."""
    return tmp_path / "site"


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
    Publisher(PublishedIndex(str(folder))).add(version, project.store)


@pytest.fixture
def publisher(tmp_path: Path, site: Path) -> Iterator[Project]:
    with opened(tmp_path / "publisher", FILES, tmp_path / "home1") as project:
        published(project, site)
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


def seeded(tmp_path: Path, site: Path, files: dict[str, str], name: str = "reader") -> tuple[str, bool]:
    """The note about the published index, and whether the result is what indexing gives."""
    with opened(tmp_path / name, files, tmp_path / f"{name}-home", str(site)) as reader:
        notes = " ".join(reader.update().notes)
        assert not list(reader.store.folder.glob("seed.sqlite*"))
        here = {path.name: path.read_text() for path in reader.root.glob("*.py")}
        return notes, contents(reader.store) == rebuilt(here)


def test_files_that_are_the_same_are_taken_over(tmp_path: Path, site: Path, publisher: Project) -> None:
    changed = FILES | {"m3.py": "def other():\n    pass\n", "new.py": "x = 1\n"}
    del changed["m4.py"]
    note, equal = seeded(tmp_path, site, changed)
    assert note.startswith(f"28 of 30 files were taken over from {site!s} (commit aaaaaaaaaaaa")
    assert equal
    assert seeded(tmp_path, site, changed)[0] == ""  # it has an index: nothing is fetched again
    note, equal = seeded(tmp_path, site, {**FILES, "m9.py": "changed = 1\n"} | {"m5.py": ""})
    assert (note, equal) == ("", True)


def test_an_index_that_lacks_most_files_begins_again(tmp_path: Path, site: Path, publisher: Project) -> None:
    few = dict(list(FILES.items())[:10])
    with opened(tmp_path / "reader", few, tmp_path / "home", str(site)) as reader:
        assert reader.update().notes == ()  # so few are indexed at once
        write_files(reader.root, FILES)
        assert "30 of 30 files were taken over" in reader.update().notes[0]
        assert contents(reader.store) == contents(publisher.store)
        assert reader.search(Query("function_7")).hits


def test_whatever_goes_wrong_is_one_note(
    tmp_path: Path, site: Path, publisher: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(name: str, wanted: str) -> None:
        note, equal = seeded(tmp_path, site, FILES, name)
        assert note.startswith("Not begun from the published index: ")
        assert wanted in note
        assert equal

    monkeypatch.setattr(seeding, "MAX_SECONDS", 0.0)
    check("slow", "took more than 0 seconds")
    monkeypatch.undo()
    files = list((site / "index.lancedb/files.lance/data").iterdir())
    for path in files:
        path.rename(path.with_suffix(".away"))
    check("damaged", "corrupted")
    for path in files:
        path.with_suffix(".away").rename(path)
    published(publisher, site / "other", model="another@1/256")
    note, equal = seeded(tmp_path, site / "other", FILES, "model")
    assert "no version was made as here" in note
    assert equal
    note, equal = seeded(tmp_path, site / "nowhere", FILES, "empty")
    assert "nothing is published there" in note
    assert equal


@pytest.mark.parametrize(
    ("table", "values", "wanted"),
    [
        (CODE_TABLE, {}, "Not begun from the published index"),
        (FILES_TABLE, {"path": "../m7.py"}, "not an index"),
        (FILES_TABLE, {"sha256": "0" * 64}, "29 of 30 files"),
    ],
)
def test_rows_that_the_files_do_not_confirm_are_dropped(
    publisher: Project, site: Path, table: str, values: dict[str, object], wanted: str
) -> None:
    """Whoever can write to the address can write anything; nothing of it is believed."""
    where = "path = 'm7.py'"
    tables = WritableTables(site)
    head = tables.head()
    opened_table = tables.open(table)
    assert head is not None
    assert opened_table is not None
    if table == CODE_TABLE:
        row = opened_table.search().where(where).to_arrow().slice(0, 1)
        opened_table.delete(f"number = {row['number'][0].as_py()}")
        packed = pa.array([b"obey"], pa.binary())
        opened_table.add(row.set_column(row.schema.get_field_index("packed"), "packed", packed))
    else:
        opened_table.update(where=where, values=values)
    (listed,) = head.versions
    listed["tables"][table] = opened_table.version
    assert tables.exchange(head, Head(head.generation + 1, head.last_file, [listed]))
    note, equal = seeded(site.parent, site, FILES, "lying")
    assert wanted in note
    assert equal


def test_fetching_can_be_cancelled(tmp_path: Path, site: Path, publisher: Project) -> None:
    with opened(tmp_path / "reader", FILES, tmp_path / "home", str(site)) as reader:
        cancel = CancelToken()

        def stop(progress: Progress) -> None:
            if progress.phase == "fetching":
                cancel.cancel()

        with pytest.raises(CancelledError):
            reader.update(progress=stop, cancel=cancel)
        assert not reader.store.exists
        assert "30 of 30" in reader.update().notes[0]


def test_an_index_of_the_same_files_on_this_machine_is_nearer(
    tmp_path: Path, site: Path, publisher: Project
) -> None:
    with opened(tmp_path / "copy", FILES, tmp_path / "home1", str(site)) as copy:
        assert "taken over from the index of" in copy.update().notes[0]
