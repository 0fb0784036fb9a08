"""The right tool is found by everyday words, and an answer says when nothing fits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from program import Program
from trust.conftest import MakeFolder

OWN = [
    {"name": "crawl", "description": "List all URLs of a site.", "serverName": "web"},
    {"name": "book", "description": "Réserver une table au café.", "serverName": "web"},
    {"name": "history", "description": "显示提交历史", "serverName": "vcs"},
]


@pytest.mark.parametrize("embeddings", [(), ("--no-embeddings",)])
def test_one_tokenizer(make: MakeFolder, findspot: Program, home: Path, embeddings: tuple[str, ...]) -> None:
    """documents G: `URLs`, `café` and a Chinese clause could not be found by their words."""
    root = make({"tools.json": json.dumps(OWN)})
    user = {"HOME": str(home)}
    assert findspot("tools", "index", "tools.json", *embeddings, cwd=root, env=user).code == 0
    for query, name in (("url", "web__crawl"), ("CAFE", "web__book"), ("提交", "vcs__history")):
        found = findspot("tools", "search", query, "--json", cwd=root, env=user).json["tools"]
        assert found[0]["name"] == name
        assert found[0]["matchType"] == ("bm25" if embeddings else "hybrid")
