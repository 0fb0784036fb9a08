"""Question-like pairs: how statements are turned round, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import collect
from questions import as_wish, question


@pytest.mark.parametrize(
    ("statement", "wish"),
    [
        ("Converts the given list to a string.", "convert list to string"),
        ("Returns True if the file exists, which is rare.", "get True if file exists"),
        ("Helper function to parse dates", "parse dates"),
        ("This method copies the buffer", "copy buffer"),
    ],
)
def test_statements_become_wishes(statement: str, wish: str) -> None:
    assert as_wish(statement) == wish


def test_a_question_is_the_same_every_time_and_names_its_language() -> None:
    statements = [f"Converts the value {n} to a string." for n in range(200)]
    asked = [question("doc", "python", statement) for statement in statements]
    assert asked == [question("doc", "python", statement) for statement in statements]
    assert 0.4 < sum("python" in one for one in asked) / len(asked) < 0.9
    assert question("doc", "python", "Run.") == ""


def test_what_a_check_refused_is_left_out_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "CACHE", tmp_path)
    monkeypatch.setattr(collect, "HERE", tmp_path)
    (tmp_path / "pairs").mkdir()
    about = {"ecosystem": "pypi", "package": "small", "version": "1", "licence": "MIT"}
    pairs = [
        {"kind": "doc", "language": "go", "query": f"opens a door {n}", "text": f"func {n}"} for n in (1, 2)
    ]
    (tmp_path / "pairs" / "small.jsonl").write_text("\n".join(map(json.dumps, [about, *pairs])), "utf-8")
    (tmp_path / "refused.jsonl").write_text(json.dumps(pairs[0]) + "\n", "utf-8")
    collect.select()
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text("utf-8").splitlines()]
    assert [row["query"] for row in rows] == ["opens a door 2"]
