"""An index on an object store: one indexer, readers on other machines.

The server is a real one on loopback; a machine is a folder of its own with a store that reads it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contents import contents, put, record, write_files
from findspot import Project
from findspot.core.errors import IndexBusyError, IndexNotFoundError, InvalidArgumentError
from findspot.core.model import Corpus, IndexState, Query
from findspot.core.settings import StoreSettings
from findspot.store.lance import local_copy
from findspot.store.lance.lance_format import CODE_TABLE, FILES_TABLE
from findspot.store.lance.lance_store import LanceStore
from findspot.store.lance.lance_tables import Draft, Tables
from findspot.store.stores import attach, convert
from object_server import CREDENTIALS, Bucket
from shop_project import shop

Machine = Callable[[str], LanceStore]


@pytest.fixture(scope="module", autouse=True)
def bucket() -> Iterator[None]:
    """One for all tests of this module, each with a prefix of its own."""
    bucket = Bucket()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": bucket.endpoint}.items():
            patch.setenv(name, value)
        patch.setattr(local_copy, "PATIENCE_S", 600.0)  # however busy the machine is
        yield
    bucket.server.stop()


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Machine:
    """The store as a machine of that name opens it."""
    address = f"s3://bucket/{request.node.name}"
    return lambda name: LanceStore(tmp_path / name, "p", address)


def test_what_one_machine_indexes_others_read(machine: Machine) -> None:
    builder, reader = machine("builder"), machine("reader")
    assert not reader.exists
    with pytest.raises(IndexNotFoundError), reader.snapshot():
        pass
    put(
        builder,
        record("a.py", "alpha", names=("Thing",), outline=True),
        record("b.md", "x", corpus=Corpus.DOCS),
    )
    reader.close()  # whoever asked a moment ago would wait for the next look
    assert reader.exists
    assert contents(reader) == contents(builder)
    put(builder, record("a.py", "changed"), record("c.py", "new"))
    assert list(contents(machine("third")).files) == ["a.py", "b.md", "c.py"]
    reader.close()
    assert contents(reader) == contents(builder)
    builder.maintenance.delete()
    with pytest.raises(IndexNotFoundError), machine("fourth").snapshot():
        pass


def test_of_two_indexers_the_first_to_commit_goes_on(machine: Machine) -> None:
    first, second = machine("first"), machine("second")
    put(first, record("a.py", "start"))
    with first.writer() as ours, second.writer() as theirs:
        ours.put(record("b.py", "ours"))
        theirs.put(record("b.py", "theirs"))
        ours.commit()
        with pytest.raises(IndexBusyError):
            theirs.commit()
        ours.put(record("c.py", "goes on"))
        ours.commit()
    put(second, record("d.py", "later"))
    first.close()
    assert contents(first) == contents(second) == contents(machine("third"))
    assert {row[6] for row in contents(second).chunks} == {"start", "ours", "goes on", "later"}


def test_what_another_indexer_left_in_the_tables_is_undone(machine: Machine) -> None:
    """As when it died before its head, also between two commits of ours."""
    store = machine("first")
    put(store, record("a.py", "start"))
    head = store.tables.head()
    assert head is not None
    with store.writer() as writer:
        writer.put(record("b.py", "one"))
        writer.commit()
        dead = Draft(Tables(str(store.tables.location)), head)
        dead.delete(FILES_TABLE, "id", [1])
        dead.empty(CODE_TABLE)
        writer.put(record("c.py", "two"))
        writer.commit()
    assert {row[6] for row in contents(machine("second")).chunks} == {"start", "one", "two"}


def test_many_indexers_at_once_end_in_one_index(machine: Machine) -> None:
    put(machine("m0"), record("start.py", "start"))
    committed: list[str] = []

    def work(name: str) -> None:
        store = machine(name)
        for turn in range(3):
            try:
                put(store, record(f"{name}{turn}.py", f"{name} {turn}"))
                committed.append(f"{name} {turn}")
            except IndexBusyError:
                continue

    threads = [threading.Thread(target=work, args=(f"m{n}",)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert committed
    assert {row[6] for row in contents(machine("reader")).chunks} == {"start", *committed}


def test_upkeep_leaves_few_parts_and_every_row(machine: Machine) -> None:
    store = machine("builder")
    with store.writer() as writer:
        for turn in range(12):
            writer.put(record(f"{turn % 4}.py", f"text {turn}", "more"))
            writer.commit()
    before = contents(store)
    store.maintenance.tidy()
    table = store.tables.open(CODE_TABLE)
    assert table is not None
    assert table.stats()["fragment_stats"]["num_fragments"] == 1
    assert contents(machine("reader")) == contents(store) == before


def test_a_project_is_indexed_to_and_searched_from_a_bucket(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second machine has its own checkout, knows the address, and indexes nothing."""
    files = {"src/greet.py": "def greet(name):\n    return 'hello'\n", "README.md": "# Small\n\nGreets.\n"}
    for name in ("one", "two"):
        (tmp_path / name / "small").mkdir(parents=True)
        write_files(tmp_path / name / "small", files)
    builder = Project(tmp_path / "one/small", {"store": "s3://bucket/{project}"})
    assert builder.update().files_indexed == 2
    builder.close()
    again = Project(tmp_path / "one/small")  # the address is kept with the index
    assert again.status().state is IndexState.READY
    assert again.status().total_files == 2

    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "other-home"))
    reader = Project(tmp_path / "two/small", {"storeUri": "s3://bucket/{project}"})
    assert reader.search(Query("greet somebody")).hits[0].path == "src/greet.py"
    with pytest.raises(InvalidArgumentError, match="index at s3://bucket/small already"):
        convert(shop().store, StoreSettings("s3://bucket/small", None), "p")
    with pytest.raises(IndexNotFoundError):
        attach(reader.store, StoreSettings("s3://bucket/nothing", None), "p")
    attach(reader.store, StoreSettings("s3://bucket/small", None), "p")
    assert Project(reader.root).store.remote
    write_files(reader.root, {"src/part.py": "def part():\n    return 1\n"})
    report = reader.update()
    assert (report.files_indexed, report.files_unchanged) == (1, 2)
    again.store.close()
    assert again.files()[1] == 2  # one that is listed there and not on this disk is not shown
    with again.store.snapshot() as snapshot:
        assert [file.path for file in snapshot.files.files] == ["README.md", "src/greet.py", "src/part.py"]
    again.close()
    reader.close()
