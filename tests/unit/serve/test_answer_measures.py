"""The measurements of answers read both forms of an answer alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.labels import label_name
from benchmarks.mcp_answers import Project
from benchmarks.metrics import Place

SOURCE = "import os\n\ndef one():\n    a = 1\n    return a\n\ndef two():\n    return 2\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "a.py").write_text(SOURCE)
    return Project(tmp_path, None)  # type: ignore[arg-type]


def answer(*results: dict[str, Any], text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"results": list(results)}}


def result(text: str, start: int, end: int) -> dict[str, Any]:
    return {"path": "a.py", "startLine": start, "endLine": end, "symbol": "one", "text": text}


class TestViews:
    def test_code_is_shown_in_every_view_after_three_lines(self, project: Project) -> None:
        code = "def one():\n    a = 1\n    return a"
        listing = "1. a.py:3-5  one  strong\n" + "\n".join(f"    {line}" for line in code.split("\n"))
        for view in project.views(answer(result(code, 3, 5), text=listing)).values():
            passage = view.passages[0]
            assert sorted(passage.lines) == [3, 4, 5]
            assert passage.label == "one"
            assert passage.shown_at is not None
            assert view.text[: passage.shown_at].endswith("return a")
            assert passage.seen_at(Place("a.py", 5, 9)) == passage.shown_at
            assert passage.seen_at(Place("a.py", 7, 8)) is None

    def test_a_line_names_a_place_and_shows_nothing(self, project: Project) -> None:
        listing = "1. a.py:3-5  one  weak  def one():"
        for view in project.views(answer(result("def one():", 3, 5), text=listing)).values():
            assert view.passages[0].seen_at(Place("a.py")) is None
            assert view.passages[0].names_at(Place("a.py", 4, 4)) == view.passages[0].named_at

    def test_json_as_text_is_read_as_json(self, project: Project) -> None:
        whole = result("def two():\n    return 2", 7, 8)
        text = json.dumps({"results": [whole]})
        view = project.views(answer(whole, text=text))["text"]
        assert sorted(view.passages[0].lines) == [7, 8]


@pytest.mark.parametrize("label", ["params", "Client > params", "Client.params", "def params(self, name)"])
def test_a_label_names_its_last_symbol(label: str) -> None:
    assert label_name(label) == "params"
