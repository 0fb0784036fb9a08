"""With a slow model, vectors of unchanged text come from a published index, and nothing else does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from contents import contents, write_files
from findspot import Project, Query
from findspot.core.utc_time import utc_now
from findspot.publishing.published import PublishedIndex, Version
from findspot.publishing.publisher import Publisher
from findspot.store.lance.lance_format import CODE_TABLE
from findspot.store.lance.lance_tables import Head, WritableTables
from loopback import Loopback, embed_service

FILES = {f"m{n}.py": f"def function_{n}(value):\n    return value + {n}\n" for n in range(30)}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    server = Loopback(embed_service)
    monkeypatch.setenv("FINDSPOT_EMBEDDING_PROVIDER", "http")
    monkeypatch.setenv("FINDSPOT_EMBEDDING_ENDPOINT", server.url)
    yield server
    server.close()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder that an index is published in."""
    return tmp_path / "site"


@contextlib.contextmanager
def opened(root: Path, files: dict[str, str], home: Path, address: str = "") -> Iterator[Project]:
    """A project of some files with a home of its own, which may take vectors from an address."""
    root.mkdir(exist_ok=True)
    write_files(root, files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINDSPOT_HOME", str(home))
        with contextlib.closing(Project(root, {"store": address} if address else None)) as project:
            yield project


@pytest.fixture
def publisher(tmp_path: Path, site: Path, service: Loopback) -> Iterator[Project]:
    with opened(tmp_path / "publisher", FILES, tmp_path / "home1") as project:
        project.update()
        meta, counts = project.store.figures()
        files, chunks = (sum(column) for column in zip(*counts.values(), strict=True))
        version = Version("a" * 40, "main", utc_now(), files, chunks, meta["model"], meta["pipeline"])
        Publisher(PublishedIndex(str(site))).add(version, project.store)
        service.requests.clear()
        yield project


def embedded_texts(service: Loopback) -> list[str]:
    posted = [request.body for request in service.requests if request.method == "POST"]
    return [text for body in posted for text in body["texts"]]


def test_only_what_is_new_is_embedded(
    tmp_path: Path, site: Path, publisher: Project, service: Loopback
) -> None:
    changed = FILES | {"m3.py": "def another(value):\n    return value\n"}
    with opened(tmp_path / "reader", changed, tmp_path / "home2", str(site)) as reader:
        notes = reader.update().notes
        assert notes[0].startswith(f"The vectors of 30 files were taken from {site!s} (commit aaaaaaaaaaaa")
        assert not [text for text in embedded_texts(service) if "function_" in text]
        assert [text for text in embedded_texts(service) if "another" in text]
        taken = contents(reader.store)
    with opened(tmp_path / "reader", changed, tmp_path / "home3") as alone:
        alone.update()
        assert contents(alone.store) == taken


def test_whoever_forges_rows_forges_no_text(
    tmp_path: Path, site: Path, publisher: Project, service: Loopback
) -> None:
    """security 10: texts of an archive were believed. Of these rows, only vectors are looked at."""
    tables = WritableTables(site)
    head, table = tables.head(), tables.open(CODE_TABLE)
    assert head is not None
    assert table is not None
    rows = table.search().to_arrow()
    table.delete("true")
    packed = [data.replace(b"\x00\x00", b"\xff\x00", 1) for data in rows.column("packed").to_pylist()]
    table.add(rows.set_column(rows.schema.get_field_index("packed"), "packed", [packed]))
    (listed,) = head.versions
    listed["tables"][CODE_TABLE] = table.version
    assert tables.exchange(head, Head(head.generation + 1, head.last_file, [listed]))
    with opened(tmp_path / "reader", FILES, tmp_path / "home2", str(site)) as reader:
        reader.update()
        assert contents(reader.store) == contents(publisher.store)


def test_whatever_goes_wrong_is_one_note(
    tmp_path: Path, site: Path, publisher: Project, service: Loopback
) -> None:
    with opened(tmp_path / "reader", FILES, tmp_path / "home2", str(tmp_path / "nowhere")) as reader:
        (note,) = reader.update().notes
        assert "Not all vectors could be taken" in note
        assert "nothing is published there" in note
        assert contents(reader.store) == contents(publisher.store)
    for path in (site / "index.lancedb/files.lance/data").iterdir():
        path.rename(path.with_suffix(".away"))
    with opened(tmp_path / "reader", FILES, tmp_path / "home3", str(site)) as reader:
        assert "Not all vectors could be taken" in reader.update().notes[0]
        assert reader.search(Query("function_7")).hits


def test_a_model_in_the_box_makes_its_own(tmp_path: Path, site: Path, publisher: Project) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINDSPOT_EMBEDDING_PROVIDER", "local:static")
        with opened(tmp_path / "reader", FILES, tmp_path / "home2", str(tmp_path / "nowhere")) as reader:
            assert reader.update().notes == ()
