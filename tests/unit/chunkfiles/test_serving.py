"""Chunk files that change while they are served, and what a project serves."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contents import put, record
from e2e.cortex_files import chunk, file_value, write_file, write_samples
from e2e.harness import until
from e2e.sample import FILES
from findspot import Engine
from findspot.chunkfiles.chunk_reader import ChunkFilesError, FoundChunks, SearchOptions
from findspot.chunkfiles.searcher import ProjectChunks, export_chunks
from findspot.core.errors import ModelMismatchError
from findspot.embed.provider_registry import PROVIDERS
from loopback import Loopback


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    opened = Engine()
    yield opened
    opened.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "project"


@pytest.fixture
def served(engine: Engine, root: Path, service: Loopback, monkeypatch: pytest.MonkeyPatch) -> ProjectChunks:
    write_samples(root / ".cortex" / "chunks")
    monkeypatch.setenv("CORTEX_EMBEDDING_ENDPOINT", service.url)
    return engine.chunks(root)


def ids(chunks: ProjectChunks, query: str = "password", **options: object) -> list[str]:
    return [result.chunk.id for result in chunks.query(query, SearchOptions(**options))]  # type: ignore[arg-type]


def test_a_file_that_is_gone_keeps_the_old_state_and_is_named(served: ProjectChunks, root: Path) -> None:
    before = ids(served)
    (root / ".cortex" / "chunks" / "code-data.json").unlink()
    options = SearchOptions()
    until(lambda: "code-data.json is missing" in (served.query("password", options).warning or ""))
    assert ids(served) == before


def test_files_that_vanish_keep_the_old_state_and_are_followed_when_they_return(
    served: ProjectChunks, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = ids(served)
    folder = root / ".cortex" / "chunks"
    shutil.rmtree(folder)
    until(lambda: ids(served) == before and "There are no chunk files" in caplog.text)
    assert ids(served) == before
    write_file(folder, "code-data.json", file_value("data", [chunk("tea", "password", "data")]))
    until(lambda: ids(served) == ["tea"])


def test_queries_go_on_while_files_are_swapped(served: ProjectChunks, root: Path) -> None:
    folder, stop = root / ".cortex" / "chunks", threading.Event()
    failures: list[BaseException] = []
    ids(served)

    def ask() -> None:
        while not stop.is_set():
            try:
                assert ids(served)
            except BaseException as error:  # noqa: BLE001 - told below, in the test's own thread
                failures.append(error)
                return

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(2):
        value = file_value("data", [chunk(f"tea{turn}", "password", "data")])
        aside = write_file(root, "aside", value)
        aside.replace(folder / "code-data.json")
        until(lambda turn=turn: f"tea{turn}" in ids(served))
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


def told(chunks: ProjectChunks, query: str = "password", **options: Any) -> str:
    found = chunks.query(query, SearchOptions(**options))
    return (found.warning if isinstance(found, FoundChunks) else None) or ""


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("server: [", "cannot be read"),
        ("server: {chunks_dir: ../elsewhere}", "chunksDir"),
        ("embedding: {endpoint: http://example.com/embed}", "endpoint"),
    ],
)
def test_a_config_file_that_is_not_obeyed_is_told(
    served: ProjectChunks, root: Path, config: str, said: str
) -> None:
    """documents A12"""
    (root / ".cortex" / "config.yml").write_text(config)
    assert told(served).startswith(".cortex/config.yml: ")
    assert said in told(served)


def test_an_export_that_is_older_than_the_project_is_told(engine: Engine, root: Path) -> None:
    """documents A9: chunks of a deleted file were returned for ever, and nothing said so."""
    for name in ("kept", "edited", "deleted"):
        (root / f"{name}.py").write_text(f"def password_{name}():\n    return 'password'\n")
    engine.project(root).update()
    with engine.project(root).store.snapshot() as snapshot:
        export_chunks(snapshot, root / ".cortex" / "chunks")
    chunks = engine.chunks(root)
    assert told(chunks, min_score=-1) == ""
    (root / "deleted.py").unlink()
    os.utime(root / "edited.py", (1, 1))
    found = chunks.query("password", SearchOptions(100, min_score=-1))
    assert "deleted.py" not in {result.chunk.metadata["file_path"] for result in found}
    assert told(chunks, min_score=-1) == (
        "The export is older than the project (changed since then: edited.py; "
        "gone, so left out: deleted.py). Run `findspot chunks export`."
    )


def test_deleted_files_are_left_out_of_answers_from_the_index(engine: Engine, root: Path) -> None:
    """documents A9"""
    (root / "only.py").write_text("def password():\n    return 1\n")
    engine.project(root).update()
    (root / "only.py").unlink()
    found = engine.chunks(root).query("password", SearchOptions(min_score=-1))
    assert "only.py" not in {result.chunk.metadata["file_path"] for result in found}
    assert "gone, so left out: only.py" in told(engine.chunks(root), min_score=-1)


def test_constants_are_data_wherever_they_stand(engine: Engine, root: Path) -> None:
    """documents A10: a constant that shares a chunk with a function was in `definitions` only."""
    (root / "limits.go").write_text(
        "package limits\n\nconst MaxAttempts = 3\n\nconst MinAttempts = 1\n\n"
        "func Retry() bool {\n\treturn true\n}\n"
    )
    engine.project(root).update()
    for _ in ("index", "files"):
        chunks = engine.chunks(root)
        found = chunks.query("max attempts", SearchOptions(chunk_types=("data",), min_score=-1))
        (limits,) = (item.chunk for item in found if item.chunk.metadata["file_path"] == "limits.go")
        assert (limits.id, limits.chunk_type) == ("code-data-limits-go-1", "data")
        assert limits.title == "limits.go data: Retry, MaxAttempts, MinAttempts"
        assert "constant" in limits.tags
        both = chunks.query("max attempts", SearchOptions(chunk_types=("data", "definitions"), min_score=-1))
        assert [item.chunk.metadata["file_path"] for item in both].count("limits.go") == 1
        with engine.project(root).store.snapshot() as snapshot:
            export_chunks(snapshot, root / ".cortex" / "chunks")


def test_export_gives_what_the_index_gives(engine: Engine, root: Path) -> None:
    project, chunks = engine.project(root), engine.chunks(root)
    project.update()
    options = SearchOptions(100, min_score=-1.0)
    from_index = chunks.query("retry a failed payment", options)
    folder = root / ".cortex" / "chunks"
    with project.store.snapshot() as snapshot:
        report = export_chunks(snapshot, folder)
    assert report.total == len(from_index)
    from_files = chunks.query("retry a failed payment", options)
    assert chunks.stats()["source"] == "files"
    by_id = {result.chunk.id: result for result in from_files}
    assert {result.chunk.id: result.chunk for result in from_index} == {k: r.chunk for k, r in by_id.items()}
    for result in from_index:
        assert by_id[result.chunk.id].combined_score == pytest.approx(result.combined_score, abs=0.02)


def test_an_export_leaves_out_secret_files(engine: Engine, root: Path) -> None:
    """security 9: an index that somebody else built may name any file."""
    project = engine.project(root)
    project.update()
    put(project.store, record("deploy/.env", "KEY = 'canary'", dimensions=256))
    folder = root / ".cortex" / "chunks"
    with project.store.snapshot() as snapshot:
        assert "deploy/.env" in [file.path for file in snapshot.files.files]
        export_chunks(snapshot, folder)
    written = "".join(path.read_text() for path in folder.iterdir())
    assert "src/billing/retry.go" in written
    assert "canary" not in written
    assert "deploy/.env" not in written


def test_exported_files_have_the_agreed_shape(engine: Engine, root: Path) -> None:
    project = engine.project(root)
    project.update()
    folder = root / ".cortex" / "chunks"
    with project.store.snapshot() as snapshot:
        export_chunks(snapshot, folder)
    names = {"doc-chunks.json", "code-symbols.json", "code-definitions.json", "code-data.json", ".gitignore"}
    assert {path.name for path in folder.iterdir()} == names
    value = json.loads((folder / "code-symbols.json").read_text())
    head = value["_metadata"]
    assert list(head) == ["model", "dimensions", "chunk_type", "generated", "version"]
    assert (head["chunk_type"], head["version"], head["dimensions"]) == ("symbols", "2.0.0", 256)
    first = value["chunks"][0]
    assert set(first) == {
        "id", "chunk_type", "title", "text", "embedding", "tags", "metadata", "created_at", "updated_at",
    }  # fmt: skip
    assert len(first["embedding"]) == 256
    assert sum(v * v for v in first["embedding"]) == pytest.approx(1, abs=0.02)
    assert project.update().files_indexed == 0, "what was exported is not indexed"


def test_files_cannot_choose_a_provider_that_is_not_configured(
    engine: Engine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROVIDERS, "api:far", PROVIDERS["local:static"])
    value = file_value("data", [chunk("x", "y", "data")], model="api:far@1/48")
    write_file(root / ".cortex" / "chunks", "code-data.json", value)
    with pytest.raises(ModelMismatchError, match="api:far@1/48, but local:static is configured"):
        engine.chunks(root).query("x", SearchOptions())


@pytest.mark.parametrize(
    "committed", [{}, {"cortex.chunksDir": ".cortex/chunks"}], ids=["default", "committed"]
)
def test_a_folder_that_leads_out_of_the_project_is_refused(
    engine: Engine, root: Path, tmp_path: Path, committed: dict[str, str]
) -> None:
    """No committed file, `.findspot.json` included, can point to chunk files outside the project."""
    (root / ".findspot.json").write_text(json.dumps(committed))
    write_samples(tmp_path / "elsewhere")
    (root / ".cortex").mkdir()
    (root / ".cortex" / "chunks").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ChunkFilesError, match="leaves the project"):
        engine.chunks(root).query("x", SearchOptions())


def test_nothing_of_the_files_is_kept(served: ProjectChunks, home: Path) -> None:
    (found, *_) = served.query("password", SearchOptions())
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert found.chunk.title.encode() not in kept


def test_paths_that_look_alike_have_different_ids(engine: Engine, root: Path) -> None:
    (root / "a").mkdir()
    (root / "a" / "b-c.py").write_text("def one(): pass\n")
    (root / "a-b").mkdir()
    (root / "a-b" / "c.py").write_text("def two(): pass\n")
    engine.project(root).update()
    found = engine.chunks(root).query("def one two", SearchOptions(100, min_score=-1))
    names = [result.chunk.id for result in found]
    assert len(set(names)) == len(names)
    assert any(name.startswith("code-symbols-a-b-c-py-") for name in names)


def test_served_chunks_show_no_secrets(served: ProjectChunks, root: Path) -> None:
    """security 9: chunk files come from anybody, and were answered as they are."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    rows = [
        chunk("login", f"password token {token}", "data"),
        chunk("dotenv", "password abc", "data", metadata={"file_path": "deploy/.env"}),
    ]
    write_file(root / ".cortex" / "chunks", "code-data.json", file_value("data", rows))
    until(lambda: "login" in ids(served))
    results = served.query("password", SearchOptions(limit=100))
    assert "dotenv" not in [result.chunk.id for result in results]
    assert not any(token in result.chunk.text for result in results)
