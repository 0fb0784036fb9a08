"""A published index on an object store: publishers add versions, readers elsewhere search them.

The server is a real one on loopback; a machine is a folder of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from contents import Contents, contents, put, record
from findspot.core.errors import IndexNotFoundError, InvalidArgumentError
from findspot.core.model import Corpus, Skip, SkipReason
from findspot.publishing import published_store
from findspot.publishing.published import PublishedIndex, Version
from findspot.publishing.published_store import PublishedStore
from findspot.publishing.publisher import Publisher
from findspot.store.lance import lance_tables
from findspot.store.lance.lance_format import CODE_TABLE, FILES_TABLE, schema_of
from findspot.store.lance.lance_tables import Draft, WritableTables
from findspot.store.sqlite_store import SqliteStore
from findspot.store.store_protocol import Store
from object_server import CREDENTIALS, Bucket

A, B, C = (letter * 40 for letter in "abc")
Machine = Callable[[str], SqliteStore]


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    """One for all tests of this module, each with a prefix of its own."""
    bucket = Bucket()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": bucket.endpoint}.items():
            patch.setenv(name, value)
        yield bucket
    bucket.server.stop()


@pytest.fixture(autouse=True)
def _looks_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_store, "LOOK_EVERY_S", 0.0)


@pytest.fixture
def published(tmp_path: Path) -> PublishedIndex:
    """In a folder, which answers sooner than a server."""
    return PublishedIndex(str(tmp_path / "published"))


@pytest.fixture
def on_server(bucket: Bucket, request: pytest.FixtureRequest) -> PublishedIndex:
    return PublishedIndex(f"s3://bucket/{request.node.name}")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """The index of a machine of that name."""
    return lambda name: SqliteStore(tmp_path / name, "p")


def version(commit: str, branch: str = "main", at: int = 1) -> Version:
    return Version(commit, branch, f"2026-01-01T00:00:{at:02}Z", 1, 1, "some/64", "p1")


def reader(published: PublishedIndex, folder: Path) -> PublishedStore:
    return PublishedStore(folder, folder, PublishedIndex(published.address))


def held_by(published: PublishedIndex, wanted: Version) -> Contents:
    """What one version holds."""
    (entry,) = (each for each in published.entries() if each.version.key == wanted.key)
    opened = SimpleNamespace(snapshot=lambda: contextlib.nullcontext(published.snapshot(entry)))
    return contents(cast(Store, opened))


def objects(published: PublishedIndex) -> int:
    return sum(path.is_file() for path in Path(published.address).rglob("*"))


def test_each_version_is_read_as_it_was_published(
    on_server: PublishedIndex, machine: Machine, tmp_path: Path
) -> None:
    """Teams 3: a branch sends only the files in which it differs, and no version changes another."""
    builder = machine("builder")
    put(
        builder,
        record("a.py", "alpha", names=("Thing",), outline=True),
        record("same.py", "same", "more"),
        record("b.md", "prose", corpus=Corpus.DOCS),
    )
    with builder.writer() as writer:
        writer.skips.add([Skip("d.py", SkipReason.EMPTY)])
        writer.commit()
    first = contents(builder)
    assert Publisher(on_server).add(version(A), builder)[0] == 3
    again = Publisher(on_server).add(version(B, at=2), builder)
    assert again == (0, 0)

    put(builder, record("a.py", "changed on a branch"), record("new.py", "new"))
    branch = contents(builder)
    assert Publisher(on_server).add(version(C, "topic", at=3), builder)[0] == 2

    put(builder, record("a.py", "alpha", names=("Thing",), outline=True), record("main.py", "main"))
    with builder.writer() as writer:
        writer.remove("new.py")
        writer.commit()
    last = contents(builder)
    assert Publisher(on_server).add(version("d" * 40, at=4), builder)[0] == 1

    listed = {each.commit: each for each in PublishedIndex(on_server.address).versions()}
    assert list(listed) == ["d" * 40, C, B, A]
    assert held_by(on_server, listed[A]) == first
    assert held_by(on_server, listed[B]) == first
    assert held_by(on_server, listed[C]) == branch
    assert held_by(on_server, listed["d" * 40]) == last


def test_a_reader_without_files_follows_what_is_published(
    on_server: PublishedIndex, machine: Machine, tmp_path: Path
) -> None:
    copy = reader(on_server, tmp_path / "reader")
    assert not copy.exists
    with pytest.raises(IndexNotFoundError), copy.snapshot():
        pass
    builder = machine("builder")
    put(builder, record("a.py", "alpha"), record("b.md", "x", corpus=Corpus.DOCS))
    Publisher(on_server).add(version(A), builder)
    copy = reader(on_server, tmp_path / "reader")
    assert copy.exists
    assert contents(copy) == contents(builder)
    assert "commit aaaaaaa of main" in copy.notice
    put(builder, record("a.py", "changed"), record("c.py", "new"))
    Publisher(on_server).add(version(B, at=2), builder)
    put(builder, record("a.py", "of a topic"))
    Publisher(on_server).add(version(C, "topic", at=3), builder)
    with copy.snapshot() as snapshot:
        assert [file.path for file in snapshot.files.files] == ["a.py", "b.md", "c.py"]
        assert [chunk.text for chunk in snapshot.chunks.of_file("a.py")] == ["changed"]
    assert "commit bbbbbbb of main" in copy.notice
    with pytest.raises(InvalidArgumentError):
        copy.writer()
    copy.delete()
    assert len(on_server.versions()) == 3


def test_another_model_replaces_every_row_and_leaves_older_versions(
    published: PublishedIndex, machine: Machine, tmp_path: Path
) -> None:
    builder = machine("builder")
    put(builder, record("a.py", "alpha"))
    Publisher(published).add(version(A), builder)
    copy = reader(published, tmp_path / "reader")
    assert contents(copy) == contents(builder)
    other = replace(version(A, at=2), model="other/64")
    assert Publisher(published).add(other, builder)[0] == 1
    assert contents(copy) == contents(builder)
    assert len(published.versions()) == 2
    assert held_by(published, version(A)) == contents(builder)


def test_versions_are_removed_with_what_only_they_used(
    published: PublishedIndex,
    machine: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lance_tables, "KEEP_VERSIONS", timedelta(0))
    builder = machine("builder")
    held = []
    for turn in range(5):
        put(builder, record("a.py", f"text {turn}"), record(f"{turn}.py", "more"))
        Publisher(published).add(version(f"{turn}" * 40, at=turn), builder)
        held.append(contents(builder))
    Publisher(published).remove(published.versions()[3:])
    left = published.versions()
    assert [each.commit[0] for each in left] == ["4", "3", "2"]
    for each in left:
        turn = int(each.commit[0])
        assert held_by(published, each) == held[turn]
    before = objects(published)
    monkeypatch.setattr(lance_tables, "_CLOCKS_DIFFER", timedelta(0))
    Publisher(published).remove(left[1:])
    assert objects(published) < before
    Publisher(published).add(version("9" * 40, at=9), builder)
    assert held_by(published, published.versions()[0]) == held[-1]


def test_what_a_killed_publisher_left_is_undone(
    published: PublishedIndex, machine: Machine, tmp_path: Path
) -> None:
    """As when it died before its head; readers never see it, and the next publisher goes on."""
    builder = machine("builder")
    put(builder, record("a.py", "start"))
    Publisher(published).add(version(A), builder)
    tables = WritableTables(published.address)
    head = tables.head()
    assert head is not None
    dead = Draft(tables, head.versions[0]["tables"])
    dead.delete(FILES_TABLE, [1])
    dead.add(CODE_TABLE, schema_of(CODE_TABLE).empty_table(), instead=True)
    assert {row[6] for row in held_by(published, version(A)).chunks} == {"start"}
    put(builder, record("b.py", "one"))
    assert Publisher(published).add(version(B, at=2), builder)[0] == 1
    assert {row[6] for row in held_by(published, version(A)).chunks} == {"start"}
    assert {row[6] for row in held_by(published, version(B)).chunks} == {"start", "one"}


def test_tables_of_another_program_are_not_published_over(
    published: PublishedIndex, machine: Machine
) -> None:
    WritableTables(published.address).make(CODE_TABLE)
    put(machine("builder"), record("a.py", "start"))
    with pytest.raises(InvalidArgumentError, match="another program"):
        Publisher(published).add(version(A), machine("builder"))
