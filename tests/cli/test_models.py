"""`findspot models`, and an index that changes its model, through the real program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loopback import Loopback, embed_service
from program import Program

NAMES = ["local:static", "local:minilm", "local:mdbr-leaf", "http", "api:openai", "api:voyage"]
KEY = "sk-not-to-be-shown"


@pytest.fixture
def service() -> Iterator[Loopback]:
    server = Loopback(embed_service)
    yield server
    server.close()


def test_every_provider_is_listed(findspot: Program) -> None:
    outcome = findspot("models", "--json", env={"OPENAI_API_KEY": KEY, "VOYAGE_API_KEY": ""})
    assert outcome.code == 0, outcome.err
    found = {row["provider"]: row for row in outcome.json["providers"]}
    assert list(found) == NAMES
    static = found["local:static"]
    assert static["chosen"]
    assert static["installed"]
    assert not static["leavesMachine"]
    assert 5_000_000 < static["sizeBytes"] < 25_000_000
    assert [found[name]["installed"] for name in ("api:openai", "api:voyage")] == [True, False]
    assert [found[name]["leavesMachine"] for name in NAMES] == [False] * 4 + [True] * 2
    assert KEY not in outcome.out + outcome.err


def test_an_index_changes_its_model_and_keeps_it(
    findspot: Program, make_project: Callable[..., Path], service: Loopback
) -> None:
    root = make_project()
    endpoint = {"FINDSPOT_EMBEDDING_ENDPOINT": service.url}
    findspot.make_index(root)
    changed = findspot("reindex", root, "--provider", "http", "--yes", "--json", env=endpoint)
    assert changed.code == 0, changed.err
    assert changed.json["filesIndexed"] == changed.json["totalFiles"]
    assert findspot("status", root, "--json").json["model"].startswith("http@")
    assert findspot("search", "greet", "--project", root, env=endpoint).code == 0
    back = {"FINDSPOT_EMBEDDING_PROVIDER": "local:static"}
    refused = findspot("search", "greet", "--project", root, "--json", env=back)
    assert refused.code == 1
    assert refused.json["code"] == "MODEL_MISMATCH"
    assert "findspot reindex --provider local:static" in refused.err


def test_a_service_that_is_not_there_has_its_own_exit_code(
    findspot: Program, make_project: Callable[..., Path]
) -> None:
    root = make_project()
    nobody = {"FINDSPOT_EMBEDDING_PROVIDER": "http", "FINDSPOT_EMBEDDING_ENDPOINT": "http://127.0.0.1:1"}
    outcome = findspot("index", root, "--json", env=nobody)
    assert outcome.code == 4
    assert outcome.json["code"] == "PROVIDER_ERROR"
    assert "embedding.endpoint" in outcome.err
