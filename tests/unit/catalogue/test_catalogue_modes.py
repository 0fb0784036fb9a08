"""The four modes: scores, order, limits, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.indexfile import ToolSet
from findspot.catalogue.search_modes import Ranked, SearchStrategy
from findspot.catalogue.tool_record import (
    SearchMode,
    ToolSearchOptions,
)
from findspot.core.errors import InvalidArgumentError
from findspot.embed.embedder import EmbedMode
from findspot.embed.provider_registry import open_embedder

from .conftest import Write, index


def found(
    catalogue: Catalogue, query: str, mode: SearchMode = SearchMode.BM25, **options: object
) -> list[str]:
    return [tool.name for tool in catalogue.search(query, ToolSearchOptions(mode=mode, **options)).tools]  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [SearchMode.BM25, SearchMode.HYBRID, SearchMode.EMBEDDING])
def test_scores_of_different_queries_can_be_compared(catalogue: Catalogue, mode: SearchMode) -> None:
    """documents A4: the best tool scored 1.0 however little it had to do with the query."""

    def score(query: str) -> float:
        results = catalogue.search(query, ToolSearchOptions(mode))
        scores = [tool.score for tool in results.tools]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score < 1 for score in scores)
        return scores[0]

    assert score("read contents of a file") > score("send flowers with a file by boat and train")


def test_meaning_is_scored_by_the_cosine(catalogue: Catalogue) -> None:
    query = "what will the weather be"
    best = catalogue.search(query, ToolSearchOptions(SearchMode.EMBEDDING)).tools[0]
    tools = catalogue.tools()
    vector = open_embedder("local:static").embed([query], EmbedMode.QUERY)[0]
    assert tools.vectors is not None
    cosine = float(tools.vectors[tools.rows[best.name]] @ vector)
    assert best.name == "weather__get_forecast"
    assert best.score == pytest.approx((cosine + 1) / 2, abs=1e-3)
    assert best.match_type == "embedding"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("read.*file", ["filesystem__read_file"]),
        ("READ", ["filesystem__read_file"]),
        ("^read_file$|^mail__", ["mail__send_email"]),
        ("^(read|get)_", ["filesystem__read_file", "weather__get_forecast"]),
        ("city|crimson", ["weather__get_forecast"]),
        ("no such thing", []),
    ],
)
def test_patterns(catalogue: Catalogue, pattern: str, names: list[str]) -> None:
    results = catalogue.search(pattern, ToolSearchOptions(SearchMode.REGEX))
    assert [tool.name for tool in results.tools] == names
    assert all(tool.score == 1.0 and tool.match_type == "regex" for tool in results.tools)


def test_tools_whose_name_matches_come_first(open_catalogue: Callable[[], Catalogue], write: Write) -> None:
    tools = [{"name": "aa", "description": "not zebra by name"}, {"name": "zebra", "description": "by name"}]
    opened = open_catalogue()
    index(opened, write("t.json", tools))
    assert found(opened, "zebra", SearchMode.REGEX) == ["t__zebra", "t__aa"]


@pytest.mark.parametrize("provider", [None, "local:static"])
def test_words_of_every_script_and_spelling_are_found(
    open_catalogue: Callable[[], Catalogue], write: Write, provider: str | None
) -> None:
    """documents G: `URLs`, `café` and a Chinese clause could not be found by their words."""
    texts = {"crawl": "List URLs of a site.", "book": "Réserver une table au café.", "log": "显示提交历史"}
    tools = [{"name": name, "description": text, "server": ""} for name, text in texts.items()]
    opened = open_catalogue()
    index(opened, write("t.json", tools), provider=provider)
    for query, name in (("url", "crawl"), ("CAFE", "book"), ("提交", "log")):
        assert opened.search(query).tools[0].name == name


def test_words_that_no_tool_has(catalogue: Catalogue) -> None:
    results = catalogue.search("zebra", ToolSearchOptions(SearchMode.BM25))
    assert (results.tools, results.nearest, results.fits) == ((), (), False)
    assert results.message == "Nothing fits. Servers: filesystem, mail, weather; try other words, in English."


def test_every_word_of_a_query_is_a_fit(catalogue: Catalogue) -> None:
    assert found(catalogue, "urgent", SearchMode.HYBRID)[0] == "mail__send_email"
    assert found(catalogue, "mail__send_email", SearchMode.HYBRID)[0] == "mail__send_email"


@pytest.mark.parametrize("mode", list(SearchMode))
def test_limits_and_filters_act_in_every_mode(catalogue: Catalogue, mode: SearchMode) -> None:
    query = "a|e" if mode is SearchMode.REGEX else "send file weather city message contents"
    everything = catalogue.search(query, ToolSearchOptions(mode))
    assert everything.total_indexed == 3
    first = catalogue.search(query, ToolSearchOptions(mode, top_k=1))
    assert [tool.name for tool in first.tools] == [everything.tools[0].name]
    assert first.total == everything.total, "the total counts before top_k"
    above = catalogue.search(query, ToolSearchOptions(mode, threshold=1.0))
    assert all(tool.score == 1.0 for tool in above.tools)
    assert found(catalogue, query, mode, server="weather") == ["weather__get_forecast"]


class Shortest(SearchStrategy):
    """A mode of somebody's own: the tools with the shortest names."""

    mode = "shortest"

    def __init__(self) -> None:
        self.calls: list[str] = []

    def initialize(self) -> None:
        self.calls.append("initialize")

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> Ranked:
        self.calls.append("search")
        rows = np.array(sorted(range(len(tools)), key=lambda row: len(tools.names[row])), dtype=np.int64)
        return Ranked(rows, np.linspace(1, 0, len(rows), dtype=np.float32))

    def dispose(self) -> None:
        self.calls.append("dispose")


def test_a_mode_can_be_added(catalogue: Catalogue) -> None:
    mine = Shortest()
    catalogue.orchestrator.register_strategy(mine)
    options = ToolSearchOptions(mode="shortest", threshold=0.5)  # type: ignore[arg-type]
    names = [tool.name for tool in catalogue.search("x", options).tools]
    assert names == ["mail__send_email", "filesystem__read_file"]
    catalogue.search("x", options)
    catalogue.orchestrator.register_strategy(Shortest())
    assert mine.calls == ["initialize", "search", "search", "dispose"]
    with pytest.raises(InvalidArgumentError, match="no search mode 'other'"):
        catalogue.search("x", ToolSearchOptions(mode="other"))
