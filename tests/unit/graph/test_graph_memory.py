"""What graphs keep for each other: files for as long as they live, and no more than there is room for."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.graph import Graph, shared_tables
from findspot.graph.shared_tables import tables_of
from findspot.store.sqlite_store import SqliteStore
from graphs import record_of, stored

FILES = {
    "a.py": "from b import helper\n\n\ndef go():\n    return helper()\n",
    "b.py": "def helper():\n    return 1\n",
}


def callers(store: SqliteStore) -> list[str]:
    with store.snapshot() as snapshot:
        graph = Graph(snapshot)
        return [edge.source.name for node in graph.find("helper") for edge in graph.callers(node)]


def test_a_commit_costs_the_files_that_it_changed(tmp_path: Path) -> None:
    store = stored(FILES, tmp_path)
    assert callers(store) == ["go"]
    with store.snapshot() as snapshot:
        before = {view.path: view for view in tables_of(snapshot).views.values() if view}
    with store.writer() as writer:
        writer.put(record_of("b.py", "def helper():\n    return 2\n\n\ndef also():\n    return helper()\n"))
        writer.commit()
    assert callers(store) == ["go", "also"]
    with store.snapshot() as snapshot:
        after = {view.path: view for view in tables_of(snapshot).views.values() if view}
    assert after["a.py"] is before["a.py"]
    assert after["b.py"] is not before["b.py"]
    store.close()


def test_too_much_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = stored(FILES, tmp_path)
    monkeypatch.setattr(shared_tables, "MOST_FILES", 1)
    assert callers(store) == ["go"]
    with store.snapshot() as snapshot:
        assert tables_of(snapshot).views == {}
    assert callers(store) == ["go"]
    store.close()
