"""What graphs keep for each other: files for as long as they live, and no more than there is room for."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from findspot.graph import Graph
from findspot.graph.resolve import MAX_CANDIDATES
from findspot.graph.sources import project_table, tables_of
from findspot.graph.stored_edges import FileResolver
from findspot.store.sqlite_store import SqliteStore
from graphs import record_of, stored

FILES = {
    "a.py": "from b import helper\n\n\ndef go():\n    return helper()\n",
    "b.py": "def helper():\n    return 1\n",
}


def callees(store: SqliteStore, name: str = "go") -> list[str]:
    with store.snapshot() as snapshot:
        graph = Graph(snapshot)
        return [edge.target.name for node in graph.find(name) for edge in graph.callees(node)]


def test_a_commit_costs_the_files_that_it_changed(tmp_path: Path) -> None:
    store = stored(FILES, tmp_path)
    assert callees(store) == ["helper"]
    with store.snapshot() as snapshot:
        before = {view.path: view for view in tables_of(snapshot).views.values() if view}
    with store.writer() as writer:
        writer.put(record_of("b.py", "def helper():\n    return 2\n\n\ndef also():\n    return helper()\n"))
        writer.commit()
    assert callees(store) == ["helper"]
    with store.snapshot() as snapshot:
        after = {view.path: view for view in tables_of(snapshot).views.values() if view}
    assert after["a.py"] is before["a.py"]
    assert after["b.py"] is not before["b.py"]
    store.close()


def test_what_follows_from_paths_is_kept_until_paths_or_settings_change(tmp_path: Path) -> None:
    """speed 4: an edit does not look at every path of the project again."""
    store = stored({**FILES, "package.json": '{"name": "one"}\n'}, tmp_path)
    tables = [_project_table(store)]
    for path, text in {
        "b.py": "def helper():\n    return 2\n",
        "package.json": '{"name": "two"}\n',
        "c.py": "def new():\n    return 3\n",
    }.items():
        with store.writer() as writer:
            writer.put(record_of(path, text))
            writer.commit()
        tables.append(_project_table(store))
    assert [later is earlier for earlier, later in pairwise(tables)] == [True, False, False]
    store.close()


def _project_table(store: SqliteStore) -> dict[Any, Any]:
    assert callees(store) == ["helper"]
    with store.snapshot() as snapshot:
        return project_table(snapshot)


def _numbered(path: str, text: str, many: int = 100) -> dict[str, str]:
    return {path.replace("%", str(number)): text.replace("%", str(number)) for number in range(many)}


COMMON = {
    "a method of an unknown receiver": (
        {"a.py": "def go(thing):\n    thing.handle()\n"},
        _numbered("b%.py", "class B%:\n    def handle(self):\n        pass\n"),
        MAX_CANDIDATES + 2,
    ),
    "a function of the same folder": (
        {"a/a.go": "package a\n\nfunc Go() { start() }\n", "a/b.go": "package a\n\nfunc start() {}\n"},
        _numbered("p%/p.go", "package p%\n\nfunc start() {}\n"),
        2,
    ),
    "a name that others have inside of types": (
        {"a.cs": "class A { void Go() { Handle(); } }\n"},
        _numbered("b%.cs", "class B% { void Handle() {} }\n"),
        1,
    ),
    "a type of one package": (
        {"a.java": "package a;\nimport p7.Shop;\nclass A { Shop shop; }\n"},
        _numbered("p%/Shop.java", "package p%;\npublic class Shop {}\n"),
        2,
    ),
    "a call that is found by name": (
        {"a.rb": "def go(thing)\n  thing.handled\nend\n"},
        _numbered("b%.rb", "class B%\n  def handled\n  end\nend\n"),
        MAX_CANDIDATES + 2,
    ),
    "a type that others add nothing to": (
        {"a.js": "class A {\n  run() {}\n}\nA.prototype.walk = function () {};\nnew A().walk();\n"},
        _numbered("b%.js", "class A {\n  run() {}\n}\nnew A().run();\n"),
        1,
    ),
    "what another language defines": (
        {"a.py": "def go(thing):\n    thing.handle()\n"},
        _numbered("b%.js", "class B% {\n  handle() {}\n}\n"),
        1,
    ),
}


@pytest.mark.parametrize("case", COMMON)
def test_a_common_name_decodes_only_files_that_it_can_mean(case: str, tmp_path: Path) -> None:
    """speed 7: else each file of a large project decodes thousands of others, again and again."""
    files, others, most = COMMON[case]
    store = stored(files | others, tmp_path, resolve=False)
    with store.snapshot() as snapshot:
        resolver = FileResolver(snapshot)
        resolver.edges_of(snapshot.files.by_path[next(iter(files))])
        assert len([view for view in resolver.tables.views.values() if view]) <= most
    store.close()
