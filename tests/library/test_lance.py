"""Projects kept in LanceDB: the specified layout, tables of other programs, the same answers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contents import contents, put, record, vector_of
from findspot import Project
from findspot.core.errors import ModelMismatchError
from findspot.core.files import content_hash
from findspot.core.model import Corpus, IndexState, Mode, Query
from findspot.store.lance.lance_store import LanceStore
from shop_project import shop

MakeProject = Callable[..., Project]

FIELDS = ["id", "path", "text", "vector", "start_line", "end_line", "content_hash"]
"""Of the specification, in its order."""


def connect(folder: Path) -> Any:
    """Open a database as another program does; importing lancedb takes seconds."""
    import lancedb

    return lancedb.connect(folder)


def table_of(rows: list[dict[str, object]]) -> Any:
    """Return rows with the fields and types of the specification."""
    import pyarrow as pa

    specified = pa.schema(
        [
            ("id", pa.string()),
            ("path", pa.string()),
            ("text", pa.string()),
            ("vector", pa.list_(pa.float32(), 384)),
            ("start_line", pa.int32()),
            ("end_line", pa.int32()),
            ("content_hash", pa.string()),
        ]
    )
    return pa.Table.from_pylist(rows, specified)


@pytest.fixture(scope="module")
def in_lance(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The shop, indexed in LanceDB."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINDSPOT_HOME", str(tmp_path_factory.mktemp("home")))
        project = Project(shop().root, {"store": "lancedb"})
        project.update()
    return project


def test_both_stores_hold_the_same_and_answer_the_same(in_lance: Project) -> None:
    assert contents(in_lance.store) == contents(shop().store)
    questions = [
        *(Query(text) for text in ("how is an order paid", "Cart", "where are prices rounded", "send mail")),
        Query("delivery", corpus=Corpus.DOCS),
        Query("total", mode=Mode.KEYWORD, limit=20),
        Query("what is left in stock", mode=Mode.SEMANTIC),
        Query("order", path_filter="**/*.py"),
    ]
    for question in questions:
        expected = shop().search(question).hits
        assert expected
        assert in_lance.search(question).hits == expected


def test_the_layout_is_the_specified_one(in_lance: Project) -> None:
    folder = in_lance.store.folder
    code = connect(folder / "index.lancedb").open_table("project_docs")
    docs = connect(folder / "docs.lancedb").open_table("project_docs_prose")
    assert code.schema.names[:7] == docs.schema.names[:7] == FIELDS
    status = in_lance.status()
    assert status.store == "lancedb"
    assert code.count_rows() + docs.count_rows() == status.total_chunks
    assert docs.count_rows() == status.total_doc_chunks
    hashes = {}
    for name, table in (("fingerprints.json", code), ("docs-fingerprints.json", docs)):
        fingerprints = json.loads((folder / name).read_text())
        for row in table.search().select(["id", "path", "content_hash", "text"]).limit(10_000).to_list():
            assert fingerprints[row["path"]] == row["content_hash"]
            assert uuid.UUID(row["id"])
        hashes |= fingerprints
    assert all(content_hash((in_lance.root / path).read_bytes()) == sha for path, sha in hashes.items())
    metadata = json.loads((folder / "metadata.json").read_text())
    assert metadata["stats"]["totalChunks"] == code.count_rows() + docs.count_rows()
    assert metadata["docsStats"]["totalDocChunks"] == docs.count_rows()
    assert metadata["docsStats"]["docsStorageSizeBytes"] > 0


def rows_of(root: Path, *paths: str) -> list[dict[str, object]]:
    """Each file as one chunk, as the specification's own program would store it."""
    rows = []
    for path in paths:
        text = (root / path).read_text()
        vector = np.random.default_rng(len(text)).normal(size=384).astype(np.float32)
        rows.append(
            {
                "id": str(uuid.uuid4()),
                "path": path,
                "text": text,
                "vector": vector / np.linalg.norm(vector),
                "start_line": 1,
                "end_line": text.count("\n"),
                "content_hash": content_hash(text.encode()),
            }
        )
    return rows


def test_tables_of_another_program_open_and_can_be_searched(make_project: MakeProject) -> None:
    """Made by plain calls of lancedb from the specification's fields, with no file of ours beside them."""
    project = make_project(
        {
            "src/greet.py": "def greet(name):\n    return f'hello {name}'\n",
            "src/count.py": "def count(items):\n    return len(items)\n",
            "README.md": "# Small\n\nA project that greets visitors.\n",
        }
    )
    root, folder = project.root, project.store.folder
    code = table_of(rows_of(root, "src/greet.py", "src/count.py"))
    connect(folder / "index.lancedb").create_table("project_docs", code)
    docs = table_of(rows_of(root, "README.md"))
    connect(folder / "docs.lancedb").create_table("project_docs_prose", docs)

    opened = Project(root)
    status = opened.status()
    assert (status.state, status.store) == (IndexState.READY, "lancedb")
    assert (status.total_files, status.total_docs, status.total_chunks) == (3, 1, 3)
    found = opened.search(Query("greet a visitor by name"))
    assert found.hits[0].path == "src/greet.py"
    assert "by words alone" in (found.warning or "")
    assert opened.search(Query("visitors", corpus=Corpus.DOCS)).hits[0].path == "README.md"
    assert opened.search(Query("len(items)", mode=Mode.REGEX)).total == 0
    assert opened.search(Query(r"len\(items\)", mode=Mode.REGEX)).hits[0].path == "src/count.py"
    assert opened.files("src/*.py")[1] == 2

    with pytest.raises(ModelMismatchError):
        opened.update()
    with pytest.raises(ModelMismatchError):
        opened.search(Query("greet", mode=Mode.SEMANTIC))
    assert opened.update(force=True).files_indexed == 3
    again = opened.search(Query("greet a visitor by name"))
    assert again.hits[0].path == "src/greet.py"
    assert again.warning is None
    assert opened.search(Query("greet", mode=Mode.SEMANTIC)).hits
    opened.close()


def test_rows_that_another_program_adds_are_seen(make_project: MakeProject) -> None:
    project = make_project({"a.py": "def alpha(): ...\n", "b.py": "def beta(): ...\n"})
    database = connect(project.store.folder / "index.lancedb")
    table = database.create_table("project_docs", table_of(rows_of(project.root, "a.py")))
    opened = Project(project.root)
    assert opened.files()[0] == ["a.py"]
    table.add(table_of(rows_of(project.root, "b.py")))
    assert opened.files()[0] == ["a.py", "b.py"]
    opened.close()


def test_large_tables_get_an_approximate_index_for_other_programs(tmp_path: Path) -> None:
    store = LanceStore(tmp_path / "index", "p")
    put(store, *(record(f"{n}.py", *(f"text {n} {place}" for place in range(30))) for n in range(12)))
    before = contents(store)
    with store.writer() as writer:
        writer.tidy(now=True, ann_rows=300)
    table = connect(store.folder / "index.lancedb").open_table("project_docs")
    assert [index.columns for index in table.list_indices()] == [["vector"]]
    wanted = vector_of("text 7 7").astype(np.float32)
    (nearest,) = table.search(wanted).distance_type("cosine").limit(1).to_list()
    assert nearest["text"] == "text 7 7"
    put(store, record("new.py", "text after that"))
    put(store, record("7.py", "changed"))
    assert contents(LanceStore(store.folder, "p")) == contents(store) != before
