"""Resolving with a second process gives what one process gives."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from findspot import Engine
from findspot.core.progress import CancelToken
from findspot.graph import second_resolver, starting_second, stored_edges
from findspot.store.sqlite_store import SqliteStore

FILES = 30


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(FILES):
        called = (number + 1) % FILES
        text = f"from m{called} import f{called}\n\n\ndef f{number}():\n    return f{called}()\n"
        (project / f"m{number}.py").write_text(text)
    with closing(Engine()) as engine:
        opened = engine.project(project)
        opened.update()
        found = opened.index.store
    assert isinstance(found, SqliteStore)
    return found


def resolve(
    store: SqliteStore, second: second_resolver.SecondResolver | None = None
) -> list[tuple[object, ...]]:
    """Resolve everything again, and return what is stored."""
    with store.writer() as writer:
        with writer.storing_edges() as edges:
            edges.clear()
        writer.commit()
        stored_edges.store_edges(store, writer, CancelToken(), second=second)
        with writer.storing_edges() as edges:
            assert edges.pending() == set()
            return edges.db.execute("SELECT target, file_id, data FROM edges ORDER BY 1, 2").fetchall()


def test_two_processes_store_the_same_edges(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = resolve(store)
    assert len(alone) >= FILES
    monkeypatch.setattr(second_resolver, "MANY", FILES)
    assert resolve(store) == alone


def test_a_process_that_was_started_before_helps(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = resolve(store)
    monkeypatch.setattr(second_resolver, "MANY", FILES)
    with starting_second(store, FILES - 1) as none:
        assert none is None
    with starting_second(store, FILES) as second:
        assert second is not None
        assert resolve(store, second) == alone
    with starting_second(store, FILES) as unused:
        assert unused is not None


def test_a_second_process_that_fails_is_done_without(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = resolve(store)
    monkeypatch.setattr(second_resolver, "MANY", FILES)
    monkeypatch.setattr(second_resolver, "_CODE", "raise SystemExit(3)")
    assert resolve(store) == alone


def test_the_second_process_resolves_what_it_is_given(store: SqliteStore) -> None:
    with store.snapshot() as snapshot:
        numbers = sorted(snapshot.files.by_id)
        resolver = stored_edges.FileResolver(snapshot)
        expected = {number: resolver.edges_of(number) for number in numbers}
    with closing(second_resolver.SecondResolver()) as second:
        second.begin(store.folder, numbers)
        assert second._thread is not None
        second._thread.join()  # it ends with the last answer
        answers = {answer.file_id: (answer.sources, answer.edges) for answer in second.resolved()}
    assert answers == expected
