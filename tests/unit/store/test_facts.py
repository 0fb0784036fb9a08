"""What files say about names: kept with them, and gone with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from contents import contents, edited_database
from findspot import Project
from findspot.core.facts import Facts, ReferenceFact, names_of, pack, unpack
from findspot.graph import Graph
from graphs import record_of

FILES = {
    "a.py": "from b import helper\n\n\nclass Thing:\n    def go(self):\n        return helper(helper)\n",
    "b.py": "def helper(x):\n    return x.go()\n",
}


def test_facts_survive_being_packed() -> None:
    facts = unpack(record_of("a.py", FILES["a.py"]).facts or b"")
    assert unpack(pack(facts)) == facts
    assert [d.name for d in facts.definitions] == ["Thing", "go"]
    assert [(each.relation, each.name) for each in facts.references] == [
        ("call", "helper"),
        ("value", "helper"),
    ]
    assert facts.imports[0][:3] == ("helper", "b", "helper")


def test_names_count_definitions_and_uses() -> None:
    facts = Facts("", (), (), (), (ReferenceFact("call", "x", "", 1, -1),) * 3)
    assert names_of(facts) == (("x", 0, 3),)


def test_an_index_of_another_revision_is_cut_again_and_keeps_its_vectors(
    make_project: Callable[..., Project],
) -> None:
    project = make_project(FILES)
    project.update()
    fresh = contents(project.store)
    project.store.close()
    with edited_database(project.store.folder) as db:
        db.executescript("DELETE FROM facts; DELETE FROM names;")
        pipeline = db.execute("SELECT value FROM meta WHERE key = 'pipeline'").fetchone()[0]
        older = "2:" + pipeline.partition(":")[2]
        db.execute("UPDATE meta SET value = ? WHERE key = 'pipeline'", (older,))
        db.execute("UPDATE chunks SET vector = zeroblob(length(vector)), scale = 1")
    with project.store.snapshot() as snapshot:
        assert Graph(snapshot).find("helper") == []
    report = project.update()
    assert report.files_indexed == 2
    after = contents(project.store)
    assert after.facts == fresh.facts
    with sqlite3.connect(project.store.database) as db:
        assert db.execute(
            "SELECT COUNT(*) FROM chunks WHERE vector <> zeroblob(length(vector))"
        ).fetchone() == (0,)
    db.close()
    with project.store.snapshot() as snapshot:
        graph = Graph(snapshot)
        assert [edge.source.name for edge in graph.callers(graph.find("helper")[0])] == ["go"]
