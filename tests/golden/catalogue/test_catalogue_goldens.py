"""Ranked tools of a small catalogue per mode, reviewed as text; `UPDATE_GOLDEN=1` rewrites the files.

They pin the order and the scores to two decimals, so that a change of any ranking constant is seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.catalogue import BuildOptions
from findspot.catalogue.tool_record import SearchMode, ToolSearchOptions
from findspot.embed.provider_registry import open_embedder
from goldens import compare

HERE = Path(__file__).parent
SHOWN = 3

REQUESTS = (
    "read_file",
    "post a message to a channel",
    "write a row into the table",
    "make a bar diagram of the sales figures",
    "what is in /srv/reports/plan.xlsx",
    "squash and join the branch",
    "urgent",
    "wheather warnnings for the northern region",
    "when are Ann and Bob both available next week",
    "I have a long paper as a PDF. I do not want to read it on paper. Get its words out of the document.",
    "github",
    "rename a picture file, then tell the team about it",
    "look up who wrote to me yesterday",
    "change the size of holiday.png",
    "bake a chocolate cake with cherries",
    "the history of the Roman empire",
    "open the window",
    "buy a train ticket to the city",
    "list everything",
    "show me the columns",
)
PATTERNS = ("read.*file", "^create", "channel|commit", "ge[ts]_", "WEATHER")
QUERIES = {mode: PATTERNS if mode is SearchMode.REGEX else REQUESTS for mode in SearchMode}


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalogue]:
    """The tools of `tools.json`, indexed in a home of their own."""
    folder = tmp_path_factory.mktemp("catalogue")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder / "user"))
        (folder / "project").mkdir()
        opened = Catalogue(folder / "project", folder / "findspot", open_embedder)
        opened.indexer.index([HERE / "tools.json"], BuildOptions(), provider="local:static")
        yield opened
        opened.close()


def shown(catalogue: Catalogue, query: str, mode: SearchMode) -> str:
    """Return one search as text: how many tools match, and the best ones with their scores."""
    results = catalogue.search(query, ToolSearchOptions(mode=mode, top_k=SHOWN))
    rows = [f"  {tool.score:.2f}  {tool.name}\n" for tool in results.tools]
    return f"{query}\n  of {results.total}\n{''.join(rows)}"


@pytest.mark.parametrize("mode", SearchMode, ids=str)
def test_ranking_of_tools(catalogue: Catalogue, mode: SearchMode) -> None:
    result = "\n".join(shown(catalogue, query, mode) for query in QUERIES[mode])
    compare(HERE / f"{mode}.txt", result)


def test_every_golden_file_belongs_to_a_mode() -> None:
    assert {path.stem for path in HERE.glob("*.txt")} == {str(mode) for mode in SearchMode}
