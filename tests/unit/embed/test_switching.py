"""Indexing with a service, and changing an index from one model to another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot import Engine, Query
from findspot.core.errors import ProviderError
from findspot.core.model import IndexState, Mode
from loopback import DIMENSIONS, Loopback, Reply, Request, embed_service

FILES = {
    "pyproject.toml": "[project]\nname = 'small'\n",
    "src/area.py": "def area(radius):\n    return 3.14 * radius ** 2\n",
    "src/empty_names.py": "print('nothing is defined here')\n",
    "docs/guide.md": "# Guide\n\nHow areas are worked out.\n",
}


@pytest.fixture
def service() -> Iterator[Loopback]:
    server = Loopback(embed_service)
    yield server
    server.close()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    for path, text in FILES.items():
        (tmp_path / "project" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / path).write_text(text)
    return tmp_path / "project"


@pytest.fixture
def engine() -> Iterator[Engine]:
    opened = Engine()
    yield opened
    opened.close()


@pytest.fixture
def by_http(service: Loopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    monkeypatch.setenv("FINDSPOT_EMBEDDING_PROVIDER", "http")
    monkeypatch.setenv("FINDSPOT_EMBEDDING_ENDPOINT", service.url)
    return service


def test_words_and_patterns_ask_no_service(by_http: Loopback, engine: Engine, root: Path) -> None:
    engine.project(root).update()
    engine.close()
    asked = len(by_http.requests)
    fresh = Engine()
    queries = (
        Query("area radius", mode=Mode.KEYWORD),
        Query("area radius", semantic_weight=0.0),
        Query(r"def \w+", mode=Mode.REGEX),
        Query("", similar_to="src/area.py:1-2"),
    )
    for query in queries:
        results = fresh.project(root).search(query)
        assert results.hits
    keyword = fresh.project(root).search(queries[0]).hits[0]
    assert (keyword.path, keyword.score > 0.3) == ("src/area.py", True)
    assert fresh.project(root).status().query_ready
    assert len(by_http.requests) == asked
    fresh.close()


def test_a_service_embeds_what_workers_cut(by_http: Loopback, engine: Engine, root: Path) -> None:
    project = engine.project(root)
    report = project.update()
    assert report.total_files == len(FILES)
    sent = [text for asked in by_http.requests if asked.method == "POST" for text in asked.body["texts"]]
    assert "src/area.py" in sent
    assert "" not in sent
    assert {
        asked.body["mode"] for asked in by_http.requests if asked.body and len(asked.body["texts"]) > 1
    } == {"passage"}
    results = project.search(Query("area of a circle", mode=Mode.SEMANTIC))
    assert by_http.requests[-1].body == {"texts": ["area of a circle"], "mode": "query"}
    assert {hit.path for hit in results.hits} == {"pyproject.toml", "src/area.py", "src/empty_names.py"}
    before = len(by_http.requests)
    (root / "src/area.py").write_text("def area(radius):\n    return 3.14 * radius * radius\n")
    project.update()
    again = [text for asked in by_http.requests[before:] for text in asked.body["texts"]]
    assert not any("nothing is defined" in text for text in again)


def fails_on_chunks(request: Request) -> Reply:
    is_question = bool(request.body) and request.body["mode"] == "query"
    return embed_service(request) if is_question else Reply(503, "busy")


def test_a_service_that_fails_leaves_nothing_half_indexed(
    by_http: Loopback, engine: Engine, root: Path
) -> None:
    project = engine.project(root)
    by_http.answer = fails_on_chunks
    with pytest.raises(ProviderError, match="HTTP status 503") as caught:
        project.update()
    assert "The service runs, but not as" in caught.value.hint
    status = project.status()
    assert status.state is IndexState.INCOMPLETE
    assert status.total_chunks == 0
    assert "provider failed" in (status.last_error or "")


def test_changing_the_model_builds_the_index_anew(
    engine: Engine, root: Path, service: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = engine.project(root)
    project.update()
    model = project.status().model
    static = project.search(Query("area of a circle")).hits
    monkeypatch.setenv("FINDSPOT_EMBEDDING_PROVIDER", "http")
    monkeypatch.setenv("FINDSPOT_EMBEDDING_ENDPOINT", service.url)
    report = project.update(force=True)
    assert (report.files_indexed, report.files_unchanged) == (len(FILES), 0)
    assert report.chunks_created == project.status().total_chunks
    assert project.status().model == f"http@{service.url}/embed/{DIMENSIONS}"
    assert project.search(Query("area of a circle", mode=Mode.SEMANTIC)).hits
    monkeypatch.delenv("FINDSPOT_EMBEDDING_PROVIDER")
    project.update(force=True)
    assert project.status().model == model
    assert project.search(Query("area of a circle")).hits == static


def test_a_change_to_a_model_that_does_not_answer_leaves_the_index(
    engine: Engine, root: Path, by_http: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FINDSPOT_EMBEDDING_PROVIDER")
    project = engine.project(root)
    project.update()
    before = project.search(Query("area of a circle")).hits
    by_http.answer = fails_on_chunks
    monkeypatch.setenv("FINDSPOT_EMBEDDING_PROVIDER", "http")
    with pytest.raises(ProviderError):
        project.update(force=True)
    monkeypatch.delenv("FINDSPOT_EMBEDDING_PROVIDER")
    assert project.status().state is IndexState.READY
    assert project.search(Query("area of a circle")).hits == before
