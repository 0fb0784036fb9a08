"""The right tool is found by everyday words, and an answer says when nothing fits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from program import Program
from trust.conftest import MakeFolder, Serve

REAL = Path(__file__).parents[2] / "benchmarks" / "queries" / "tools_real_catalogue.jsonl"
OWN = [
    {"name": "crawl", "description": "List all URLs of a site.", "serverName": "web"},
    {"name": "book", "description": "Réserver une table au café.", "serverName": "web"},
    {"name": "history", "description": "显示提交历史", "serverName": "vcs"},
]


def real_tools() -> list[dict[str, object]]:
    tools = [json.loads(line) for line in REAL.read_text("utf-8").splitlines()]
    return [{**tool, "serverName": tool["server"]} for tool in tools]


def test_requests_of_real_servers(make: MakeFolder, findspot: Program, serve: Serve, home: Path) -> None:
    """documents A4: the guard emptied right answers, and off-topic ones had a score of 1.0 by default."""
    root = make({"tools.json": json.dumps(real_tools())})
    user = {"HOME": str(home)}
    assert findspot("tools", "index", "tools.json", cwd=root, env=user).code == 0
    pipe = serve(root, **user)
    wanted = {
        "add two numbers": "everything__get-sum",
        "remember that Alice works at Acme": "memory__",
        "break down a hard problem into steps": "sequential-thinking__sequentialthinking",
        "Datei umbenennen": "filesystem__move_file",
    }
    for request, name in wanted.items():
        answer = pipe.values("search_tools", query=request)
        assert any(tool["name"].startswith(name) for tool in answer["tools"][:5]), (request, answer)
        assert "message" not in answer
    away = pipe.values("search_tools", query="book a flight to Lisbon")
    assert len(away["tools"]) == 6
    assert away["nearest"] == [tool["name"] for tool in away["tools"][:3]]
    assert away["message"].startswith(f"Nothing fits well. Nearest: {', '.join(away['nearest'])}. Servers: ")
    said = findspot("tools", "search", "book", "a", "flight", "to", "Lisbon", cwd=root, env=user)
    assert away["message"] in said.err
    # What a user wants who names neither the thing nor the tool is at least shown.
    wishes = {
        "who changed things last week and why": "git__git_log",
        "where is that invoice pdf": "filesystem__search_files",
        "keep in mind that my sister is allergic to nuts": "memory__create_entities",
        "what have I told you about my family": "memory__read_graph",
        "Wie spät ist es in Tokio?": "time__get_current_time",
    }
    for request, name in wishes.items():
        answer = pipe.values("search_tools", query=request)
        assert name in [tool["name"] for tool in answer["tools"]], (request, answer)


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
