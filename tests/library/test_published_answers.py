"""A published index searched where it lies: the specified tables, and the answers of the local index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from findspot import Project
from findspot.core.model import Corpus, Mode, Query
from findspot.core.utc_time import utc_now
from findspot.publishing.published import PublishedIndex, Version
from findspot.publishing.publisher import Publisher
from findspot.research.findings import Inquiry
from shop_project import shop

FIELDS = ["id", "path", "text", "vector", "start_line", "end_line", "content_hash"]
"""Of the specification, in its order."""

QUESTIONS = [
    *(Query(text) for text in ("how is an order paid", "Cart", "where are prices rounded", "send mail")),
    Query("delivery", corpus=Corpus.DOCS),
    Query("total", mode=Mode.KEYWORD, limit=20),
    Query("what is left in stock", mode=Mode.SEMANTIC),
    Query("order", path_filter="**/*.py"),
    Query("order", related=True),
    Query(r"def \\w+_total", mode=Mode.REGEX),
    Query("The order total is wrong when a cart has two items of one price. " * 6),
]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop, published in a folder."""
    folder = tmp_path_factory.mktemp("published")
    store = shop().store
    meta, counts = store.figures()
    files, chunks = (sum(figures[place] for figures in counts.values()) for place in (0, 1))
    version = Version("a" * 40, "main", utc_now(), files, chunks, meta["model"], meta["pipeline"])
    Publisher(PublishedIndex(str(folder))).add(version, store)
    return folder


@pytest.fixture(scope="module")
def readers(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Project]]:
    """Two that have no files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINDSPOT_HOME", str(tmp_path_factory.mktemp("home")))
        folders = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
        projects = [Project(folder, {"store": str(published)}) for folder in folders]
        yield projects
        for project in projects:
            project.close()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda query: query.text[:20])
def test_every_reader_answers_like_the_local_index(readers: list[Project], question: Query) -> None:
    expected = shop().search(question).hits
    assert expected or question.mode is Mode.REGEX
    for reader in readers:
        assert reader.search(question).hits == expected


def test_relations_are_answered_too(readers: list[Project]) -> None:
    asked = Inquiry("who calls Cart")
    expected, found = shop().research(asked), readers[0].research(asked)
    assert found.nodes == expected.nodes
    assert found.edges == expected.edges


def test_the_layout_is_the_specified_one(published: Path) -> None:
    import lancedb

    def table(database: str, name: str) -> Any:
        return lancedb.connect(published / database).open_table(name)

    code, docs = table("index.lancedb", "project_docs"), table("docs.lancedb", "project_docs_prose")
    assert code.schema.names[:7] == docs.schema.names[:7] == FIELDS
    status = shop().status(check_disk=False)
    assert code.count_rows() + docs.count_rows() == status.total_chunks
    assert docs.count_rows() == status.total_doc_chunks
    row = code.search().limit(1).to_list()[0]
    assert len(row["vector"]) == int(str(status.model).rpartition("/")[2])
