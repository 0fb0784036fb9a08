"""A query means the same however its values are spelled, and from whichever surface it comes."""

from __future__ import annotations

from typing import Any

import pytest

from findspot import InvalidArgumentError, Query
from findspot.core.model import Corpus, GroupBy, IncludeTests, Mode
from findspot.research.findings import Aim, Focus, Inquiry


@pytest.mark.parametrize(
    ("given", "name", "read"),
    [
        ({"mode": "regex"}, "mode", Mode.REGEX),
        ({"semantic_weight": 0}, "mode", Mode.KEYWORD),
        ({"semantic_weight": 1.0}, "mode", Mode.SEMANTIC),
        ({"semantic_weight": 0.5}, "mode", Mode.HYBRID),
        ({"semantic_weight": 0, "mode": Mode.REGEX}, "mode", Mode.REGEX),
        ({"corpus": "docs"}, "corpus", Corpus.DOCS),
        ({"group_by": "symbol"}, "group_by", GroupBy.SYMBOL),
        ({"group_by": None}, "group_by", GroupBy.PASSAGE),
        ({"include_tests": "no"}, "include_tests", IncludeTests.NO),
        ({"include_tests": False}, "include_tests", IncludeTests.NO),
        ({"include_tests": True}, "include_tests", IncludeTests.YES),
        ({"extensions": "py, .ts *.d.ts ."}, "extensions", ("py", "ts", "d.ts")),
        ({"extensions": ("py,", "*.ts")}, "extensions", ("py", "ts")),
        ({"languages": ["python, go"]}, "languages", ("python", "go")),
        ({"similar_to": "dep://npm/@s/a@1.0/i.js:1-2"}, "dependency", "npm/@s/a@1.0"),
        ({"similar_to": "dep://npm/a@1/i.js", "dependency": "b"}, "dependency", "b"),
        ({"similar_to": "src/a.py:1-2"}, "dependency", None),
    ],
)
def test_every_spelling_is_read(given: dict[str, Any], name: str, read: object) -> None:
    value = getattr(Query("a", **given), name)
    assert value == read
    assert type(value) is type(read)


@pytest.mark.parametrize("name", ["mode", "corpus", "group_by", "include_tests"])
def test_a_word_that_is_not_known_is_an_error_with_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"'{name}' must be one of .*, "):
        Query("a", **{name: "nonsense"})  # type: ignore[arg-type]


def test_research_reads_the_same_words() -> None:
    named: Any = {"relation": "path", "symbol": "a", "to": "b", "focus": "flow"}
    assert Inquiry(**named) == Inquiry(relation=Aim.PATH, symbol="a", to="b", focus=Focus.FLOW)
    left_out: Any = {"relation": None, "symbol": None, "to": None, "focus": None}
    assert Inquiry("a", **left_out) == Inquiry("a")
    with pytest.raises(InvalidArgumentError, match="'relation' must be one of callers, "):
        Inquiry(relation="friends", symbol="a")  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), "much"])
def test_a_weight_out_of_range_is_an_error(weight: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="semantic_weight must be a number from 0 to 1"):
        Query("a", semantic_weight=weight)


@pytest.mark.parametrize(("given", "read"), [("auto", True), ("yes", True), ("no", False), (False, False)])
def test_research_takes_the_same_words_for_tests(given: Any, read: bool) -> None:
    assert Inquiry(relation=Aim.CALLERS, symbol="a", include_tests=given).include_tests is read
