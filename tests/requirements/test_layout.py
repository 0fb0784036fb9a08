"""Files, defaults and limits that the specification names, as the code has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from findspot import Project
from findspot.chunk.dispatch import MAX_CHUNKS
from findspot.core.config import load_settings, starter_config
from findspot.core.files import MAX_JSON_BYTES
from findspot.discover.walk import MAX_DEPTH
from findspot.project import MAX_PATH_RESULTS

_GENERATED = Path(__file__).parents[1] / "backcompat" / "config-0.1.0" / "config.json"
STARTER = {name: value for name, value in json.loads(_GENERATED.read_text()).items() if name[0] != "_"}
"""The keys of the specification's file, which version 0.1.0 generated as it is."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("def one():\n    return 1\n")
    (root / "b.md").write_text("# Title\n\nSome words.\n")
    project = Project(root)
    project.update()
    return project


def test_metadata_has_the_fields_of_the_specification(project: Project) -> None:
    metadata = json.loads((project.store.folder / "metadata.json").read_text())
    assert set(metadata) >= {
        "version",
        "projectPath",
        "createdAt",
        "lastFullIndex",
        "lastIncrementalUpdate",
        "stats",
        "docsStats",
        "lastDocsIndex",
    }
    assert metadata["projectPath"] == str(project.root)
    assert set(metadata["stats"]) == {"totalFiles", "totalChunks", "storageSizeBytes"}
    assert set(metadata["docsStats"]) == {"totalDocs", "totalDocChunks", "docsStorageSizeBytes"}
    status = project.status()
    totals = metadata["stats"]["totalFiles"], metadata["stats"]["totalChunks"]
    assert totals == (status.total_files, status.total_chunks), "search-mcp B11"
    assert metadata["docsStats"]["totalDocs"] == status.total_docs == 1
    project.close()


def test_the_starter_file_is_that_of_the_specification(project: Project) -> None:
    written = json.loads((project.store.folder / "config.json").read_text())
    assert written == starter_config()
    assert not [name for name in written if not name.startswith("_")], "nothing is set"
    assert written["_defaults"] == STARTER
    assert set(written["_availableOptions"]) >= set(STARTER)
    assert written["_hardcodedExcludes"][0].startswith("// These patterns are ALWAYS excluded")
    project.close()


def test_defaults_are_those_of_the_specification() -> None:
    settings = load_settings(environ={})
    assert {name: settings.values[name] for name in STARTER} == STARTER
    assert settings.sync.strategy == "realtime"
    assert settings.sync.integrity_interval_hours == 24


def test_limits_are_those_of_the_specification() -> None:
    settings = load_settings(environ={})
    assert settings.discover.max_files == 50_000
    assert settings.discover.max_file_bytes == 1 << 20
    assert MAX_CHUNKS == 1_000
    assert MAX_DEPTH == 20
    assert MAX_PATH_RESULTS == 100_000
    assert MAX_JSON_BYTES == 10 << 20
