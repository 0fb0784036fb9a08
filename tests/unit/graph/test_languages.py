"""What is known of each language of the graph, and what the documentation says of it."""

from __future__ import annotations

import re
from pathlib import Path

from findspot.graph.languages import language_of

PAGE = Path(__file__).parents[3] / "docs" / "graph.md"
NAMES = {"C#": "csharp", "C++": "cpp"}


def _names(text: str) -> set[str]:
    words = re.split(r",\s+|\s+and\s+", text.partition("(TSX)")[0] + text.partition("(TSX)")[2])
    return {NAMES.get(word.strip(), word.strip().lower()) for word in words if word.strip()}


def test_the_page_lists_exactly_the_partial_languages() -> None:
    page = PAGE.read_text(encoding="utf-8")
    every = re.search(r"^Languages: ([^.]+)\.", page, re.MULTILINE)
    partial = re.search(r"\*\*Partial\*\* are ([^:]+):", page)
    assert every
    assert partial
    assert _names(partial[1]) == {name for name in _names(every[1]) if language_of(name).partial}
